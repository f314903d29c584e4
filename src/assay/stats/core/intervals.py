"""Nonparametric confidence intervals of quantiles, and intervals of ratios of two estimates.

The only assumption is that the distribution is continuous near the quantile. For series whose
samples depend on each other see ``correlation.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from assay.arrays import Floats
from assay.errors import AssayError
from assay.stats.core.rounding import RELATIVE
from assay.units import Interval

# Up to this number of trials binomial sums are computed here: importing SciPy takes longer than a
# launch.
FEW_TRIALS = 60


class Ranks(NamedTuple):
    """Two fractional ranks, counted from 1: rank 2.25 is a quarter of the way from X(2) to X(3)."""

    lower: float
    upper: float


class Estimate(NamedTuple):
    """A number with its interval; the interval of a known number is None."""

    value: float
    #: 95% interval; None where there is none.
    interval: Interval | None


def checked(values: Sequence[float] | Floats) -> Floats:
    """The values as a one-dimensional array; raises AssayError for none, NaN or infinity."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise AssayError("A statistic needs a list of at least one number.")
    if not np.isfinite(array).all():
        first = int(np.flatnonzero(~np.isfinite(array))[0])
        raise AssayError(
            f"Value {first + 1} of {array.size} is {array[first]}: statistics need finite numbers."
        )
    return array


def median_of(values: Floats) -> float:
    """The median, as by numpy's function; NaN of no numbers, or if one is NaN.

    That one takes 30 µs for a few numbers, and summaries need hundreds of thousands of medians.
    """
    ordered = np.sort(values)
    if not ordered.size or np.isnan(ordered[-1]):
        return math.nan
    middle = ordered.size // 2
    if ordered.size % 2:
        return float(ordered[middle])
    return float((ordered[middle - 1] + ordered[middle]) / 2.0)


def relative_half_width(interval: Interval | None, value: float) -> float | None:
    """Half the width of an interval over the size of its value; None without either."""
    if interval is None or value == 0.0:
        return None
    return (interval[1] - interval[0]) / 2.0 / abs(value)


def smallest_size(p: float = 0.5, confidence: float = 0.95) -> int:
    """Minimum samples for the interval: 6 for a median at 95%, since 2 * 0.5**6 <= 0.05."""
    return math.ceil(math.log((1.0 - confidence) / 2.0) / math.log(max(p, 1.0 - p)) - RELATIVE)


@lru_cache(maxsize=4096)
def interval_ranks(n: int, p: float = 0.5, confidence: float = 0.95) -> Ranks | None:
    """Fractional ranks of the equal-tailed interval of the p-quantile; None if n is too small.

    With integer ranks coverage jumps from 78% to 97% at n = 6. The ends are therefore interpolated
    between ranks, for the median as by Hettmansperger & Sheather (1986), for other quantiles as by
    Nyblom (1992): nearly distribution-free, for skewed distributions too. Raises AssayError unless
    ``p`` and ``confidence`` lie between 0 and 1.
    """
    if not 0.0 < p < 1.0 or not 0.0 < confidence < 1.0:
        raise AssayError(
            f"A quantile ({p}) and a confidence ({confidence}) must lie between 0 and 1."
        )
    lower, upper = _lower_rank(n, p, confidence), _lower_rank(n, 1.0 - p, confidence)
    if lower is None or upper is None:
        return None
    return Ranks(lower, n + 1 - upper)


def _lower_rank(n: int, p: float, confidence: float) -> float | None:
    tail = (1.0 - confidence) / 2.0
    # below[k]: probability that at most k samples lie below the quantile, that is, that X(k+1)
    # exceeds it.
    below = _binomial(n, p)
    rank = int(np.searchsorted(below, tail, side="right"))
    if rank == 0:
        return None
    miss, next_miss = float(below[rank - 1]), float(below[rank])
    share = (tail - miss) / (next_miss - miss)
    # With `rank` samples below the quantile, the distances to its two neighbours are approximately
    # exponential with rates rank/p and (n-rank)/(1-p) where the density is flat; see
    # docs/methods/sampling.md.
    odds = share / (1.0 - share) * ((n - rank) * p) / (rank * (1.0 - p))
    return rank + odds / (1.0 + odds)


def _binomial(n: int, p: float) -> Floats:
    """Probability of at most 0, 1, … n successes in n trials."""
    if n > FEW_TRIALS:
        from scipy.special import bdtr

        return np.asarray(bdtr(np.arange(n + 1, dtype=np.float64), n, p))
    exactly = [math.comb(n, k) * p**k * (1.0 - p) ** (n - k) for k in range(n + 1)]
    return np.asarray(np.minimum(np.cumsum(exactly), 1.0))


