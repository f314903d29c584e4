"""Values compared with their peers: against literal versions, known bounds and chances."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from assay.stats.fleet.peers import (
    CUT,
    VARIANCE_LEFT,
    against_peers,
    chance,
    median_down,
    qn,
    reach,
)

SAMPLE = [1.2, -0.4, 0.3, 2.2, -1.1, 0.7, 0.1]


def literal_qn(values: list[float]) -> float:
    """By the definition: the h over 2 smallest of all pairs' distances."""
    n = len(values)
    half = n // 2 + 1
    distances = sorted(abs(a - b) for a, b in itertools.combinations(values, 2))
    small = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}
    factor = small.get(n, n / (n + 1.4) if n % 2 else n / (n + 3.8))
    return 2.21914 * factor * distances[math.comb(half, 2) - 1]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 9, 10, 11, 24])
def test_qn_is_its_definition(n: int) -> None:
    values = np.random.default_rng(n).standard_normal(n)
    assert qn(values) == pytest.approx(literal_qn(values.tolist()))


def test_qn_estimates_the_deviation_of_normal_values() -> None:
    values = np.random.default_rng(5).standard_normal((400, 20))
    assert np.mean([qn(v) for v in values]) == pytest.approx(1.0, abs=0.03)


def test_medians_leave_gaps_out() -> None:
    values = np.array([[1.0, np.nan, 3.0], [5.0, np.nan, np.nan], [2.0, np.nan, 4.0]])
    np.testing.assert_array_equal(median_down(values), [2.0, np.nan, 3.5])


def literal_t(values: list[float], place: int) -> float:
    """One value against the others that are not set aside, step by step, in plain Python."""
    n = len(values)
    centre, scale = statistics.median(values), literal_qn(values)
    most = max(1, n // 4)
    inside = list(range(n))
    for _ in range(10):
        away = [abs(v - centre) for v in values]
        limit = max(CUT * scale, sorted(away)[n - most - 1])
        now = [i for i in range(n) if away[i] <= limit]
        if now == inside:
            break
        inside = now
        kept = [values[i] for i in inside]
        centre = statistics.fmean(kept)
        scale = math.sqrt(statistics.variance(kept) / VARIANCE_LEFT)
    others = [values[i] for i in inside if i != place]
    variance = statistics.variance(others) / VARIANCE_LEFT
    return (values[place] - statistics.fmean(others)) / math.sqrt(variance * (1 + 1 / len(others)))


@pytest.mark.parametrize("n", [4, 5, 8, 13, 40])
def test_deviations_are_what_plain_python_gives(n: int) -> None:
    rng = np.random.default_rng(n)
    values = rng.standard_normal(n)
    values[: n // 5] += 6.0
    found = against_peers(values[:, None]).t[:, 0]
    assert found.tolist() == pytest.approx([literal_t(values.tolist(), i) for i in range(n)])


def test_gaps_are_as_if_the_rows_were_not_there() -> None:
    values = np.random.default_rng(1).standard_normal((12, 2))
    values[[2, 7], 1] = np.nan
    found = against_peers(values)
    alone = against_peers(np.delete(values[:, 1], [2, 7])[:, None])
    np.testing.assert_allclose(np.delete(found.t[:, 1], [2, 7]), alone.t[:, 0])
    assert np.isnan(found.t[[2, 7], 1]).all()
    assert found.count.tolist() == [12, 10]


def test_one_outlying_node_of_five_is_found_unlike_by_mean_and_sigma() -> None:
    """Of n values none is over (n - 1) / sqrt(n) standard deviations from their mean."""
    values = np.array([1.00, 1.01, 0.99, 1.005, 2.0])
    sigmas = (values - values.mean()) / values.std(ddof=1)
    assert sigmas.max() < (5 - 1) / math.sqrt(5) + 1e-12 < 2.0
    found = against_peers(np.log(values)[:, None])
    assert found.p[4, 0] < 1e-3
    assert (found.p[:4, 0] > 0.05).all()


@given(
    st.permutations(range(len(SAMPLE))),
    st.floats(-5, 5),
    st.floats(1e-3, 1e3),
)
def test_order_origin_and_unit_don_t_matter(order: list[int], origin: float, unit: float) -> None:
    plain = against_peers(np.array(SAMPLE)[:, None]).t[:, 0]
    moved = against_peers((unit * (np.array(SAMPLE) + origin))[order][:, None]).t[:, 0]
    np.testing.assert_allclose(moved, plain[order], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "n", [*(pytest.param(each, marks=pytest.mark.long) for each in (3, 5)), 8, 20, 200]
)
def test_chances_are_exact_for_equal_values(n: int) -> None:
    columns = 60_000 // n
    p = against_peers(np.random.default_rng(n).standard_normal((n, columns))).p.ravel()
    for share in (0.02, 0.002):
        # Values of one column are weakly tied; twice the spread of independent ones is allowed.
        low, high = binom.interval(0.99999, p.size, share)
        middle = p.size * share
        found = int((p <= share).sum())
        assert middle - 2 * (middle - low) <= found <= middle + 2 * (high - middle), share


def test_a_fifth_that_is_bad_does_not_hide_itself() -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((200, 1))
    values[:40] += 6.0
    found = against_peers(values)
    assert found.centre[0] == pytest.approx(0.0, abs=0.25)
    assert found.scale[0] == pytest.approx(1.0, abs=0.15)
    assert (found.p[:40, 0] < 1e-3).mean() > 0.9


def test_less_certain_nodes_may_deviate_further() -> None:
    values = np.random.default_rng(4).standard_normal((50, 1))
    values[0] = 5.0
    noise = np.full((50, 1), 0.5)
    plain = against_peers(values, noise)
    noise[0] = 1.5
    found = against_peers(values, noise)
    # The node is set aside, so that the others' mean and variance are the same in both.
    v = plain.scale[0] ** 2
    others = (values[0, 0] - plain.centre[0]) / plain.t[0, 0]  # sqrt(v + v / others)
    assert others**2 == pytest.approx(v, rel=0.05)
    assert found.t[0, 0] == pytest.approx(plain.t[0, 0] * others / np.sqrt(others**2 + 1.0))


def test_where_all_are_the_same_the_floor_is_what_counts() -> None:
    values = np.zeros((9, 1))
    values[0] = 0.01
    found = against_peers(values, floor=1e-3)
    assert found.t[0, 0] == pytest.approx(10.0, rel=0.1)
    assert found.p[0, 0] < 1e-3


def test_two_values_can_not_be_compared() -> None:
    found = against_peers(np.array([[1.0], [9.0]]))
    assert np.isnan(found.t).all()
    assert np.isnan(found.p).all()


def test_reach_is_the_inverse_of_chance() -> None:
    for n in (3, 5, 17, 3000):
        assert chance(reach(n, 0.975), n) == pytest.approx(0.025)
