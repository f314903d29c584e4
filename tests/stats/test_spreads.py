"""A permutation test of two coefficients of variation: against all permutations, and by rates."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from assay.stats.compare.spreads import spreads_differ


def exact_p(one: np.ndarray, other: np.ndarray) -> float:
    """p over all assignments of the deviations to the samples."""
    pooled = np.concatenate(
        [
            (each - np.median(each)) / each.mean() * np.sqrt(each.size / (each.size - 1))
            for each in (one, other)
        ]
    )
    places = range(pooled.size)
    ratios = []
    for chosen in combinations(places, one.size):
        rest = [place for place in places if place not in chosen]
        ratios.append(np.mean(pooled[list(chosen)] ** 2) / np.mean(pooled[rest] ** 2))
    found = ratios[0]
    share = min(
        np.mean(np.array(ratios) >= found - 1e-12), np.mean(np.array(ratios) <= found + 1e-12)
    )
    return 2.0 * float(share)


@pytest.mark.parametrize("seed", range(8))
def test_p_agrees_with_all_permutations(seed: int) -> None:
    random = np.random.default_rng(seed)
    one = 100.0 + random.standard_normal(5)
    other = 300.0 + 3.0 * (1.0 + seed) * random.standard_normal(6)
    p = exact_p(one, other)
    assert spreads_differ(one, other, 1.3 * p) or p > 0.04  # it ends early above 5%
    assert not spreads_differ(one, other, 0.7 * p)
    assert spreads_differ(other, one, 1.3 * p) or p > 0.04


def test_the_spread_is_relative_to_the_mean_and_has_no_side() -> None:
    random = np.random.default_rng(1)
    one, other = 1.0 + 0.01 * random.standard_normal(40), 1.0 + 0.04 * random.standard_normal(40)
    for pair in ((one, other), (other, one), (1e-6 * one, 1e3 * other)):
        assert spreads_differ(*pair, 0.001)
    # Equal deviations at three times the mean are a third of the spread.
    assert spreads_differ(other, other + 2.0, 0.001)
    assert not spreads_differ(other, 3.0 * other[::-1], 0.001)


def test_equal_spreads_are_called_different_at_the_level() -> None:
    random = np.random.default_rng(2)
    for draw in (random.standard_normal, lambda n: random.standard_t(3, n), random.exponential):
        pairs = [[100.0 + np.asarray(draw(size=20) if draw is random.exponential else draw(20))
                  for _ in range(2)] for _ in range(200)]  # fmt: skip
        assert sum(spreads_differ(*pair, 0.02) for pair in pairs) <= 12


def test_samples_without_a_spread_are_not_compared() -> None:
    varied, constant = np.array([1.0, 1.1, 0.9]), np.ones(3)
    assert not spreads_differ(varied, constant, 0.5)
    assert not spreads_differ(np.array([1.0]), varied, 0.5)
    assert not spreads_differ(np.array([-1.0, 1.0]), varied, 0.5)


def test_one_late_launch_does_not_make_equal_spreads_different() -> None:
    """Deviations from the mean would: the late launch shifts all others of its sample."""
    random = np.random.default_rng(3)
    found = 0
    for _ in range(300):
        one, other = (100.0 + random.standard_normal(12) + 10.0 * random.exponential(size=12)
                      * (random.random(12) < 0.1) for _ in range(2))  # fmt: skip
        found += spreads_differ(one, other, 0.001)
    assert found <= 3
