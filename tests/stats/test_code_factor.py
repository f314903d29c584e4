"""Code factors: planted ones are recovered, and divided out of ratios of machines."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.stats.compare.code_factor import CodeFactor, code_factor, without_code
from assay.stats.core.intervals import Estimate


def test_a_factor_is_one_of_speed_for_rates_and_times() -> None:
    rates = code_factor([30.0, 33.0, 36.0, 31.0], [10.0, 11.0, 12.0, 10.5], "more")
    times = code_factor([1 / 30, 1 / 33, 1 / 36, 1 / 31], [0.1, 1 / 11, 1 / 12, 1 / 10.5], "less")
    assert rates is not None and times is not None and rates.interval and times.interval
    assert 2.8 < rates.value < 3.2
    assert times.value == pytest.approx(rates.value)
    assert times.interval == pytest.approx(rates.interval)
    assert rates.launches == (4, 4)


def test_three_launches_have_no_interval_and_zero_has_no_factor() -> None:
    few = code_factor([3.0, 6.0, 12.0], [1.0, 2.0, 4.0], "more")
    assert few == CodeFactor(pytest.approx(3.0), None, (3, 3))
    assert code_factor([1.0, 0.0], [1.0, 1.0], "more") is None


@pytest.mark.parametrize("better", ["more", "less"])
def test_a_planted_factor_lies_within_its_interval_in_95_of_100_trials(better: str) -> None:
    rng = np.random.default_rng(22)
    held, trials = 0, 300
    for _ in range(trials):
        planted = math.exp(rng.uniform(-1.5, 2.5))
        machine = rng.lognormal(0.0, 0.01, 8)  # what the launches of a block have in common
        code = 1e9 * planted * machine * rng.lognormal(0.0, 0.02, 8)
        other = 1e9 * machine * rng.lognormal(0.0, 0.02, 8)
        values = (code, other) if better == "more" else (1.0 / code, 1.0 / other)
        found = code_factor(*values, better)
        assert found is not None and found.interval is not None
        held += found.interval[0] <= planted <= found.interval[1]
    assert held >= 0.95 * trials


def test_the_factor_is_divided_out_with_its_uncertainty() -> None:
    # Distances on logarithms add in quadrature: 3% and 4% give 5%.
    ratio = Estimate(9.1, (9.1 * math.exp(-0.03), 9.1 * math.exp(0.03)))
    factor = Estimate(4.55, (4.55 * math.exp(-0.04), 4.55 * math.exp(0.04)))
    machine = without_code(ratio, factor)
    assert machine.value == pytest.approx(2.0)
    assert machine.interval == pytest.approx((2.0 * math.exp(-0.05), 2.0 * math.exp(0.05)))


def test_a_ratio_known_without_error_has_the_uncertainty_of_the_factor() -> None:
    machine = without_code(Estimate(6.0, None), Estimate(3.0, (2.0, 4.0)))
    assert machine.value == pytest.approx(2.0)
    assert machine.interval == pytest.approx((1.5, 3.0))
    assert without_code(Estimate(6.0, (5.0, 7.0)), Estimate(3.0, None)).interval is None
