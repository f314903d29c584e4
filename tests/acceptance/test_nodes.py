"""Decisions on nodes: the hypergeometric limits by counting, and planted slow nodes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.acceptance.contract import PromisedRange
from assay.acceptance.node_decision import NodeDecision, decide_nodes
from assay.acceptance.sampling import allowed_bad, at_most_found, most_bad, sample_needed

LIMITS = PromisedRange(None, 100.0)


def fleet(
    nodes: int, launches: int = 9, cov: float = 0.003, seed: int = 1
) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {f"n{k}": 99.5 * (1 + cov * rng.standard_normal(launches)) for k in range(nodes)}


def judged(values: dict[str, np.ndarray], nodes: int, share: float = 1.0) -> NodeDecision:
    return decide_nodes(values, LIMITS, 0.02, share, nodes, 0.05, 0.05)


def test_the_hypergeometric_probability_by_counting_all_samples() -> None:
    for bad in range(8):
        samples = list(itertools.combinations(range(7), 3))
        for found in range(4):
            few = sum(sum(node < bad for node in each) <= found for each in samples)
            assert at_most_found(bad, found, 3, 7) == pytest.approx(few / len(samples))


@given(st.integers(1, 60), st.data())
def test_the_upper_limit_is_the_greatest_number_that_is_not_improbable(
    nodes: int, data: st.DataObject
) -> None:
    sample = data.draw(st.integers(1, nodes))
    found = data.draw(st.integers(0, sample))
    limit = most_bad(found, sample, nodes, 0.05)
    possible = [
        bad
        for bad in range(found, nodes - sample + found + 1)
        if at_most_found(bad, found, sample, nodes) > 0.05
    ]
    assert limit == max(possible)


def test_a_known_table_value() -> None:
    """400 nodes: with none of 134 bad, at most 8 (2%) are bad at a level of 2.5%."""
    assert sample_needed(8, 400, 0.025) == 134
    assert most_bad(0, 134, 400, 0.025) == 8
    assert most_bad(0, 133, 400, 0.025) == 9


def test_no_sample_shows_that_every_node_is_good() -> None:
    assert sample_needed(0, 50, 0.025) == 49
    assert allowed_bad(1.0, 50) == 0
    assert allowed_bad(0.98, 400) == 8
    assert allowed_bad(0.9, 10) == 1


def test_good_nodes_are_accepted() -> None:
    found = judged(fleet(16), 16)
    assert (found.outcome, found.slow, found.bound, found.doubtful) == ("accepted", [], 0, 0)


def test_one_slow_node_is_named_and_rejects_the_machine() -> None:
    values = fleet(16)
    values["n5"] *= 1.05
    found = judged(values, 16)
    assert found.outcome == "rejected"
    assert [each.node for each in found.slow] == ["n5"]
    assert found.slow[0].value == pytest.approx(104.5, rel=0.005)
    assert judged(values, 16, share=0.9).outcome == "accepted"


def test_a_sample_is_bounded_by_the_nodes_that_were_not_measured() -> None:
    found = judged(fleet(20), 400, share=0.98)
    assert found.outcome == "undecided"
    assert found.bound == most_bad(0, 20, 400, 0.025)
    assert judged(fleet(140), 400, share=0.98).outcome == "accepted"


def test_few_launches_do_not_tell_slow_nodes_from_noise() -> None:
    """Three launches of a node don't show whether they depend on each other."""
    values = fleet(16, launches=3)
    values["n5"] *= 1.05
    assert judged(values, 16).outcome == "undecided"


def test_a_single_launch_of_each_node_decides_nothing() -> None:
    found = judged(fleet(5, launches=1), 5)
    assert (found.outcome, found.doubtful) == ("undecided", 5)


def test_disturbed_launches_of_some_nodes_are_no_slow_nodes() -> None:
    values = fleet(16, seed=3)
    for name in ("n1", "n7", "n9"):
        values[name][2:5] *= 1.2
    assert judged(values, 16).slow == []


def test_many_nodes_exactly_as_promised_are_rarely_called_slow() -> None:
    rejected = 0
    for seed in range(12):
        values = {name: each / 0.995 for name, each in fleet(50, seed=seed).items()}
        rejected += judged(values, 50).outcome == "rejected"
    assert rejected <= 2


def test_few_nodes_with_few_launches_do_not_exclude_dependence() -> None:
    found = judged(fleet(3), 3)
    assert found.autocorrelation == 0.7
    assert found.outcome == "undecided"
    own = judged(fleet(3, launches=24), 3)
    assert own.autocorrelation < 0.7
    assert own.outcome == "accepted"
