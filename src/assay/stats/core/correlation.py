"""Autocorrelation of samples: effective sample size and intervals that allow for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.arrays import Floats
from assay.stats.core.intervals import at_rank, checked, interval_ranks
from assay.units import Interval

# With fewer samples, correlation can't be distinguished from chance: they count as independent
# unless the evidence is strong. Standard deviations of the estimated correlation that count as
# evidence.
SMALL_SAMPLE = 20
EVIDENCE = 1.0
EVIDENCE_IF_SMALL = 2.33
# Number of lags of the second test, which detects long weak correlation; the first test uses only
# lag 1.
EVIDENCE_LAGS = 5
# Degrees of freedom per effective sample of the variance estimated from the series; calibrated by
# benchmarks/coverage.py (AR(1) and moving averages).
FREEDOM = 0.4
# Lower end of the search for a fractional rank: the beta distribution is undefined at 0.
_LEAST_RANK = 1e-9
_HALVINGS = 50
# The mean correction below may at most quintuple the time, if the window spans the whole series.
LEAST_LEFT = 0.2


def crossings(values: Floats, quantile: float | Floats) -> Floats:
    """The series 1{x <= quantile} along the last axis, with one half where they are equal.

    The variance of a quantile is the long-run variance of this series over the squared density (Sen
    1972), so outliers have no influence. The halves keep ties of a coarse clock from making the
    series constant.
    """
    level = np.asarray(quantile)[..., None]
    return np.asarray(0.5 * ((values <= level) + 1.0 * (values < level)), dtype=np.float64)


def integrated_time(series: Floats) -> Floats:
    """Integrated autocorrelation time 1 + 2 * sum of correlations, along the last axis; at least 1.

    The sum is truncated by the initial positive, monotone sequence of pairs of correlations (Geyer
    1992, 3.3). Subtracting the estimated mean lowers each correlation by time/n (Wolff 2004); this
    is corrected for the lags within the window. A constant series has time 1, and so has one
    without evidence of correlation.
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
    """Standard deviations by which the first correlations exceed the correlations of independent
    samples.

    Of the series 1{x <= p-quantile}, at lag 1 or over lags 1 to 5, the greater of both; large and
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
    """The effective number of independent samples for the p-quantile; at most n."""
    series = checked(values)
    quantile = np.quantile(series, p)
    return float(series.size / integrated_time(crossings(series, quantile)))


def correlated_intervals(
    series: Sequence[Sequence[float] | Floats], p: float = 0.5, confidence: float = 0.95
) -> list[Interval | None]:
    """Interval of the p-quantile of each stationary series in time order; None if too short.

    Without evidence of dependence it is ``quantile_interval``. Else the ranks follow from the
    effective number of independent samples, with fractional order statistics for non-integer
    numbers (Stigler 1977; Hutson 1999), and Student's t allows for the estimated autocorrelation
    time. The series may differ in length. The ranks of all series are computed together, which
    takes a fraction of the time.
    """
    checked_series = [checked(each) for each in series]
    long_enough = [
        each for each in checked_series if interval_ranks(each.size, p, confidence) is not None
    ]
    ordered = [np.sort(each) for each in long_enough]
    times = [
        float(integrated_time(crossings(each, at_rank(line, 1.0 + p * (each.size - 1)))))
        for each, line in zip(long_enough, ordered, strict=True)
    ]
    sizes = np.array([each.size for each in long_enough], dtype=float)
    lower, upper = _correlated_ranks(sizes, np.array(times), p, confidence)
    found = iter(
        (float(at_rank(line, low)), float(at_rank(line, high)))
        for line, low, high in zip(ordered, lower, upper, strict=True)
    )
    return [
        None if interval_ranks(each.size, p, confidence) is None else next(found)
        for each in checked_series
    ]


def _ranks_of(n: int, p: float, confidence: float) -> tuple[float, float]:
    """The ranks of the interval for independent samples. Raises ValueError if n is too small."""
    ranks = interval_ranks(n, p, confidence)
    if ranks is None:
        raise ValueError(f"{n} samples are too few for an interval of the {p}-quantile")
    return float(ranks.lower), float(ranks.upper)


def _correlated_ranks(
    sizes: Floats, time: Floats, p: float, confidence: float
) -> tuple[Floats, Floats]:
    """The ranks of the interval's ends for series of these sizes and autocorrelation times."""
    from scipy.special import ndtri, stdtrit

    effective = sizes / time
    level = 0.5 + confidence / 2.0
    freedom = np.maximum(FREEDOM * effective, 1.0)
    effective = effective * (ndtri(level) / stdtrit(freedom, level)) ** 2
    scale = (sizes + 1.0) / (effective + 1.0)
    lower = fractional_rank(effective, p, 1.0 - level) * scale
    upper = sizes + 1.0 - fractional_rank(effective, 1.0 - p, 1.0 - level) * scale
    whole = {n: _ranks_of(int(n), p, confidence) for n in np.unique(sizes)}
    ranks = np.array([whole[n] for n in sizes.ravel()]).reshape(*sizes.shape, 2)
    independent = time <= 1.0
    return (
        np.where(independent, ranks[..., 0], lower),
        np.where(independent, ranks[..., 1], upper),
    )


def fractional_rank(size: Floats, p: float, tail: float) -> Floats:
    """The fractional rank whose Beta(rank, size - rank + 1) exceeds p with probability ``tail``."""
    from scipy.special import betainc

    if size.size == 1:
        return np.full_like(size, _fractional_rank(float(size.flat[0]), p, tail))
    low, high = np.full_like(size, _LEAST_RANK), size + 1.0
    for _ in range(_HALVINGS):
        midpoint = 0.5 * (low + high)
        exceeds = 1.0 - betainc(midpoint, size - midpoint + 1.0, p) > tail
        low, high = np.where(exceeds, low, midpoint), np.where(exceeds, midpoint, high)
    return np.asarray(0.5 * (low + high))


def _fractional_rank(size: float, p: float, tail: float) -> float:
    """As ``fractional_rank``, in a sixth of the time that arrays of one number take."""
    from scipy.special import betainc

    low, high = _LEAST_RANK, size + 1.0
    for _ in range(_HALVINGS):
        midpoint = 0.5 * (low + high)
        if 1.0 - betainc(midpoint, size - midpoint + 1.0, p) > tail:
            high = midpoint
        else:
            low = midpoint
    return 0.5 * (low + high)
