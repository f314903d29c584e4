"""Summary statistics of a list of numbers, and the interval of their variation."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.stats.core.intervals import checked
from assay.units import Interval

# Minimum number of values for an interval of the coefficient of variation.
MIN_VALUES = 5
# Few values of a distribution with long tails rarely show them: the excess of kurtosis over the
# normal distribution's is multiplied by 1 + this / n. Calibrated by
# benchmarks/rates/comparisons.py.
LONGER = 60.0
# For the interval of a single coefficient 1 is replaced by this: with it 60 values of Student's t
# with three degrees of freedom, whose kurtosis is infinite, are covered in 90%, and 120 in 93%. It
# is the least such whole number. Tails of two sides that are compared are alike, and their
# comparison needs no wider intervals.
TAILED = 5.0
_GREATEST_EXPONENT = math.log(sys.float_info.max)


@dataclass(frozen=True)
class Summary:
    """Summary statistics of ``n`` values, in their unit; ``cov`` is relative."""

    n: int
    median: float
    min: float
    max: float
    #: ``p05``, ``p95``, ``p99``: linear between order statistics (type 7 of Hyndman & Fan 1996).
    p05: float
    p95: float
    p99: float
    #: Sample standard deviation divided by the mean's absolute value; None for one value or a zero
    #: mean.
    cov: float | None
    #: Median absolute deviation from the median, unscaled.
    mad: float


def summarise(values: Sequence[float] | Floats) -> Summary:
    """Summary of finite ``values``; raises AssayError for an empty list, NaN or infinity."""
    array = checked(values)
    p05, median, p95, p99 = (float(q) for q in np.quantile(array, (0.05, 0.5, 0.95, 0.99)))
    return Summary(
        n=int(array.size),
        median=median,
        min=float(array.min()),
        max=float(array.max()),
        p05=p05,
        p95=p95,
        p99=p99,
        cov=coefficient_of_variation(array),
        mad=float(np.median(np.abs(array - median))),
    )


def coefficient_of_variation(values: Sequence[float] | Floats) -> float | None:
    """Sample standard deviation over the mean's size; None for one value or a zero mean."""
    array = checked(values)
    mean = float(array.mean())
    if array.size < 2 or mean == 0.0:
        return None
    return float(array.std(ddof=1)) / abs(mean)


def cov_interval(
    values: Sequence[float] | Floats,
    confidence: float = 0.95,
    *,
    effective_n: float | None = None,
    tailed: float = 1.0,
) -> Interval | None:
    """Interval of the coefficient of variation, for normal and other distributions.

    Bonett's (2006) interval of a standard deviation, whose width depends on the kurtosis about a
    trimmed mean; for long tails here with Student's t and a kurtosis that is raised for few values.
    The mean's own error and its correlation with the deviation are added by the delta method:
    var(ln CoV) = var(ln s) + (CoV**2 - CoV * skew) / n. ``effective_n``: the effective number of
    independent values. ``tailed``: factor of the excess kurtosis for many values, ``TAILED`` where
    the interval itself is a statement. None for fewer than five values, for equal values, and if
    the mean is 0 or so close to 0, relative to its own error, that the interval has no upper end as
    a float.
    Coverage: docs/methods/variation.md, "Variation".
    """
    from scipy.special import stdtrit

    array = checked(values)
    n = int(array.size)
    cov = coefficient_of_variation(array)
    if n < MIN_VALUES or not cov:
        return None
    t = float(stdtrit(n - 1, 0.5 + confidence / 2.0))
    centred = array - array.mean()
    squares = float((centred**2).sum())
    about = array - _trimmed_mean(array, 0.5 / math.sqrt(n - 4.0))
    kurtosis = n * float((about**4).sum()) / squares**2
    kurtosis += max(kurtosis - 3.0, 0.0) * (tailed - 1.0 + LONGER / n)
    small = n / (n - t)
    deviation = small**2 * max(kurtosis - (n - 3.0) / n, 0.0) / (n - 1.0) / 4.0
    skew = float((centred**3).mean()) / (squares / n) ** 1.5
    variance = max(deviation + (cov * cov - cov * skew) / n, 0.25 * deviation)
    if effective_n is not None:
        variance *= n / min(effective_n, n)
    half_width = t * math.sqrt(variance)
    centre = math.log(cov) + 0.5 * math.log(small)
    if not centre + half_width < _GREATEST_EXPONENT:
        return None
    return math.exp(centre - half_width), math.exp(centre + half_width)


def _trimmed_mean(values: Floats, share: float) -> float:
    """The mean without this share of the values on either side."""
    cut = min(int(share * values.size), (values.size - 1) // 2)
    return float(np.sort(values)[cut : values.size - cut].mean())


def thinned(values: Floats, most: int = 2000) -> Floats:
    """The values, or ``most`` evenly spaced quantiles if there are more values."""
    if values.size <= most:
        return values
    # As np.quantile, but faster for thousands of quantiles.
    places = (np.arange(most) + 0.5) / most * (values.size - 1)
    return np.interp(places, np.arange(values.size), np.sort(values))
