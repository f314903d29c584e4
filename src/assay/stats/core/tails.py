"""Skewness and length of the tails of a distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.stats.core.intervals import checked, quantile_interval
from assay.stats.core.proportions import clopper_pearson
from assay.stats.core.summary import thinned
from assay.units import Interval

# Scales the median absolute deviation, and half the interquartile range, to the standard deviation
# of a normal distribution: 1 / z(3/4).
NORMAL = 1.482602218505602
# A value is far out if it lies more robust standard deviations than this from the median.
FAR = 3.0
# A tail is long if a normal distribution yields as many values beyond FAR with a probability below
# this.
LEVEL = 0.05
# Relative standard error, times sqrt(n), of the limit of the far-out region of normal values:
# sqrt(1.166**2 + (1.253 / 3)**2); and the number of quadrature nodes of the integral over it.
_BEGINS = 1.239
_PLACES = 61
# Factors that make the median absolute deviation of 2 to 9 values unbiased (Croux & Rousseeuw 1992,
# section 4); n / (n - 0.8) for more values.
_SMALL_SAMPLE = (1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107)
# Maximum number of values for which the medcouple counts pairs.
_MOST_PAIRED = 5000


@dataclass(frozen=True)
class Tail:
    """Tails of a distribution; for costs the right tail is the slow one."""

    #: Robust standard deviation, in the values' unit.
    sigma: float
    #: ``right``, ``left``: numbers of values that lie more than three ``sigma`` above and below the
    #: median.
    right: int
    #: Share of values in the right tail. For costs the right tail is the slow one.
    right_share: float
    #: 95% interval of ``right_share`` (Clopper & Pearson).
    right_ci95: Interval
    left: int
    #: Share of values in the left tail.
    left_share: float
    #: 95% interval of ``left_share`` (Clopper & Pearson).
    left_ci95: Interval
    #: The right share minus the left share.
    excess: float
    #: p of the sign test that both tails are equal.
    excess_p: float
    #: ``long_right``, ``long_left``: whether the tail has more values than the tail of a normal
    #: distribution, at the 5% level.
    long_right: bool
    long_left: bool
    #: Distance from the median to the 95th percentile, divided by the distance from the 5th
    #: percentile to the median; None if the latter is 0.
    ratio: float | None
    #: ``p95``, ``p99``: percentiles, with intervals if there are enough values.
    p95: float
    #: 95% interval of the 95th percentile.
    p95_ci95: Interval | None
    p99: float
    #: 95% interval of the 99th percentile.
    p99_ci95: Interval | None


def robust_deviation(values: Sequence[float] | Floats) -> float:
    """A standard deviation with a breakdown point of one half.

    The median absolute deviation, scaled to the normal distribution and corrected for few values
    (Croux & Rousseeuw 1992). Where it is 0, since more than half of the values are equal, the
    interquartile range is used, and where that is 0 too the sample standard deviation.
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
    """The tails on both sides. Raises AssayError for no values, NaN or infinity."""
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
    """Probability that ``count`` or more of ``n`` normal values lie far out on one side.

    The far-out limit is estimated from the same values, with a relative standard error of
    1.239 / sqrt(n): 1.166 from the robust deviation (Rousseeuw & Croux 1993) and a third of the
    median's 1.253. Its error affects all values alike; the binomial probability is therefore
    averaged over it (lognormal, Gauss-Hermite).
    """
    from scipy.special import bdtrc, ndtr

    if count < 1:
        return 1.0
    places, weights = np.polynomial.hermite_e.hermegauss(_PLACES)
    begins = FAR * np.exp(places * _BEGINS / math.sqrt(n))
    return float(weights @ bdtrc(count - 1, n, ndtr(-begins)) / weights.sum())


def skewness(values: Sequence[float] | Floats) -> float | None:
    """Third standardised moment, corrected for few values (G1 of Joanes & Gill 1998).

    None for fewer than three values, and for equal ones.
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
    """Skewness between -1 and 1 with a breakdown point of one quarter (Brys, Hubert & Struyf 2004).

    The median of ((a - m) - (m - b)) / (a - b) over all pairs of a value a above the median m and a
    value b below. One search of a sorted list counts the pairs that are at most t, and t is found
    by bisection. More than 5,000 values are replaced by 5,000 evenly spaced quantiles. None for
    fewer than three values, and where more than half are equal to the median.
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
    # Pairs of two values that equal the median count as -1, 0 or 1, with equally many at -1 and 1.
    pairs = above.size * below.size

    def at_most(t: float) -> int:
        """Pairs of at most t: a (1 - t) <= b (1 + t), where not both are at the median."""
        reached = np.searchsorted(above * (1.0 - t), below * (1.0 + t), side="right").sum()
        between = ties * (ties - 1) // 2
        counted = ties * ties  # `reached` includes all of them, since 0 <= 0
        return int(reached) - counted + between + (ties if t >= 0.0 else 0)

    low = _ranked(at_most, (pairs + 1) // 2)
    high = low if pairs % 2 else _ranked(at_most, pairs // 2 + 1)
    return (low + high) / 2.0


def _ranked(at_most: Callable[[float], int], rank: int) -> float:
    """The smallest t in [-1, 1] that at least ``rank`` pairs don't exceed."""
    low, high = -1.0, 1.0
    for _ in range(45):
        midpoint = 0.5 * (low + high)
        low, high = (low, midpoint) if at_most(midpoint) >= rank else (midpoint, high)
    return high


def _sign_test(one: int, other: int) -> float:
    from scipy.special import bdtr

    total = one + other
    return min(1.0, 2.0 * float(bdtr(min(one, other), total, 0.5))) if total else 1.0
