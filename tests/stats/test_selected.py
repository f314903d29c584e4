"""Intervals of causes that were selected for their significance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from assay.stats.attribution import attribution
from assay.stats.attribution.attribution import attribute
from assay.stats.attribution.selected import conditional_distance, conditional_interval
from assay.stats.repeats.repeats import Repeats
from repeats_builder import make_repeats

# Standard errors of the threshold, as with 20 candidates at 1%.
THRESHOLD = 3.3
OTHERS = (
    "worst_wait_seconds",
    "steal_seconds",
    "tcp_retransmits",
    "major_faults",
    "memory_latency",
    "interrupt_seconds",
    "system_seconds",
    "io_pressure_seconds",
    "other_cpu_seconds",
    "load_average",
)


@pytest.mark.parametrize("mean", [0.5, 2.0, 3.3, 6.0])
def test_the_lower_end_of_selected_estimates_is_too_high_once_in_forty(mean: float) -> None:
    """Normal estimates of known error, given if they exceed a threshold."""
    rng = np.random.default_rng(int(10 * mean))
    least = float(ndtr(THRESHOLD - mean))

    found = mean + ndtri(rng.uniform(least, 1.0, 1000))
    ends = [value - conditional_distance(value - THRESHOLD) for value in found]
    held = np.mean([end <= mean for end in ends])
    assert held == pytest.approx(0.975, abs=0.02)
    if mean < 3.0:
        assert np.mean(found - 1.96 <= mean) < 0.8  # the end that ignores the selection


def test_the_distance_is_the_usual_one_far_above_the_threshold_and_infinite_at_it() -> None:
    distances = [conditional_distance(beyond) for beyond in (0.01, 0.1, 0.5, 1.0, 3.0, 8.0)]
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] == pytest.approx(1.96, abs=1e-3) == conditional_distance(math.inf)
    assert conditional_distance(0.0) == conditional_distance(-1.0) == math.inf


def test_the_upper_end_stays_and_the_estimate_is_inside() -> None:
    low, high = conditional_interval(0.4, (0.2, 0.6), 1e-8, 1e-4)
    assert 0.0 < low < 0.2 and high == 0.6
    assert conditional_interval(0.4, (0.2, 0.6), 1e-4, 1e-4) == (0.0, 0.6)
    sure = conditional_interval(0.4, (0.2, 0.6), 0.0, 1e-4)
    assert sure == pytest.approx((0.2, 0.6), abs=0.02)
    assert conditional_interval(0.0, (0.0, 0.0), 1e-5, 1e-4) == (0.0, 0.0)
    assert conditional_interval(1.0, (1.0, 1.0), 1e-5, 1e-4)[1] == 1.0


def weak(random: np.random.Generator, n: int, share: float) -> Repeats:
    """The clock's rate explains ``share``; ten other covariates explain nothing."""
    rate = random.normal(size=n)
    log_cost = math.sqrt(share) * rate + math.sqrt(1.0 - share) * random.normal(size=n)
    others = {name: random.normal(10.0, 1.0, n) for name in OTHERS}
    covariates = {"clock_rate": 2.6e9 * (1.0 - 1e-3 * rate), **others}
    return make_repeats(np.exp(0.01 * log_cost), covariates)


def shares_held(trials: int, n: int, share: float) -> tuple[int, int]:
    """How many of the named causes' intervals hold the share, and how many were named."""
    random = np.random.default_rng(n)
    held = of = 0
    for _ in range(trials):
        for found in attribute(weak(random, n, share)).shares:
            if found.cause == "clock":
                of += 1
                held += found.ci95[0] <= share <= found.ci95[1]
    return held, of


def test_the_shares_of_a_cell_have_conditional_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    cells = [weak(random, 24, 0.5) for _ in range(6)]
    found = [cell for cell in map(attribute, cells) if cell.shares]
    monkeypatch.setattr(attribution, "conditional_interval", lambda share, ci95, p, level: ci95)
    plain = [cell for cell in map(attribute, cells) if cell.shares]
    assert len(found) == len(plain) >= 2
    for one, other in zip(found, plain, strict=True):
        assert one.shares[0].ci95[0] < other.shares[0].ci95[0]
        assert one.shares[0].ci95[1] == other.shares[0].ci95[1]
        assert one.unexplained_ci95[1] >= other.unexplained_ci95[1]
        assert one.unexplained_ci95[1] == pytest.approx(1.0 - one.shares[0].ci95[0], abs=0.01)


@pytest.mark.long
@pytest.mark.parametrize(("n", "share"), [(20, 0.3), (30, 0.2), (50, 0.1)])
def test_the_interval_of_a_named_cause_holds_its_share(n: int, share: float) -> None:
    held, of = shares_held(400, n, share)
    assert of >= 20 and held >= 0.92 * of