def at_rank(ordered: Floats, rank: float | Floats) -> Floats:
    """Values at fractional ranks along the last axis of sorted ``ordered``; ranks clip to 1..n."""
    n = ordered.shape[-1]
    if ordered.ndim == 1 and isinstance(rank, float):  # most calls: arrays take ten times as long
        one = min(max(rank, 1.0), float(n))
        start = min(math.floor(one), max(n - 1, 1))
        part = one - start
        return np.asarray((1.0 - part) * ordered[start - 1] + part * ordered[min(start, n - 1)])
    ranks = np.clip(np.asarray(rank, dtype=np.float64), 1.0, n)
    below = np.minimum(np.floor(ranks).astype(np.intp), max(n - 1, 1))
    weight = ranks - below
    above = np.minimum(below, n - 1)
    if ordered.ndim == 1:
        low, high = ordered[below - 1], ordered[above]
    else:
        rows = np.broadcast_to(below, ordered.shape[:-1])[..., None]
        low = np.take_along_axis(ordered, rows - 1, axis=-1)[..., 0]
        high = np.take_along_axis(ordered, np.minimum(rows, n - 1), axis=-1)[..., 0]
    return np.asarray((1.0 - weight) * low + weight * high)


def quantile_interval(
    values: Sequence[float] | Floats, p: float = 0.5, confidence: float = 0.95
) -> Interval | None:
    """Interval of the p-quantile of independent ``values``, in their unit; None if too few."""
    ordered = np.sort(checked(values))
    ranks = interval_ranks(int(ordered.size), p, confidence)
    if ranks is None:
        return None
    return float(at_rank(ordered, ranks.lower)), float(at_rank(ordered, ranks.upper))


def median_interval(values: Sequence[float] | Floats, confidence: float = 0.95) -> Interval | None:
    """Interval of the median of independent ``values``; None under six of them at 95%."""
    return quantile_interval(values, 0.5, confidence)


def at_least(interval: Interval, value: float, step: float) -> Interval:
    """The interval, extended so that each end is at least ``step`` from ``value``, both above 0.

    ``step``: the smallest difference that the values can show, such as the clock's step; 0 leaves
    the interval as it is. A time between two readings of a clock is known to within one step either
    way, however many equal times were measured. The lower end of a positive value stays positive,
    so that a rate has an upper end: at least half of the value remains.
    """
    below = max(value - step, value / 2.0) if value >= 0.0 else value - step
    return min(interval[0], below), max(interval[1], value + step)


def ratio_interval(numerator: Estimate, denominator: Estimate) -> Interval | None:
    """Interval of numerator / denominator, both positive and measured independently.

    MOVER on logarithms (Zou & Donner 2008): the distances from estimate to interval end are added
    in quadrature. This keeps skewness and needs no resampling. A side without interval counts as
    known exactly, such as a theoretical peak. None if neither side has an interval. Raises
    AssayError if an estimate or an end is not positive.
    """
    if numerator.interval is None and denominator.interval is None:
        return None
    top, bottom = numerator.interval or (numerator.value,) * 2, denominator.interval
    bottom = bottom or (denominator.value,) * 2
    if min(numerator.value, denominator.value, *top, *bottom) <= 0.0:
        raise AssayError("A ratio's interval needs two positive quantities.")
    ratio = numerator.value / denominator.value
    down = math.hypot(math.log(numerator.value / top[0]), math.log(bottom[1] / denominator.value))
    up = math.hypot(math.log(top[1] / numerator.value), math.log(denominator.value / bottom[0]))
    return ratio * math.exp(-down), ratio * math.exp(up)


def difference_interval(minuend: Estimate, subtrahend: Estimate) -> Interval | None:
    """Interval of minuend - subtrahend, measured independently: MOVER, as of a ratio.

    A side without interval counts as known exactly. None if neither side has an interval.
    """
    if subtrahend.interval is None:
        if minuend.interval is None:
            return None
        return minuend.interval[0] - subtrahend.value, minuend.interval[1] - subtrahend.value
    low, high = minuend.interval or (minuend.value,) * 2
    least, most = subtrahend.interval
    difference = minuend.value - subtrahend.value
    return (
        difference - math.hypot(minuend.value - low, most - subtrahend.value),
        difference + math.hypot(high - minuend.value, subtrahend.value - least),
    )
