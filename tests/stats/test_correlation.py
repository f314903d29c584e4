"""Autocorrelation against series whose correlations are known, and a slow literal version."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from assay.stats.core.correlation import (
    EVIDENCE,
    LEAST_LEFT,
    correlated_intervals,
    crossings,
    effective_size,
    evidence_of_dependence,
    fractional_rank,
    integrated_time,
)
from assay.stats.core.intervals import median_interval

TIMINGS = json.loads((Path(__file__).parents[1] / "data/stats/sort_timings.json").read_text())[
    "values"
]


def correlated_interval(values, p=0.5, confidence=0.95):
    """The interval of one series."""
    (found,) = correlated_intervals([values], p, confidence)
    return found


def ar1(rng: np.random.Generator, n: int, phi: float) -> np.ndarray:
    series = [rng.standard_normal()]
    for _ in range(n - 1):
        series.append(phi * series[-1] + math.sqrt(1 - phi * phi) * rng.standard_normal())
    return np.array(series)


def literal_time(series: list[float]) -> float:
    """Correlations one by one, pairs until they are no longer positive, never rising."""
    n = len(series)
    mean = sum(series) / n

    def covariance(lag: int) -> float:
        return sum((series[i] - mean) * (series[i + lag] - mean) for i in range(n - lag))

    rho = [covariance(lag) / covariance(0) for lag in range(2 * (n // 4))]
    evidence = max(rho[1] * math.sqrt(n), sum(rho[1:6]) * math.sqrt(n / 5))
    if evidence <= EVIDENCE:
        return 1.0
    total, smallest, lags = 0.0, math.inf, -1
    for even in range(0, len(rho) - 1, 2):
        pair = rho[even] + rho[even + 1]
        if pair <= 0:
            break
        smallest = min(smallest, pair)
        total += smallest
        lags += 4
    return max(1.0, (2 * total - 1) / max(1 - lags / n, LEAST_LEFT))


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("n", [40, 133, 400])
def test_integrated_time_is_the_literal_one(phi: float, n: int) -> None:
    values = ar1(np.random.default_rng(n), n, phi)
    series = crossings(values, np.median(values))
    assert float(integrated_time(series)) == pytest.approx(literal_time(series.tolist()))


@pytest.mark.parametrize("phi", [0.5, 0.8, 0.9])
def test_effective_size_of_ar1_is_the_arcsine_laws(phi: float) -> None:
    # Two normal numbers of correlation r lie on the same side of 0 with correlation 2 asin(r)/pi.
    truth = 1 + 2 * sum(2 / math.pi * math.asin(phi**lag) for lag in range(1, 400))
    values = ar1(np.random.default_rng(17), 100_000, phi)
    assert values.size / effective_size(values) == pytest.approx(truth, rel=0.1)
    # The series itself has another time, (1 + phi) / (1 - phi): the quantile's is the right one.
    assert abs(truth / ((1 + phi) / (1 - phi)) - 1) > 0.15


def test_pairs_of_correlations_never_rise_again() -> None:
    # A beat on top of a slow decay: correlations fall, then rise, without becoming negative.
    beat = ar1(np.random.default_rng(2), 600, 0.98) + 0.6 * np.tile(np.arange(12) < 6, 50)
    series = crossings(beat, np.median(beat))
    centred = series - series.mean()
    rho = [centred[lag:] @ centred[: 600 - lag] / (centred @ centred) for lag in range(16)]
    pairs = [rho[k] + rho[k + 1] for k in range(0, 16, 2)]
    assert min(pairs) > 0
    assert any(later > earlier for earlier, later in itertools.pairwise(pairs))
    assert float(integrated_time(series)) == pytest.approx(literal_time(series.tolist()))


def test_effective_size_ignores_how_large_outliers_are() -> None:
    values = ar1(np.random.default_rng(3), 500, 0.8)
    stretched = np.sign(values) * np.abs(values) ** 9
    assert effective_size(stretched) == effective_size(values)


def test_independent_series_are_rarely_treated_as_dependent() -> None:
    rng = np.random.default_rng(8)
    rows = rng.lognormal(size=(4000, 200))
    times = integrated_time(crossings(rows, np.median(rows, axis=1)))
    # EVIDENCE = 1 of two overlapping looks: at most 2 * 16% by chance.
    assert (times > 1.0).mean() < 0.32
    assert np.mean(times) < 1.15
    few = rng.lognormal(size=(4000, 12))
    assert (integrated_time(crossings(few, np.median(few, axis=1))) > 1.0).mean() < 0.05


def test_constant_and_tied_series() -> None:
    assert effective_size([2.0] * 50) == 50.0
    assert correlated_interval([2.0] * 50) == (2.0, 2.0)
    assert evidence_of_dependence([2.0] * 50) == 0.0
    # Two values of a coarse clock, in long runs: the ties must not hide them.
    turns = ([1.0] * 20 + [2.0] * 20) * 5
    assert effective_size(turns) < 40


def test_interval_of_an_independent_series_is_the_plain_one() -> None:
    values = np.random.default_rng(21).exponential(size=300)
    assert evidence_of_dependence(values) < EVIDENCE
    assert correlated_interval(values) == pytest.approx(median_interval(values), rel=1e-12)


def test_dependent_series_get_wider_intervals() -> None:
    values = ar1(np.random.default_rng(4), 400, 0.9)
    plain, kept = median_interval(values), correlated_interval(values)
    assert kept[0] < plain[0] < plain[1] < kept[1]
    ratio = (kept[1] - kept[0]) / (plain[1] - plain[0])
    assert ratio > 2.0  # the true time is 12.6


def test_too_few_samples_carry_none() -> None:
    assert correlated_interval([1.0, 2.0, 3.0, 2.0, 1.0]) is None
    assert correlated_interval(list(range(30)), 0.99) is None


@pytest.mark.parametrize(("n", "rank"), [(10, 2), (50, 18), (9, 1)])
def test_fractional_rank_passes_through_the_whole_ones(n: int, rank: int) -> None:
    for p in (0.5, 0.3):
        # X(rank) exceeds the quantile when fewer than `rank` samples lie below it.
        tail = stats.binom.cdf(rank - 1, n, p)
        assert float(fractional_rank(np.array(float(n)), p, tail)) == pytest.approx(rank, rel=1e-9)


def test_real_timings_are_pinned() -> None:
    assert effective_size(TIMINGS) == pytest.approx(35.545034854, rel=1e-9)
    assert correlated_interval(TIMINGS) == pytest.approx((1.90464e-4, 1.9073414988e-4), rel=1e-9)
    series = crossings(np.array(TIMINGS), np.median(TIMINGS))
    assert 200 / effective_size(TIMINGS) == pytest.approx(literal_time(series.tolist()))


def test_evidence_of_drift() -> None:
    rng = np.random.default_rng(12)
    drifting = np.arange(20) + rng.normal(size=20)
    assert evidence_of_dependence(drifting) > 3.3
    quiet = [evidence_of_dependence(rng.normal(size=20)) for _ in range(1000)]
    assert np.mean(np.array(quiet) > 3.3) < 0.005


def test_intervals_of_series_of_different_lengths_are_those_of_each() -> None:
    rng = np.random.default_rng(12)
    series = [ar1(rng, size, phi) for size in (3, 6, 40, 41, 200) for phi in (0.0, 0.5, 0.9)]
    found = correlated_intervals(series)
    assert found == [correlated_interval(each) for each in series]
    assert found[0] is None and found[-1] is not None
    assert correlated_intervals([]) == []
