"""One cell's spread: against other programs, literal sums, planted values, and in all orders."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import bdtrc

from assay.errors import AssayError
from assay.stats.core.summary import cov_interval
from assay.stats.core.tails import (
    FAR,
    NORMAL,
    long_tail_p,
    medcouple,
    robust_deviation,
    skewness,
    tails,
)
from assay.stats.core.trend import trend
from assay.stats.repeats.spread import describe
from recorded_statistics import INPUTS, recorded

TIMES = st.lists(st.floats(1.0, 1000.0), min_size=3, max_size=40)


@pytest.mark.parametrize("name", list(INPUTS))
def test_skew_and_its_robust_twin_are_those_of_scipy_and_statsmodels(name: str) -> None:
    assert skewness(INPUTS[name]) == pytest.approx(recorded(f"skew({name},"), rel=1e-9)
    if name != "coarse":  # statsmodels knows no ties with the median
        assert medcouple(INPUTS[name]) == pytest.approx(recorded(f"medcouple({name})"), abs=1e-9)


@pytest.mark.parametrize("name", ["one", "two", "skewed", "long"])
def test_the_robust_twin_is_rs_too(name: str) -> None:
    kernel = literal_kernel(INPUTS[name])
    middle = kernel[(len(kernel) - 1) // 2], kernel[len(kernel) // 2]
    # Of an even number of pairs R takes one of the two in the middle, not their mean.
    assert any(recorded(f"mc({name},") == pytest.approx(each, abs=1e-9) for each in middle)
    assert medcouple(INPUTS[name]) == pytest.approx(sum(middle) / 2, abs=1e-9)


@pytest.mark.parametrize("name", list(INPUTS))
def test_the_robust_deviation_is_rs_times_the_factor_for_few_values(name: str) -> None:
    n = len(INPUTS[name])
    expected = recorded(f"mad({name})") * n / (n - 0.8)
    assert robust_deviation(INPUTS[name]) == pytest.approx(expected, rel=1e-3)


def literal_kernel(values: list[float]) -> list[float]:
    """What all pairs give, sorted; ties with the median by their ranks (Brys et al., section 2)."""
    centre = float(np.median(values))
    above = sorted((v for v in values if v >= centre), reverse=True)
    below = sorted((v for v in values if v <= centre), reverse=True)
    ties = values.count(centre)
    kernel = []
    for i, a in enumerate(above):
        for j, b in enumerate(below):
            if a == b == centre:
                place = (i - (len(above) - ties)) + j
                kernel.append(float(np.sign(ties - 1 - place)))
            else:
                kernel.append(((a - centre) - (centre - b)) / (a - b))
    return sorted(kernel)


@given(st.lists(st.integers(0, 9), min_size=3, max_size=25))
def test_the_medcouple_is_the_median_over_all_pairs_with_ties(values: list[int]) -> None:
    floats = [float(v) for v in values]
    found = medcouple(floats)
    if found is not None:
        assert found == pytest.approx(np.median(literal_kernel(floats)), abs=1e-9)
    else:
        assert 2 * floats.count(float(np.median(floats))) > len(floats)


@given(TIMES, st.floats(0.01, 100.0), st.randoms(use_true_random=False))
def test_order_and_unit_do_not_matter(values: list[float], unit: float, random) -> None:
    plain = describe(values)
    scaled = describe([v * unit for v in values])
    assert scaled.median == pytest.approx(plain.median * unit)
    assert scaled.tail.sigma == pytest.approx(plain.tail.sigma * unit, rel=1e-6, abs=1e-9 * unit)
    if plain.cov and plain.cov > 1e-9:
        assert scaled.cov == pytest.approx(plain.cov)
    shuffled = list(values)
    random.shuffle(shuffled)
    again = describe(shuffled)
    assert again.tail == plain.tail
    assert [(m.n, m.at) for m in again.modes] == [(m.n, m.at) for m in plain.modes]
    assert sum(m.n for m in plain.modes) == len(values)
    assert again.mean == pytest.approx(plain.mean)


def test_undeterminable_values_are_missing_not_zero() -> None:
    one = describe([5.0], [0.0])
    assert (one.n, one.minimum, one.maximum) == (1, 5.0, 5.0)
    assert (
        one.deviation
        is one.robust_deviation
        is one.cov
        is one.cov_ci95
        is one.skew
        is one.medcouple
        is None
    )
    assert one.autocorrelation is one.trend is one.median_ci95 is None
    equal = describe([5.0] * 20, np.arange(20.0))
    assert equal.cov == 0.0
    assert equal.cov_ci95 is equal.skew is equal.autocorrelation is None
    assert equal.trend is not None
    assert equal.trend.slope == 0.0
    assert equal.trend.p == 1.0
    assert not equal.tail.long_right
    assert [m.n for m in equal.modes] == [20]
    with pytest.raises(AssayError):
        describe([])
    with pytest.raises(AssayError):
        describe([1.0, math.nan])


def test_the_cov_interval_is_bonetts_with_t_and_longer_tails_where_the_mean_is_known() -> None:
    # With a mean a million times the deviation the CoV's interval is the deviation's over the mean.
    values = np.array(INPUTS["skewed"]) + 1e6
    n, t = values.size, 2.022690920036762  # Student's, of 39 degrees of freedom
    ordered = np.sort(values)
    cut = int(n * 0.5 / math.sqrt(n - 4))
    about = ordered[cut : n - cut].mean()
    squares = ((values - values.mean()) ** 2).sum()
    kurtosis = n * ((values - about) ** 4).sum() / squares**2
    assert kurtosis > 3.0
    c = n / (n - t)
    variance = squares / (n - 1)
    for tailed in (1.0, 5.0):
        longer = kurtosis + (kurtosis - 3.0) * (tailed - 1.0 + 60.0 / n)
        reach = t * c * math.sqrt((longer - (n - 3) / n) / (n - 1))
        expected = [math.sqrt(math.exp(math.log(c * variance) + s * reach)) for s in (-1, 1)]
        interval = cov_interval(values, tailed=tailed)
        assert interval is not None
        assert np.array(interval) * values.mean() == pytest.approx(expected, rel=1e-4)


def test_a_mean_close_to_0_gives_no_cov_interval_or_a_finite_one() -> None:
    """Values of zero sum with an offset: the CoV is the deviation over it, from 0.1 to 1e300."""
    around = np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 1.5])
    assert cov_interval(around * 1e-17 + 1e-300) is None
    for exponent in range(2, 17):
        interval = cov_interval(around + 10.0**-exponent)
        # The mean's own error exceeds the mean: the interval widens until it has no upper end.
        assert interval is None or 0.0 <= interval[0] < interval[1] < math.inf
        assert (interval is None) == (exponent >= 3), exponent
    assert describe(around + 1e-12).cov_ci95 is None


def test_the_means_error_counts_where_values_spread_as_far_as_their_mean() -> None:
    values = np.array(INPUTS["skewed"]) - 100.0
    far, near = cov_interval(values + 1e6), cov_interval(values)
    assert far is not None
    assert near is not None
    n, cov = values.size, values.std(ddof=1) / values.mean()
    t = 2.022690920036762
    deviation = (math.log(far[1] / far[0]) / (2 * t)) ** 2  # without the mean's error
    skew = ((values - values.mean()) ** 3).mean() / values.var() ** 1.5
    expected = deviation + (cov**2 - cov * skew) / n
    assert cov * skew > cov**2  # which makes the interval narrower
    assert (math.log(near[1] / near[0]) / (2 * t)) ** 2 == pytest.approx(expected, rel=1e-3)


def test_dependent_values_have_wider_intervals_of_the_cov() -> None:
    values = INPUTS["one"]
    independent, dependent = cov_interval(values), cov_interval(values, effective_n=6.0)
    assert independent is not None
    assert dependent is not None
    assert math.log(dependent[1] / dependent[0]) == pytest.approx(
        2.0 * math.log(independent[1] / independent[0])
    )
    assert describe(np.sort(values)).effective_n < len(values) / 2


def test_tails_count_what_lies_beyond_three_robust_deviations() -> None:
    rng = np.random.default_rng(3)
    values = np.concatenate([100.0 + rng.uniform(-1.0, 1.0, 96), [110.0, 111.0, 120.0, 80.0]])
    found = tails(values)
    assert (found.right, found.left) == (3, 1)
    assert found.right_share == 0.03
    assert found.excess == pytest.approx(0.02)
    # The share that gives 3 or more of 100 with probability 2.5%.
    assert bdtrc(2, 100, found.right_ci95[0]) == pytest.approx(0.025)
    assert found.right_ci95[0] < 0.03 < found.right_ci95[1]
    assert found.long_right
    assert found.excess_p == pytest.approx(2 * (1 + 4) / 16)
    assert found.sigma * FAR < 10.0
    assert found.p95_ci95 is not None
    assert found.p99_ci95 is None  # 100 values are too few for it


def test_a_slope_is_theil_and_sens() -> None:
    values = INPUTS["long"][:60]
    found = trend(values, np.arange(60.0))
    slope, low, high = recorded("theilslopes")
    assert found is not None
    assert found.slope == pytest.approx(slope, rel=1e-9)
    slopes = sorted((values[j] - values[i]) / (j - i) for i, j in combinations(range(60), 2))
    assert found.slope == pytest.approx(float(np.median(slopes)))
    # SciPy rounds the ranks to the nearest; these are rounded outwards.
    assert found.slope_ci95 == pytest.approx((low, high), abs=2e-4)


def test_without_dependence_the_p_of_a_trend_is_kendalls() -> None:
    found = trend(INPUTS["coarse"], np.arange(37.0))
    assert found is not None
    # With Mann's correction for a score of whole numbers, which SciPy's leaves out.
    assert found.p == pytest.approx(recorded("kendalltau"), abs=0.02)


def test_slow_changes_are_rarely_treated_as_trends() -> None:
    rng = np.random.default_rng(14)
    found = 0
    for _ in range(100):
        noise = rng.standard_normal(80)
        for place in range(1, 80):
            noise[place] += 0.7 * noise[place - 1]
        result = trend(100.0 + noise, np.arange(80.0))
        assert result is not None
        found += result.p <= 0.05
    # Mann and Kendall's own variance would give about 40 of 100.
    assert found <= 20


def test_a_planted_slope_is_found_and_reported_over_the_span() -> None:
    rng = np.random.default_rng(8)
    utc = 86400.0 * np.arange(50)
    found = trend(100.0 + utc / utc[-1] * 10.0 + rng.standard_normal(50), utc)
    assert found is not None
    assert found.change == pytest.approx(10.0 / 105.0, rel=0.15)
    assert found.change_ci95 is not None
    assert found.change_ci95[0] < 10.0 / 105.0 < found.change_ci95[1]
    assert found.p < 1e-6
    assert found.span == utc[-1]
    reverse = trend((100.0 + rng.standard_normal(50))[::-1], utc)
    assert reverse is not None
    assert reverse.p > 0.001


def test_ten_thousand_values_show_the_same_trend_by_stretches() -> None:
    rng = np.random.default_rng(9)
    utc = np.arange(10_000.0)
    values = 100.0 + 1e-4 * utc + rng.standard_normal(10_000)
    whole, part = trend(values, utc), trend(values[::20], utc[::20])
    assert whole is not None
    assert part is not None
    assert whole.slope == pytest.approx(1e-4, rel=0.15)
    assert whole.slope_ci95[0] < 1e-4 < whole.slope_ci95[1]
    assert whole.slope_ci95[1] - whole.slope_ci95[0] < part.slope_ci95[1] - part.slope_ci95[0]


def test_a_trend_needs_a_time_for_each_value() -> None:
    with pytest.raises(AssayError, match="one time per value"):
        trend([1.0, 2.0], [1.0])
    assert trend([1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0]) is None
    assert trend([1.0, 2.0, 3.0, 4.0, 5.0], [1.0] * 5) is None


def test_far_out_values_of_normal_data_have_the_stated_probability() -> None:
    """The chance of so many far-out values, against 40,000 simulated series of each size."""
    rng = np.random.default_rng(11)
    for n in (20, 60):
        values = rng.standard_normal((40_000, n))
        middle = np.median(values, axis=1, keepdims=True)
        sigma = NORMAL * n / (n - 0.8) * np.median(np.abs(values - middle), axis=1, keepdims=True)
        counts = (values > middle + FAR * sigma).sum(axis=1)
        for count in (1, 2, 3, 4):
            found, stated = (counts >= count).mean(), long_tail_p(count, n)
            # Never less than is true, within five standard errors, and not twice as much.
            assert stated > found - 5.0 * (found / 40_000) ** 0.5
            assert stated < 2.0 * found + 5.0 * (found / 40_000) ** 0.5
    assert long_tail_p(0, 20) == 1.0


def test_autocorrelation_is_of_neighbours_ranks_around_their_mean() -> None:
    values = [3.0, 5.0, 4.0, 4.0, 9.0, 7.0, 100.0, 8.0]
    ranks = [1 + sum(w < v for w in values) + (values.count(v) - 1) / 2 for v in values]
    mean = sum(ranks) / len(ranks)
    products = sum((a - mean) * (b - mean) for a, b in pairwise(ranks))
    expected = products / sum((rank - mean) ** 2 for rank in ranks)
    assert describe(values).autocorrelation == pytest.approx(expected, rel=1e-12)
    assert expected > 0.1
    assert describe(values[:3]).autocorrelation is None
