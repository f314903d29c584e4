"""Skew, and how long the tails are: "tight bell curves with long right tails" in numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from assay.stats.compare.group_tests import thinned
from assay.stats.core.intervals import Floats, Interval, checked, quantile_interval
from assay.stats.core.proportions import clopper_pearson

# What makes the median absolute deviation and half the interquartile range the standard deviation
# of a normal distribution: 1 / z(3/4).
NORMAL = 1.482602218505602
# A value counts as far out beyond so many robust standard deviations from the median.
FAR = 3.0
# A tail is called long where so many values beyond FAR come by chance, from a normal
# distribution, less often than this.
LEVEL = 0.05
# Relative standard error, times sqrt(n), of where normal values' far-out region begins:
# sqrt(1.166**2 + (1.253 / 3)**2); and at how many places it is integrated over.
_BEGINS = 1.239
_PLACES = 61
# What the median absolute deviation of 2 to 9 values must be multiplied with to be right in the
# mean (Croux & Rousseeuw 1992, section 4); n / (n - 0.8) from there on.
_SMALL_SAMPLE = (1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107)
# Values whose pairs the medcouple counts.
_MOST_PAIRED = 5000


class Tail(msgspec.Struct, frozen=True):
    """The values' tails, of costs the slow one on the right.

    ``sigma``: the robust standard deviation, in the values' unit. ``right`` and ``left``: how many
    values lie more than three of it above and below the median; their shares with Clopper-Pearson
    intervals. ``excess``: the right share less the left, and ``excess_p`` how likely it is, if both
    tails are alike, that they differ so much (sign test). ``long_right``, ``long_left``: whether
    there are more than a normal distribution has, at the 5% level. ``ratio``: from median to the
    95th percentile over from the 5th to the median; None if the latter is nothing. ``p95``,
    ``p99``: with intervals where there are values enough for any.

    Shares: ``right_share`` with ``right_ci95``, ``left_share`` with ``left_ci95``; ``p95_ci95``
    and ``p99_ci95`` are the intervals of the percentiles.
    """

    sigma: float
    right: int
    right_share: float
    right_ci95: Interval
    left: int
    left_share: float
    left_ci95: Interval
    excess: float
    excess_p: float
    long_right: bool
    long_left: bool
    ratio: float | None
    p95: float
    p95_ci95: Interval | None
    p99: float
    p99_ci95: Interval | None


def robust_deviation(values: Sequence[float] | Floats) -> float:
    """A standard deviation that up to half of the values can't spoil.

    The median absolute deviation, scaled to the normal distribution and for few values (Croux &
    Rousseeuw 1992). Where more than half of the values are equal it is nothing; the interquartile
    range and at last the plain standard deviation stand in.
    """
    array = np.sort(checked(values))
    n = array.size
    if n < 2:
        return 0.0
    factor = NORMAL * (_SMALL_SAMPLE[n - 2] if n - 2 < len(_SMALL_SAMPLE) else n / (n - 0.8))
    mad = float(np.median(np.abs(array - np.median(array))))
    if mad > 0.0:
        return factor * mad
    low, high = np.quantile(array, (0.25, 0.75))
    return float(high - low) * NORMAL / 2.0 or float(array.std(ddof=1))


def tails(values: Sequence[float] | Floats) -> Tail:
    """What lies far out on either side. Raises AssayError for no values, NaN or infinity."""
    array = np.sort(checked(values))
    n = int(array.size)
    sigma = robust_deviation(array)
    p05, median, p95, p99 = (float(q) for q in np.quantile(array, (0.05, 0.5, 0.95, 0.99)))
    right = int(np.count_nonzero(array > median + FAR * sigma))
    left = int(np.count_nonzero(array < median - FAR * sigma))
    return Tail(
        sigma=sigma,
        right=right,
        right_share=right / n,
        right_ci95=clopper_pearson(right, n),
        left=left,
        left_share=left / n,
        left_ci95=clopper_pearson(left, n),
        excess=(right - left) / n,
        excess_p=_sign_test(right, left),
        long_right=long_tail_p(right, n) < LEVEL,
        long_left=long_tail_p(left, n) < LEVEL,
        ratio=(p95 - median) / (median - p05) if median > p05 else None,
        p95=p95,
        p95_ci95=quantile_interval(array, 0.95),
        p99=p99,
        p99_ci95=quantile_interval(array, 0.99),
    )


def long_tail_p(count: int, n: int) -> float:
    """How likely it is that ``count`` or more of ``n`` normal values lie far out on one side.

    Where far out begins, they themselves tell, with a relative standard error of 1.239 / sqrt(n):
    the robust deviation has 1.166 (Rousseeuw & Croux 1993) and the median 1.253, a third of which
    counts. An error is shared by all values, so that several come together; the binomial
    probability is therefore averaged over it (lognormal, Gauss-Hermite).
    """
    from scipy.special import bdtrc, ndtr

    if count < 1:
        return 1.0
    places, weights = np.polynomial.hermite_e.hermegauss(_PLACES)
    begins = FAR * np.exp(places * _BEGINS / math.sqrt(n))
    return float(weights @ bdtrc(count - 1, n, ndtr(-begins)) / weights.sum())


def skewness(values: Sequence[float] | Floats) -> float | None:
    """Third standardised moment, corrected for few values (G1 of Joanes & Gill 1998).

    None of fewer than three values, and of equal ones.
    """
    array = checked(values)
    n = array.size
    centred = array - array.mean()
    variance = float((centred**2).mean())
    if n < 3 or variance <= (np.finfo(float).eps * abs(float(array.mean()))) ** 2:
        return None
    moment = float((centred**3).mean()) / variance**1.5
    return float(moment * math.sqrt(n * (n - 1)) / (n - 2))


def medcouple(values: Sequence[float] | Floats) -> float | None:
    """Skew between -1 and 1 that a quarter of the values can't spoil (Brys, Hubert & Struyf 2004).

    The median, over all pairs of a value above the median and one below, of how much farther the
    one above lies: ((a - m) - (m - b)) / (a - b). How many pairs are at most t is counted by one
    search of a sorted list, so that t is found by halving. Of more than 5,000 values as many evenly
    spaced quantiles are looked at. None of fewer than three values, and where more than half are
    equal.
    """
    array = thinned(checked(values), _MOST_PAIRED)
    centre = float(np.median(array))
    above, below = (
        np.sort(array[array >= centre] - centre),
        np.sort(centre - array[array <= centre]),
    )
    ties = int(np.count_nonzero(array == centre))
    if array.size < 3 or ties * 2 > array.size:
        return None
    scale = max(float(above[-1]), float(below[-1]))
    above, below = above / scale, below / scale
    # Pairs of two values that equal the median count as -1, 0 and 1: half of them below 0.
    pairs = above.size * below.size

    def at_most(t: float) -> int:
        """Pairs of at most t: a (1 - t) <= b (1 + t), where not both are at the median."""
        reached = np.searchsorted(above * (1.0 - t), below * (1.0 + t), side="right").sum()
        between = ties * (ties - 1) // 2
        counted = ties * ties  # all of them count above, for 0 <= 0
        return int(reached) - counted + between + (ties if t >= 0.0 else 0)

    low = _ranked(at_most, (pairs + 1) // 2)
    high = low if pairs % 2 else _ranked(at_most, pairs // 2 + 1)
    return (low + high) / 2.0


def _ranked(at_most: Callable[[float], int], rank: int) -> float:
    """The smallest t in [-1, 1] that at least ``rank`` pairs don't exceed."""
    low, high = -1.0, 1.0
    for _ in range(45):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if at_most(middle) >= rank else (middle, high)
    return high


def _sign_test(one: int, other: int) -> float:
    from scipy.special import bdtr

    total = one + other
    return min(1.0, 2.0 * float(bdtr(min(one, other), total, 0.5))) if total else 1.0
