"""Intervals against slow literal versions, exact coverage and pinned real data."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from assay.errors import AssayError
from assay.stats.core.intervals import (
    Estimate,
    _binomial,
    at_least,
    at_rank,
    difference_interval,
    interval_ranks,
    median_interval,
    median_of,
    quantile_interval,
    ratio_interval,
    smallest_size,
)

TIMINGS = json.loads((Path(__file__).parents[1] / "data/stats/sort_timings.json").read_text())[
    "values"
]


def below(n: int, k: int, p: Fraction) -> Fraction:
    """Probability that at most k of n samples lie below the p-quantile, exactly."""
    return sum(
        (math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1)), start=Fraction(0)
    )


def hettmansperger_sheather(values: list[float], confidence: Fraction) -> tuple[float, float]:
    """The paper's formula for the median, in its own terms: depth d, gamma, I, lambda."""
    ordered, n = sorted(values), len(values)
    half = Fraction(1, 2)

    def gamma(depth: int) -> Fraction:
        return 1 - 2 * below(n, depth - 1, half)

    d = max(k for k in range(1, n // 2 + 1) if gamma(k) >= confidence)
    share = (gamma(d) - confidence) / (gamma(d) - gamma(d + 1))
    weight = float((n - d) * share / (d + (n - 2 * d) * share))
    low = (1 - weight) * ordered[d - 1] + weight * ordered[d]
    high = (1 - weight) * ordered[n - d] + weight * ordered[n - d - 1]
    return low, high


@pytest.mark.parametrize("n", [6, 7, 8, 9, 10, 11, 12, 20, 31, 100, 200])
def test_median_interval_is_the_papers(n: int) -> None:
    values = np.random.default_rng(n).lognormal(size=n).tolist()
    expected = hettmansperger_sheather(values, Fraction(95, 100))
    assert median_interval(values) == pytest.approx(expected, rel=1e-12)


def test_median_interval_of_real_timings_is_pinned() -> None:
    assert median_interval(TIMINGS) == pytest.approx((1.90535e-4, 1.9063780049e-4), rel=1e-9)
    expected = hettmansperger_sheather(TIMINGS, Fraction(95, 100))
    assert median_interval(TIMINGS) == pytest.approx(expected, rel=1e-12)


def test_six_samples_are_the_fewest() -> None:
    assert smallest_size() == 6
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) is None
    low, high = median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert 1.0 < low < 2.0
    assert 5.0 < high < 6.0


@pytest.mark.parametrize(("p", "confidence"), [(0.5, 0.95), (0.5, 0.99), (0.9, 0.95), (0.99, 0.9)])
def test_smallest_size_is_where_intervals_begin(p: float, confidence: float) -> None:
    least = smallest_size(p, confidence)
    assert interval_ranks(least, p, confidence) is not None
    assert interval_ranks(least - 1, p, confidence) is None


def test_whole_ranks_where_they_cover_exactly_as_asked() -> None:
    assert interval_ranks(6, 0.5, 1 - 2 * 0.5**6) == (1.0, 6.0)
    assert interval_ranks(8, 0.5, 1 - 2 * 9 * 0.5**8) == pytest.approx((2.0, 7.0))


@pytest.mark.parametrize("p", [0.05, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("n", [80, 150])
def test_ranks_lie_between_the_whole_ones_that_miss_more_and_less(n: int, p: float) -> None:
    ranks = interval_ranks(n, p)
    tail = Fraction(25, 1000)
    exact = Fraction(p)
    r, s = math.floor(ranks.lower), math.ceil(ranks.upper)
    assert below(n, r - 1, exact) <= tail < below(n, r, exact)
    assert 1 - below(n, s - 1, exact) <= tail < 1 - below(n, s - 2, exact)


def test_quantiles_mirror_each_other() -> None:
    values = np.random.default_rng(5).exponential(size=60)
    low, high = quantile_interval(values, 0.9)
    mirrored = quantile_interval(-values, 0.1)
    assert (-high, -low) == pytest.approx(mirrored, rel=1e-12)


def test_wider_confidence_is_wider() -> None:
    values = np.random.default_rng(6).normal(size=40)
    intervals = [quantile_interval(values, 0.5, c) for c in (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)]
    for (low, high), (wider_low, wider_high) in itertools.pairwise(intervals):
        assert wider_low < low < high < wider_high


def test_at_rank_of_rows_is_that_of_each_row() -> None:
    rows = np.sort(np.random.default_rng(7).normal(size=(5, 9)), axis=1)
    ranks = np.array([1.0, 2.5, 9.0, 0.0, 12.0])
    expected = [
        np.interp(min(max(r, 1), 9), range(1, 10), row) for r, row in zip(ranks, rows, strict=True)
    ]
    assert at_rank(rows, ranks) == pytest.approx(expected)
    assert at_rank(rows, 3.25) == pytest.approx(0.75 * rows[:, 2] + 0.25 * rows[:, 3])
    assert float(at_rank(np.array([4.0]), 1.0)) == 4.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused_by_place(bad: float) -> None:
    with pytest.raises(AssayError, match="Value 3 of 7"):
        median_interval([1.0, 2.0, bad, 4.0, 5.0, 6.0, 7.0])
    with pytest.raises(AssayError):
        median_interval([])


def test_ratio_to_a_known_limit_scales_the_interval() -> None:
    got = ratio_interval(Estimate(90.0, (88.0, 93.0)), Estimate(100.0, None))
    assert got == pytest.approx((0.88, 0.93), rel=1e-12)
    turned = ratio_interval(Estimate(100.0, None), Estimate(90.0, (88.0, 93.0)))
    assert turned == pytest.approx((100 / 93, 100 / 88), rel=1e-12)
    assert ratio_interval(Estimate(1.0, None), Estimate(2.0, None)) is None


def test_ratio_adds_in_quadrature_and_stays_within_interval_arithmetic() -> None:
    top, bottom = Estimate(3.0, (2.7, 3.6)), Estimate(2.0, (1.9, 2.2))
    low, high = ratio_interval(top, bottom)
    down = math.sqrt(math.log(3.0 / 2.7) ** 2 + math.log(2.2 / 2.0) ** 2)
    up = math.sqrt(math.log(3.6 / 3.0) ** 2 + math.log(2.0 / 1.9) ** 2)
    assert math.log(1.5 / low) == pytest.approx(down)
    assert math.log(high / 1.5) == pytest.approx(up)
    assert 2.7 / 2.2 < low < 1.5 < high < 3.6 / 1.9
    inverse = ratio_interval(bottom, top)
    assert (1 / inverse[1], 1 / inverse[0]) == pytest.approx((low, high))
    with pytest.raises(AssayError, match="positive"):
        ratio_interval(Estimate(1.0, (-0.1, 2.0)), bottom)


@pytest.mark.parametrize("p", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("n", [1, 6, 59, 60, 61, 200])
def test_binomial_sums_agree_with_the_library(n: int, p: float) -> None:
    from scipy.special import bdtr

    assert _binomial(n, p) == pytest.approx(bdtr(np.arange(n + 1.0), n, p), rel=1e-12, abs=1e-15)


def test_an_interval_is_at_least_a_step_wide_on_each_side() -> None:
    assert at_least((2.0, 2.0), 2.0, 0.5) == (1.5, 2.5)
    assert at_least((1.0, 2.0), 2.0, 0.5) == (1.0, 2.5)
    assert at_least((1.0, 4.0), 2.0, 0.5) == (1.0, 4.0)
    assert at_least((2.0, 2.0), 2.0, 0.0) == (2.0, 2.0)
    # A positive value stays positive, and a time of no step is not below 0.
    assert at_least((2.0, 2.0), 2.0, 5.0) == (1.0, 7.0)
    assert at_least((0.0, 0.0), 0.0, 5.0) == (0.0, 5.0)
    assert at_least((-2.0, -2.0), -2.0, 0.5) == (-2.5, -1.5)


def test_the_interval_of_a_difference() -> None:
    """Distances of 3 and 4, and of 6 and 8, to the ends add in quadrature."""
    found = difference_interval(Estimate(10.0, (7.0, 16.0)), Estimate(2.0, (-6.0, 6.0)))
    assert found == pytest.approx((8.0 - 5.0, 8.0 + 10.0))
    assert difference_interval(Estimate(10.0, (7.0, 16.0)), Estimate(2.0, None)) == (5.0, 14.0)
    assert difference_interval(Estimate(10.0, None), Estimate(2.0, (1.0, 4.0))) == (6.0, 9.0)
    assert difference_interval(Estimate(10.0, None), Estimate(2.0, None)) is None


def test_medians_and_values_at_ranks_are_those_of_arrays() -> None:
    """The quick ways for a few numbers give the same bits as NumPy and as whole arrays."""
    drawn = np.random.default_rng(1)
    for size in (1, 2, 3, 7, 30, 31):
        values = np.round(drawn.standard_normal(size), 1 if size == 30 else 9)
        assert median_of(values) == np.median(values)
        ordered = np.sort(values)
        for rank in (0.2, 1.0, 1.5, (size + 1) / 2, size - 0.25, float(size), size + 3.0):
            assert float(at_rank(ordered, rank)) == float(at_rank(ordered[None], rank)[0])
    assert math.isnan(median_of(np.array([1.0, math.nan, 2.0])))
    assert math.isnan(median_of(np.array([])))
