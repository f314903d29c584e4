"""Samples that depend on their predecessors: how many independent ones they are worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.stats.core.intervals import Floats, Interval, at_rank, checked, interval_ranks

# Below so many samples the correlation can't be told from chance: taken as independent unless the
# evidence is strong. Standard deviations of the estimated correlation that count as evidence.
SMALL_SAMPLE = 20
EVIDENCE = 1.0
EVIDENCE_IF_SMALL = 2.33
# Lags of the second look, so that a long weak correlation counts as much as a short strong one.
EVIDENCE_LAGS = 5
# Degrees of freedom per effective sample of the variance estimated from the series; calibrated by
# benchmarks/coverage.py (AR(1) and moving averages).
FREEDOM = 0.4
# From where a real rank is sought: the beta distribution has none at 0.
_LEAST_RANK = 1e-9
# The mean correction below may at most quintuple the time, where the window spans the whole series.
LEAST_LEFT = 0.2


def crossings(values: Floats, quantile: float | Floats) -> Floats:
    """The series 1{x <= quantile} along the last axis, with one half where they are equal.

    A quantile's error depends on this series alone: its long-run variance over the squared density
    is the quantile's variance (Sen 1972), so outliers have no say. Halves keep ties of a coarse
    clock from making the series constant.
    """
    level = np.asarray(quantile)[..., None]
    return np.asarray(0.5 * ((values <= level) + 1.0 * (values < level)), dtype=np.float64)


def integrated_time(series: Floats) -> Floats:
    """Integrated autocorrelation time 1 + 2 * sum of correlations, along the last axis; at least 1.

    The sum ends by the initial positive, monotone sequence of pairs of correlations (Geyer 1992,
    3.3). Subtracting the estimated mean shrinks each correlation by time/n (Wolff 2004), which
    is put back for the lags within the window. A constant series has time 1.
    """
    n = series.shape[-1]
    if n < 4:
        return np.ones(series.shape[:-1])
    centred = series - series.mean(axis=-1, keepdims=True)
    length = 1 << (2 * n - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred, length, axis=-1)) ** 2
    covariance = np.fft.irfft(spectrum, length, axis=-1)[..., :n]
    # A constant series leaves rounding errors of the transform, not zeros.
    constant = np.ptp(series, axis=-1) == 0.0
    variance = np.where(constant, 1.0, covariance[..., 0])
    correlation = covariance / variance[..., None]
    last = 2 * (n // 4)
    pairs = correlation[..., 0:last:2] + correlation[..., 1:last:2]
    positive = np.logical_and.accumulate(pairs > 0.0, axis=-1)
    monotone = np.minimum.accumulate(pairs, axis=-1) * positive
    time = 2.0 * monotone.sum(axis=-1) - 1.0
    lags = 4.0 * positive.sum(axis=-1) - 1.0  # both sides of the window, and lag 0
    time = time / np.maximum(1.0 - lags / n, LEAST_LEFT)
    evident = _evidence(correlation, n) > (EVIDENCE if n >= SMALL_SAMPLE else EVIDENCE_IF_SMALL)
    return np.asarray(np.where(evident & ~constant, np.maximum(time, 1.0), 1.0))


def _evidence(correlation: Floats, n: int) -> Floats:
    """Correlation at lag 1, and over the first lags, in standard deviations under independence."""
    lags = min(EVIDENCE_LAGS, n - 1)
    first = correlation[..., 1] * np.sqrt(n)
    several = correlation[..., 1 : lags + 1].sum(axis=-1) * np.sqrt(n / lags)
    return np.asarray(np.maximum(first, several))


def evidence_of_dependence(values: Sequence[float] | Floats, p: float = 0.5) -> float:
    """Standard deviations by which the series' early correlations exceed those of independence.

    Of 1{x <= p-quantile}, at lag 1 or over lags 1 to 5, whichever is the greater; large and
    positive for drift and for slow changes, about 0.5 on average without either.
    """
    series = checked(values)
    if series.size < 4 or np.ptp(series) == 0.0:
        return 0.0
    above = crossings(series, np.quantile(series, p))
    centred = above - above.mean()
    if not centred.any():
        return 0.0
    lags = min(EVIDENCE_LAGS + 1, series.size)
    covariance = np.array([centred[lag:] @ centred[: series.size - lag] for lag in range(lags)])
    return float(_evidence(covariance / covariance[0], series.size))


def effective_size(values: Sequence[float] | Floats, p: float = 0.5) -> float:
    """How many independent samples carry as much about the p-quantile as these do; at most n."""
    series = checked(values)
    quantile = np.quantile(series, p)
    return float(series.size / integrated_time(crossings(series, quantile)))


def correlated_interval(
    values: Sequence[float] | Floats, p: float = 0.5, confidence: float = 0.95
) -> Interval | None:
    """Interval of the p-quantile of a stationary series in time order; None if too short.

    Where nothing speaks against independence it is ``quantile_interval``. Else the ranks are those
    of as many independent samples as the series is worth, continued between whole sizes by
    fractional order statistics (Stigler 1977; Hutson 1999), with Student's t for the estimated
    time.
    """
    series = checked(values)
    if interval_ranks(int(series.size), p, confidence) is None:
        return None
    low, high = correlated_intervals(series[None, :], p, confidence)
    return float(low[0]), float(high[0])


def correlated_intervals(
    rows: Floats, p: float = 0.5, confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """``correlated_interval`` of each row of ``rows``: arrays of lower and of upper ends."""
    from scipy.special import ndtri, stdtrit

    n = rows.shape[-1]
    ranks = interval_ranks(n, p, confidence)
    if ranks is None:
        raise ValueError(f"{n} samples carry no interval of the {p}-quantile")
    ordered = np.sort(rows, axis=-1)
    time = integrated_time(crossings(rows, at_rank(ordered, 1.0 + p * (n - 1))))
    effective = n / time
    level = 0.5 + confidence / 2.0
    freedom = np.maximum(FREEDOM * effective, 1.0)
    effective = effective * (ndtri(level) / stdtrit(freedom, level)) ** 2
    scale = (n + 1.0) / (effective + 1.0)
    lower = fractional_rank(effective, p, 1.0 - level) * scale
    upper = n + 1.0 - fractional_rank(effective, 1.0 - p, 1.0 - level) * scale
    independent = time <= 1.0
    low = at_rank(ordered, np.where(independent, ranks.lower, lower))
    high = at_rank(ordered, np.where(independent, ranks.upper, upper))
    return np.asarray(low), np.asarray(high)


def fractional_rank(size: Floats, p: float, tail: float) -> Floats:
    """The real rank whose Beta(rank, size - rank + 1) exceeds p with probability ``tail``."""
    from scipy.special import betainc

    low, high = np.full_like(size, _LEAST_RANK), size + 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        exceeds = 1.0 - betainc(middle, size - middle + 1.0, p) > tail
        low, high = np.where(exceeds, low, middle), np.where(exceeds, middle, high)
    return np.asarray(0.5 * (low + high))
