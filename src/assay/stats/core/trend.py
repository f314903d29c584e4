"""Whether values rise or fall with time, and how fast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.errors import AssayError
from assay.stats.core.correlation import integrated_time
from assay.stats.core.intervals import checked
from assay.stats.core.warmup import mid_ranks
from assay.units import Interval

# Fewer values can't have a trend at the 5% level: of four the steepest order has p = 0.09.
MIN_TIMES = 5
# More than _MOST values are replaced by the medians of at most _STRETCHES stretches of equal
# length, because the slope is a median over all pairs.
_MOST, _STRETCHES = 500, 300


@dataclass(frozen=True)
class Trend:
    """The slope of values in time (Theil-Sen) and its significance (Mann-Kendall)."""

    #: Slope, in the values' unit per second.
    slope: float
    #: ``slope_ci95``, ``change_ci95``: 95% intervals of ``slope`` and ``change``.
    slope_ci95: Interval
    #: Slope times span, relative to the median; None if the median is 0.
    change: float | None
    change_ci95: Interval | None
    #: Time from the first value to the last, s.
    span: float
    #: p of the test that there is no trend.
    p: float


def trend(values: Sequence[float] | Floats, utc: Sequence[float] | Floats) -> Trend | None:
    """The trend of ``values`` at the times ``utc`` (s); None for fewer than five different times.

    Slope: the median of the slopes between all pairs (Theil 1950; Sen 1968). Significance: Mann
    (1945) and Kendall, with the variance multiplied by the integrated autocorrelation time of the
    detrended values' ranks to allow for dependence (Yue & Wang 2004). More than 500 values are
    replaced by the medians of up to 300 stretches of equal length. Raises AssayError if ``values``
    and ``utc`` differ in length.
    """
    from scipy.special import ndtr, ndtri

    y, x = checked(values), checked(utc)
    if y.shape != x.shape:
        raise AssayError("A trend needs one time per value.")
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    if y.size > _MOST:
        length = -(-y.size // _STRETCHES)
        left_out = y.size % length
        x, y = (np.median(each[left_out:].reshape(-1, length), axis=1) for each in (x, y))
    span = float(x[-1] - x[0])
    if np.unique(x).size < MIN_TIMES:
        return None
    first, second = np.triu_indices(x.size, 1)
    apart = x[second] - x[first]
    pairs = apart > 0.0
    rise = (y[second] - y[first])[pairs]
    slopes = np.sort(rise / apart[pairs])
    slope = float(np.median(slopes))
    score = float(np.sign(rise).sum())
    detrended = mid_ranks(y - slope * (x - x[0]))
    time = float(integrated_time(detrended[None, :])[0])
    deviation = math.sqrt(_variance(x, y) * time)
    p = 1.0
    if deviation > 0.0 and score != 0.0:
        p = min(1.0, 2.0 * float(ndtr(-(abs(score) - 1.0) / deviation)))
    ranks = float(ndtri(0.975)) * deviation
    low = float(slopes[max(math.floor((slopes.size - ranks) / 2.0) - 1, 0)])
    high = float(slopes[min(math.ceil((slopes.size + ranks) / 2.0), slopes.size - 1)])
    median = float(np.median(y))
    relative = span / abs(median) if median else None
    return Trend(
        slope=slope,
        slope_ci95=(low, high),
        change=None if relative is None else slope * relative,
        change_ci95=None if relative is None else (low * relative, high * relative),
        span=span,
        p=p,
    )


def _variance(x: Floats, y: Floats) -> float:
    """Variance of Kendall's score without a trend, with ties in x or y (Kendall 1970, ch. 4)."""
    n = float(x.size)
    ties = [np.unique(each, return_counts=True)[1].astype(np.float64) for each in (x, y)]

    def fives(t: Floats | float) -> float:
        return float(np.sum(t * (np.asarray(t) - 1.0) * (2.0 * np.asarray(t) + 5.0)))

    def threes(t: Floats) -> float:
        return float(np.sum(t * (t - 1.0) * (t - 2.0)))

    def twos(t: Floats) -> float:
        return float(np.sum(t * (t - 1.0)))

    whole = (fives(n) - fives(ties[0]) - fives(ties[1])) / 18.0
    whole += twos(ties[0]) * twos(ties[1]) / (2.0 * n * (n - 1.0))
    return whole + threes(ties[0]) * threes(ties[1]) / (9.0 * n * (n - 1.0) * (n - 2.0))
