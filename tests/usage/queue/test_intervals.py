"""Intervals of a change over resampled loads, against truths known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from assay.usage.queue.intervals import absolute_interval, interval_of, relative_interval


def test_it_is_the_middle_of_the_values():
    values = np.linspace(-1.0, 1.0, 2001)
    assert interval_of(0.0, values) == pytest.approx((-0.95, 0.95), abs=1e-6)


def test_the_change_is_always_within():
    rng = np.random.default_rng(2)
    for _ in range(500):
        values = rng.normal(0.0, 1.0, 100)
        change = float(rng.normal(0.0, 1.5))
        found = interval_of(change, values)
        assert found is None or found[0] <= change <= found[1]


def test_too_few_values_or_a_change_that_none_of_them_reach():
    assert interval_of(0.5, np.linspace(0.0, 1.0, 19)) is None
    assert interval_of(2.0, np.linspace(0.0, 1.0, 100)) is None
    assert interval_of(0.99, np.linspace(0.0, 1.0, 1000)) is None
    assert interval_of(0.0, np.zeros(100)) == (0.0, 0.0)


def test_coverage_of_a_planted_change():
    """Estimates of 0 scatter by 1, and resampled ones about them likewise."""
    rng = np.random.default_rng(3)
    trials, held = 2000, 0
    for _ in range(trials):
        estimate = float(rng.normal(0.0, 1.0))
        values = estimate + rng.normal(0.0, 1.0, 400)
        low, high = interval_of(estimate, values) or (np.nan, np.nan)
        held += low <= 0.0 <= high
    assert 0.93 < held / trials < 0.965


def test_distances_are_longer_on_logarithms_and_the_fit_is_added():
    # Factors from 1/4 to 4 on logarithms: the middle 95% reach 4^0.95.
    values = np.expm1(np.log(4.0) * np.linspace(-1.0, 1.0, 2001))
    end = 4.0 ** (0.95 * 2.5)
    assert relative_interval(0.0, values) == pytest.approx((1 / end - 1, end - 1), rel=1e-4)
    wide = relative_interval(0.0, values, 1.5)
    assert wide == pytest.approx((1 / end / 1.5 - 1, end * 1.5 - 1), rel=1e-4)
    assert absolute_interval(0.5, np.linspace(0.0, 1.0, 2001)) == pytest.approx((-0.6875, 1.6875))


def test_waits_that_vanish():
    """A change of −1 is a mean wait of 0, whose logarithm is infinite."""
    low, high = relative_interval(-0.5, np.array([-1.0] * 20 + [0.0] * 20)) or (np.nan, np.nan)
    assert low == -1.0 and high > 0.0
    assert relative_interval(-1.0, np.full(40, -1.0)) == (-1.0, -1.0)
    assert relative_interval(0.0, np.zeros(40)) == (0.0, 0.0)
    assert relative_interval(2.0, np.zeros(40)) is None
    assert absolute_interval(2.0, np.zeros(40)) is None
