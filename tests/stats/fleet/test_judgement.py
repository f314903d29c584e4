"""Fleets whose nodes differ with a tail, or are of two kinds: who is named, and who is not."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.compare.chosen import chosen_interval
from assay.stats.core.intervals import Estimate
from assay.stats.fleet.fleet import interval
from assay.stats.fleet.judgement import (
    chosen_node_interval,
    compare_within_kinds,
    judge,
    kind_differences,
    outside_of_tail,
    smallest_seen,
)
from assay.stats.fleet.node_tail import TAIL_LEVEL

CELLS = ("memory", "memory", "compute", "network")


def fleet(seed: int, tail: str = "normal", nodes: int = 50, launches: int = 3) -> np.ndarray:
    """Costs of nodes that differ by 0.5%, by cell; launches scatter by 1%."""
    rng = np.random.default_rng(seed)
    shape = (nodes, len(CELLS), 1)
    if tail == "normal":
        nature = rng.standard_normal(shape)
    else:
        nature = (rng.lognormal(0.0, 1.0, shape) - 1.0) / 2.161
    return np.exp(0.005 * nature + 0.01 * rng.standard_normal((nodes, len(CELLS), launches)))


def test_a_slow_node_lies_outside_of_a_normal_tail_and_is_named() -> None:
    for seed in range(5):
        costs = fleet(seed)
        costs[17] *= 1.06
        judged = judge(costs, CELLS)
        assert judged.named == [17]
        assert judged.explained == []


def test_clean_fleets_with_a_lognormal_tail_name_nobody() -> None:
    """Without the fleet's own tail, half of such fleets name a node."""
    named = normal = 0
    for seed in range(20):
        examined, _ = compare_within_kinds(fleet(100 + seed, "lognormal"), CELLS)
        slow = examined.outliers()
        normal += bool(slow.size)
        named += bool((outside_of_tail(examined)[slow] <= TAIL_LEVEL).any())
    assert normal >= 10
    assert named <= 4  # at 5%, more of 20 in 1 of 400 trials


def test_a_node_that_is_slow_among_nodes_alike_in_all_cells_is_outside_of_their_tail() -> None:
    """5% slow, where nodes differ by 0.5% in all cells at once: nine of ten in the mean."""
    outside = 0
    for seed in range(10):
        drawn = np.random.default_rng(seed)
        logs = 0.005 * drawn.standard_normal((50, 1, 1)) + 0.01 * drawn.standard_normal((50, 4, 3))
        logs[17] += np.log(1.05)
        examined, _ = compare_within_kinds(np.exp(logs), CELLS)
        outside += bool(outside_of_tail(examined)[17] <= TAIL_LEVEL)
    assert outside >= 7


def test_a_judgement_has_the_comparison_within_kinds_and_its_tail() -> None:
    costs = fleet(8)
    costs[:8] *= 1.04
    examined, compared = compare_within_kinds(costs, CELLS)
    judged = judge(costs, CELLS)
    assert compared is None
    assert np.flatnonzero(examined.kinds).tolist() == list(range(8))
    assert judged.fleet.kinds.tolist() == examined.kinds.tolist()
    assert judged.beyond.tolist() == outside_of_tail(examined).tolist()
    assert judged.named == []


def test_several_slow_nodes_do_not_hide_each_other() -> None:
    costs = fleet(3)
    costs[[5, 9]] *= np.array([1.08, 1.2])[:, None, None]
    assert sorted(judge(costs, CELLS).named) == [5, 9]


@pytest.mark.parametrize(("slow", "size"), [(7, 1.05), (8, 1.03)])
def test_nodes_slow_by_the_same_factor_are_a_kind(slow: int, size: float) -> None:
    costs = fleet(5)
    costs[:slow] *= size
    judged = judge(costs, CELLS)
    assert judged.named == []
    assert np.flatnonzero(judged.fleet.kinds).tolist() == list(range(slow))
    (apart,) = kind_differences(costs, CELLS, judged.fleet).values()
    assert judged.fleet.columns[apart.column] == "all kernels"
    low, high = apart.interval
    assert low < np.log(size) < high
    assert high - low < 0.01


def test_slow_nodes_of_different_slowness_are_no_kind() -> None:
    costs = fleet(6)
    costs[:4] *= np.array([1.05, 1.09, 1.16, 1.3])[:, None, None]
    judged = judge(costs, CELLS)
    assert np.unique(judged.fleet.kinds).size == 1
    assert sorted(judged.named) == [0, 1, 2, 3]


@pytest.mark.long
def test_a_node_of_the_stated_size_would_be_named() -> None:
    """95% of them: at most two of eight are missed."""
    missed = 0
    for seed in range(8):
        costs = fleet(200 + seed)
        judged = judge(costs, CELLS)
        seen = smallest_seen(costs, CELLS, judged)
        assert 0.02 < seen < 0.1
        costs[11] *= np.exp(seen)
        missed += 11 not in judge(costs, CELLS).named
    assert missed <= 2


def test_the_interval_of_the_slowest_of_equal_nodes_reaches_towards_the_others() -> None:
    held = 0
    for seed in range(40):
        costs = fleet(seed)
        true = np.log(costs).mean(axis=(1, 2))  # the scatter of launches is in the interval
        examined = judge(costs, CELLS).fleet
        column = examined.shift.shape[1] - 1
        row = int(np.nanargmax(examined.shift[:, column]))
        low, high = chosen_node_interval(examined, row, column)
        shift = float(examined.shift[row, column])
        assert low <= shift <= high
        assert low < shift - 1.9 * float(examined.error[row, column])
        held += low <= true[row] - np.median(true) <= high
    assert held >= 36


def test_a_nodes_interval_is_that_of_any_chosen_result() -> None:
    """The interval that the function of all questions gives the slowest of equally known ratios."""
    examined = judge(fleet(1), CELLS).fleet
    column = examined.shift.shape[1] - 1
    shift, error = examined.shift[:, column], examined.error[:, column]
    row = int(np.argmax(shift))
    half = 1.959963984540054 * error  # as if the scatter of the nodes were known
    ratios = [
        Estimate(float(np.exp(own)), (float(np.exp(own - wide)), float(np.exp(own + wide))))
        for own, wide in zip(shift, half, strict=True)
    ]
    expected, among = chosen_interval(ratios, row)
    assert expected is not None
    assert among > 1
    low, high = chosen_node_interval(examined, row, column)
    wider = interval(float(shift[row]), float(error[row]), shift.size)
    # Both intervals are extended by the same factor; the node's starts from a wider one.
    assert low - wider[0] == pytest.approx(np.log(expected[0]) - (shift[row] - half[row]))
    assert low < wider[0]
    assert high == pytest.approx(wider[1])
    assert np.log(expected[1]) == pytest.approx(shift[row] + half[row])
