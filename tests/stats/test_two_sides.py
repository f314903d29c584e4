"""Two sides of a comparison: brute force, exact cases, and how often intervals hold the truth."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from assay.stats.compare.two_sides import MOST_LAUNCHES, launches_needed, mean_ratio, ratio_of_sides


def test_the_ratio_is_the_median_of_all_ratios() -> None:
    one, other = [1.0, 2.0, 4.0, 8.0], [3.0, 6.0, 7.0, 10.0]
    ratio, interval = ratio_of_sides(one, other)
    ratios = [math.log(y / x) for x, y in itertools.product(one, other)]
    assert ratio == pytest.approx(math.exp(np.median(ratios)))
    # Four per side: the least and the greatest ratio hold the truth in 97.1%, the next in less
    # than 95%.
    assert interval == pytest.approx((math.exp(min(ratios)), math.exp(max(ratios))))


def test_too_few_values_have_no_interval_and_values_of_zero_no_ratio() -> None:
    ratio, interval = ratio_of_sides([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    assert ratio == pytest.approx(2.0)
    assert interval is None
    assert ratio_of_sides([0.0, 1.0], [1.0, 1.0]) == (None, None)
    # Nor do equal values make one.
    assert ratio_of_sides([2.0], [2.0]) == (1.0, None)
    assert ratio_of_sides([2.0] * 3, [2.0] * 3) == (1.0, None)
    assert ratio_of_sides([2.0] * 4, [2.0] * 4) == (1.0, (1.0, 1.0))


@pytest.mark.parametrize("n", [6, 12])
def test_the_interval_of_a_ratio_holds_the_true_one(n: int) -> None:
    rng = np.random.default_rng(n)
    held = 0
    for _ in range(400):
        one = np.exp(0.05 * rng.standard_exponential(n))
        other = 1.1 * np.exp(0.05 * rng.standard_exponential(n))
        _, interval = ratio_of_sides(one, other)
        assert interval is not None
        held += interval[0] <= 1.1 <= interval[1]
    assert held >= 368  # 92%; below that by chance in 1 of 100, were it 95%


def test_launches_needed_are_those_of_the_normal_approximation() -> None:
    one = np.exp(np.array([-1.0, 1.0]) * 0.02 / math.sqrt(2.0))  # deviation of logarithms 2%
    other = one * 1.06
    needed = launches_needed(one, other, 0.01, 10)
    quantile = stats.norm.ppf(1.0 - 0.025 / 10) + stats.norm.ppf(0.8)
    assert needed == math.ceil(2.0 * (0.02 * quantile / math.log(1.06)) ** 2)
    # Equal sides: both ends of the interval must lie within the margin.
    alike = launches_needed(one, one.copy(), 0.01, 10)
    quantile = 1.96 + stats.norm.ppf(0.9)
    assert alike == math.ceil(2.0 * (0.02 * quantile / math.log(1.01)) ** 2)


def test_launches_needed_are_unknown_at_the_margin_and_for_single_values() -> None:
    one = np.exp(np.array([-1.0, 1.0]) * 0.5)
    assert launches_needed(one, one * 1.01, 0.01, 1) is None  # more than MOST_LAUNCHES
    assert MOST_LAUNCHES == 1000
    assert launches_needed(np.array([1.0]), np.array([1.0, 2.0]), 0.01, 1) is None
    assert launches_needed(np.array([0.0, 1.0]), np.array([1.0, 2.0]), 0.01, 1) is None


def test_the_mean_ratio_is_geometric_and_its_interval_welchs() -> None:
    rng = np.random.default_rng(5)
    one = [np.exp(0.01 * rng.standard_normal(6)) for _ in range(3)]
    other = [factor * np.exp(0.01 * rng.standard_normal(8)) for factor in (1.0, 2.0, 4.0)]
    mean, interval = mean_ratio(one, other)
    medians = [np.median(y) / np.median(x) for x, y in zip(one, other, strict=True)]
    assert mean == pytest.approx(math.prod(medians) ** (1 / 3))
    sides = [np.mean([np.log(v / np.median(v)) for v in side], axis=0) for side in (one, other)]
    welch = stats.ttest_ind(sides[1], sides[0], equal_var=False).confidence_interval(0.95)
    half = (welch.high - welch.low) / 2.0
    assert interval == pytest.approx((mean * math.exp(-half), mean * math.exp(half)))


def test_without_blocks_or_with_values_of_zero_there_is_no_interval() -> None:
    pair = [np.array([1.0, 2.0])]
    assert mean_ratio(pair, pair) == (1.0, None)
    assert mean_ratio([np.array([0.0, 1.0])], pair) == (None, None)
    assert mean_ratio([], []) == (None, None)
    same = [np.ones(4)]
    assert mean_ratio(same, same) == (1.0, (1.0, 1.0))
