"""Dependent launches: reported at any number, accounted for from twenty on."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from assay.stats.compare.groups import correct, location_differs
from assay.stats.core.intervals import median_interval
from assay.stats.core.launches import (
    are_ordered,
    dependence_of,
    effective_launches,
    effective_sample_ratio,
    launch_interval,
    levels_return,
    span_of,
)


def autoregressive(seed: int, trials: int, n: int, rho: float) -> np.ndarray:
    """Series (rows) whose values depend on the one before; the median is 0."""
    rows = np.random.default_rng(seed).standard_normal((trials, n))
    for launch in range(1, n):
        rows[:, launch] *= math.sqrt(1.0 - rho**2)
        rows[:, launch] += rho * rows[:, launch - 1]
    return rows


@pytest.mark.parametrize("n", [6, 8, 10, 14, 30])
def test_rising_launches_are_reported_for_any_number(n: int) -> None:
    assert are_ordered(np.arange(n) ** 2.0)
    assert are_ordered(-(np.arange(n) ** 2.0))
    assert not are_ordered(np.ones(n)) and not are_ordered(np.arange(5.0))


def test_of_six_launches_one_order_in_a_hundred_is_reported() -> None:
    """All 720 orders, one by one."""
    found = sum(are_ordered(np.array(order, float)) for order in itertools.permutations(range(6)))
    assert 2 <= found <= 0.012 * 720


@pytest.mark.parametrize("n", [12, 40, 150])
def test_independent_launches_are_reported_once_in_a_hundred(n: int) -> None:
    rows = autoregressive(n, 1500, n, 0.0)
    assert sum(map(are_ordered, rows)) <= binom.isf(1e-3, 1500, 0.011)


@pytest.mark.parametrize(("n", "rho"), [(20, 0.3), (20, 0.5), (30, 0.5)])
def test_from_twenty_launches_on_the_interval_allows_for_dependence(n: int, rho: float) -> None:
    rows = np.exp(0.02 * autoregressive(7, 400, n, rho))
    holds = sum(low <= 1.0 <= high for low, high in map(launch_interval, rows))
    assert holds >= binom.ppf(1e-3, 400, 0.925)
    plain = sum(low <= 1.0 <= high for low, high in map(median_interval, rows))
    assert plain < holds


def test_of_independent_or_few_launches_it_is_the_interval_of_the_median() -> None:
    rows = autoregressive(8, 40, 19, 0.9)
    assert all(launch_interval(row) == median_interval(row) for row in rows)
    rows = autoregressive(9, 200, 30, 0.0)
    same = sum(launch_interval(row) == median_interval(row) for row in rows)
    assert same > 0.7 * 200
    assert launch_interval([1.0] * 5) is None
    assert effective_launches(rows[0]) <= 30.0 and effective_launches(np.arange(12.0)) == 12.0


def test_equal_groups_of_dependent_launches_don_t_differ() -> None:
    rows = 100.0 + 2.0 * autoregressive(10, 300, 20, 0.5)
    found = [
        location_differs({"one": one, "two": two}).verdict == "differs"
        for one, two in zip(rows[::2], rows[1::2], strict=True)
    ]
    assert sum(found) <= binom.isf(1e-3, 150, 0.08)


@pytest.mark.parametrize(("n", "rho"), [(6, 0.0), (8, 0.0), (10, 0.0), (10, 0.3), (15, 0.3)])
def test_a_shift_of_five_deviations_stays_one(n: int, rho: float) -> None:
    """Also among twenty comparisons, and where neighbours look alike by chance."""
    rows = 100.0 + autoregressive(11, 100, n, rho)
    found = [
        location_differs({"one": one, "two": two + 5.0})
        for one, two in zip(rows[::2], rows[1::2], strict=True)
    ]
    assert [each.verdict for each in found] == ["differs"] * len(found)
    assert [each.verdict for each in correct(found[:20])] == ["differs"] * 20
    # Groups in order of size look most dependent.
    one, two = np.sort(rows[0]), np.sort(rows[1]) + 5.0
    assert dependence_of(one, two) > 0.5
    assert location_differs({"one": one, "two": two}).verdict == "differs"


def test_dependence_is_that_of_all_groups_together() -> None:
    rows = autoregressive(12, 4, 50, 0.6)
    whole = dependence_of(*rows)
    assert 0.5 < whole < 0.85
    assert effective_sample_ratio(*rows) == pytest.approx((1 - whole) / (1 + whole), rel=0.15)
    assert dependence_of(np.ones(30)) == dependence_of(np.arange(2.0)) == 0.0
    assert effective_sample_ratio(np.ones(30)) == 1.0


def test_the_span_is_to_the_end_of_the_last_launch() -> None:
    assert span_of([100.0, 130.0, 110.0], [5.0, 1.0, 60.0]) == 70.0
    assert span_of([], []) is None


def test_levels_that_last_and_return_are_told_from_a_step_and_from_scatter() -> None:
    rng = np.random.default_rng(77)
    noise = 0.002 * rng.standard_normal(40)
    lasting = np.repeat([0.0, 0.1] * 4, 5)
    assert levels_return(lasting + noise)
    assert not levels_return(np.repeat([0.0, 0.1], 20) + noise)  # one step
    assert not levels_return(noise)
    assert not levels_return(np.tile([0.0, 0.1], 20) + noise)  # they don't last
