"""Groups compared: against SciPy, statsmodels and R, and on data with a known difference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from assay.errors import AssayError
from assay.stats.compare.group_tests import (
    brunner_munzel,
    discounted,
    hodges_lehmann,
    normality,
    spread_test,
)
from assay.stats.compare.groups import (
    MIN_FOR_F,
    _location_test,
    correct,
    location_differs,
    spread_differs,
)
from assay.stats.core.launches import effective_sample_ratio
from recorded_statistics import INPUTS, recorded

ONE, TWO, SKEWED = (np.array(INPUTS[name]) for name in ("one", "two", "skewed"))
GROUP = st.lists(st.floats(1.0, 100.0), min_size=4, max_size=15)


def test_spreads_are_compared_as_scipy_and_r_compare_them() -> None:
    name, statistic, p = spread_test([ONE, TWO, SKEWED], by_f=False)
    assert name == "Brown–Forsythe"
    assert (statistic, p) == pytest.approx(recorded("levene(one, two, skewed"), rel=1e-9)
    _, statistic, p = spread_test([ONE, TWO], by_f=True)
    assert (statistic, p) == pytest.approx(recorded("var.test(two, one)"), rel=1e-9)


def test_locations_are_compared_as_scipy_and_r_compare_them() -> None:
    assert brunner_munzel(ONE, SKEWED) == pytest.approx(recorded("brunnermunzel"), rel=1e-9)
    several = [ONE, TWO, SKEWED]
    name, *found = _location_test(several, normal=False, even=True)
    assert name == "Kruskal–Wallis"
    assert found == pytest.approx(recorded("kruskal.test"), rel=1e-9)
    name, *found = _location_test(several, normal=True, even=False)
    assert name == "Welch's analysis of variance"
    assert found == pytest.approx(recorded("oneway.test"), rel=1e-9)
    welch = location_differs({"one": ONE, "two": TWO})
    assert welch.test == "Welch's t"
    assert (welch.statistic, welch.p) == pytest.approx(recorded("ttest_ind(two, one"), rel=1e-9)
    for name in INPUTS:
        assert normality(INPUTS[name]).p == pytest.approx(recorded(f"shapiro({name})"), rel=1e-6)
        assert normality(INPUTS[name]).p == pytest.approx(
            recorded(f"shapiro.test({name})"), rel=2e-2
        )


def test_a_shift_and_its_interval_are_rs() -> None:
    expected = recorded("wilcox.test(two, one")
    shift, interval = hodges_lehmann(ONE, TWO)
    assert shift == pytest.approx(expected["shift"], rel=1e-6)
    # R's are exact ranks; the normal approximation may be one rank off.
    assert interval == pytest.approx(expected["interval"], abs=0.05)


def test_several_normal_groups_are_compared_by_welchs_analysis() -> None:
    rng = np.random.default_rng(4)
    groups = {str(k): 100.0 + (k + 1) * rng.standard_normal(30) for k in range(3)}
    found = location_differs(groups)
    assert found.test == "Welch's analysis of variance"
    assert [pair.test for pair in found.pairs] == ["Welch's t"] * 3


def test_assumptions_decide_and_are_reported() -> None:
    rng = np.random.default_rng(5)
    skewed = rng.lognormal(0.0, 1.0, (3, 40))
    two = location_differs({"a": skewed[0], "b": skewed[1]})
    assert two.test == "Mann–Whitney"
    assert [check.assumption for check in two.checks] == ["normal", "equal spread"]
    assert "normal rejected" in two.why
    wide = location_differs({"a": skewed[0], "b": 20.0 * skewed[1]})
    assert wide.test == "Brunner–Munzel"
    three = location_differs({str(k): each for k, each in enumerate(skewed)})
    assert three.test == "Kruskal–Wallis"
    apart = {"a": skewed[0], "b": 20.0 * skewed[1], "c": skewed[2]}
    pairs = location_differs(apart)
    assert pairs.test == "Welch's analysis of variance of ranks"
    assert {pair.test for pair in pairs.pairs} == {"Brunner–Munzel"}
    normal = 100.0 + rng.standard_normal((2, MIN_FOR_F))
    assert spread_differs({"a": normal[0], "b": normal[1]}).test == "F of logarithms"
    few = spread_differs({"a": normal[0], "b": normal[1][:-1]})
    assert few.test == "Brown–Forsythe of logarithms"
    assert f"Fewer than {MIN_FOR_F}" in few.why
    long = spread_differs({"a": skewed[0], "b": -skewed[1]})
    assert long.test == "Brown–Forsythe"


def test_two_adapters_raise_the_variation_and_leave_the_median_alone() -> None:
    rng = np.random.default_rng(6)
    one = 100.0 * (1.0 + 0.011 * rng.standard_normal(400))
    two = 100.0 * (1.0 + 0.029 * rng.standard_normal(400))
    spread = spread_differs({"1": one, "2": two})
    (pair,) = spread.pairs
    assert spread.verdict == "differs"
    assert spread.p < 1e-6
    assert pair.ratio == pytest.approx(29 / 11, rel=0.15)
    assert pair.ratio_ci95 is not None
    assert pair.ratio_ci95[0] < 29 / 11 < pair.ratio_ci95[1]
    assert [group.cov for group in spread.groups] == pytest.approx([0.011, 0.029], rel=0.15)
    location = location_differs({"1": one, "2": two})
    assert location.verdict == "alike"
    assert location.pairs[0].ratio == pytest.approx(1.0, abs=0.005)
    # With as little as this nothing is shown: neither that they differ nor that they don't.
    assert location_differs({"1": one[:8], "2": two[:8]}).verdict == "open"


def test_spreads_are_compared_relative_to_the_values() -> None:
    values = 100.0 + np.random.default_rng(14).standard_normal(100)
    slower = spread_differs({"a": values, "b": 2.0 * values})
    assert slower.verdict == "alike"
    assert slower.pairs[0].ratio == pytest.approx(1.0)
    below = spread_differs({"a": values - 100.0, "b": 2.0 * (values - 100.0)})
    assert (below.test, below.verdict) == ("F", "differs")  # no logarithms of negative values


def test_an_existing_difference_is_never_called_equality() -> None:
    rng = np.random.default_rng(7)
    one, other = (c + rng.standard_normal(200) for c in (100.0, 102.0))
    found = location_differs({"one": one, "other": other})
    assert found.verdict == "differs"
    assert found.pairs[0].shift == pytest.approx(2.0, abs=0.3)
    assert found.effect == pytest.approx(0.92, abs=0.04)  # P(N(2, 2) > 0)
    assert location_differs({"a": one, "b": other}, margin=0.1).verdict == "differs"


def test_correcting_makes_verdicts_by_the_corrected_p() -> None:
    plain = 100.0 + np.random.default_rng(8).permutation(ndtri((np.arange(30) + 0.5) / 30))
    found = [location_differs({"a": plain, "b": plain + shift}) for shift in (0.0, 0.6, 3.0)]
    again = correct([*found, *found, *found])
    assert [each.p for each in again] == [each.p for each in [*found] * 3]
    assert all(each.p_corrected >= each.p for each in again)
    assert again[2].verdict == "differs"
    assert found[1].p < 0.05 < again[1].p_corrected
    assert (found[1].verdict, again[1].verdict) == ("differs", "open")


@given(GROUP, GROUP, st.randoms(use_true_random=False))
def test_neither_order_within_groups_nor_which_is_first_matters(
    one: list[float], other: list[float], random
) -> None:
    # Sorting matters for dependence; these tests are about the rest.
    x, y = np.array(one), np.array(other)
    shift, interval = hodges_lehmann(x, y)
    back, back_interval = hodges_lehmann(y, x)
    assert shift == pytest.approx(-back)
    if interval is not None and back_interval is not None:
        assert interval == pytest.approx((-back_interval[1], -back_interval[0]))
        assert interval[0] <= shift <= interval[1]
    assert brunner_munzel(x, y)[1] == pytest.approx(brunner_munzel(y, x)[1])
    shuffled = list(one)
    random.shuffle(shuffled)
    for by_f in (False, True):
        if np.ptp(x) > 1e-6 and np.ptp(y) > 1e-6:
            p = spread_test([x, y], by_f)[2]
            assert spread_test([y, x], by_f)[2] == pytest.approx(p, abs=1e-9)
            assert spread_test([np.array(shuffled), y], by_f)[2] == pytest.approx(p, abs=1e-9)


# Powers of two, by which values that differ in their last digit go on to differ: others make ties.
@given(GROUP, st.integers(-20, 20).map(lambda power: 2.0**power))
def test_the_unit_does_not_matter(one: list[float], unit: float) -> None:
    x, y = np.array(one), np.array([*one, 50.0]) * 1.1
    plain = location_differs({"x": x, "y": y})
    scaled = location_differs({"x": x * unit, "y": y * unit})
    if plain.test == scaled.test:
        assert scaled.p == pytest.approx(plain.p, rel=1e-6, abs=1e-9)


def test_groups_that_do_not_vary_can_still_differ() -> None:
    same = location_differs({"a": [1.0, 1.0], "b": [1.0, 1.0]})
    apart = location_differs({"a": [1.0, 1.0, 1.0], "b": [2.0, 2.0, 2.0]})
    assert (same.p, apart.p) == (1.0, 0.0)
    assert brunner_munzel(np.array([1.0, 2.0]), np.array([3.0, 4.0])) == (math.inf, 2 / 6)
    assert spread_test([np.ones(3), np.ones(3)], by_f=False)[2] == 1.0


def test_dependent_values_count_for_fewer() -> None:
    rng = np.random.default_rng(11)
    walk = np.repeat(rng.standard_normal(20), 10) + 0.01 * rng.standard_normal(200)
    assert effective_sample_ratio(walk) == pytest.approx(0.1, rel=0.6)
    assert effective_sample_ratio(rng.permutation(walk)) > 0.5
    assert discounted(0.05, 0.25) == pytest.approx(0.327, abs=0.001)  # 1.96 / 2 deviations
    assert discounted(0.3, 1.0) == 0.3
    found = location_differs({"a": walk, "b": walk + 0.3})
    assert "depend on their predecessors" in found.why
    assert found.p > location_differs({"a": rng.permutation(walk), "b": walk[::-1] + 0.3}).p


@pytest.mark.parametrize("groups", [{}, {"a": [1.0, 2.0]}, {"a": [1.0, 2.0], "b": [1.0]}])
def test_too_few_groups_or_values_are_refused(groups: dict[str, list[float]]) -> None:
    for differs in (location_differs, spread_differs):
        with pytest.raises(AssayError, match="two groups"):
            differs(groups)


def test_many_groups_are_not_compared_in_pairs() -> None:
    rng = np.random.default_rng(12)
    found = location_differs({str(k): rng.normal(100, 1, 8) for k in range(40)})
    assert found.pairs == []
    assert 0.0 <= found.p <= 1.0
    assert found.verdict in ("differs", "open")


def test_large_groups_are_compared_by_their_quantiles() -> None:
    rng = np.random.default_rng(13)
    x, y = rng.normal(100, 1, 5000), rng.normal(100.1, 1, 5000)
    _, interval = hodges_lehmann(x, y)
    assert interval is not None
    assert interval[0] < 0.1 < interval[1]
    assert interval[1] - interval[0] == pytest.approx(2 * 1.96 * math.sqrt(2 / 5000), rel=0.1)
