"""The variation of one cell's results: spread, tails, modes and trend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.stats.core.correlation import effective_size
from assay.stats.core.intervals import checked, median_interval
from assay.stats.core.launches import effective_sample_ratio
from assay.stats.core.modes import Mode, find_modes
from assay.stats.core.summary import TAILED, coefficient_of_variation, cov_interval
from assay.stats.core.tails import Tail, medcouple, robust_deviation, skewness, tails
from assay.stats.core.trend import Trend, trend
from assay.stats.core.warmup import mid_ranks
from assay.stats.repeats.variance_components import variance_components as variance_components
from assay.units import Interval


@dataclass(frozen=True)
class Spread:
    """The statistics that ``describe`` yields, in the values' unit."""

    #: Number of values.
    n: int
    #: The smallest value.
    minimum: float
    #: The median.
    median: float
    #: 95% interval of ``median``.
    median_ci95: Interval | None
    #: The mean.
    mean: float
    #: The largest value.
    maximum: float
    #: Sample standard deviation.
    deviation: float | None
    #: A standard deviation that is insensitive to outliers.
    robust_deviation: float | None
    #: Coefficient of variation.
    cov: float | None
    #: 95% interval of ``cov``.
    cov_ci95: Interval | None
    #: The skewness G1.
    skew: float | None
    #: A robust measure of skewness, in [-1, 1].
    medcouple: float | None
    #: Tails of the values' distribution.
    tail: Tail
    #: Modes of the values' distribution.
    modes: list[Mode]
    #: Correlation of the ranks of successive values.
    autocorrelation: float | None
    #: Effective number of independent values for the median. Statistics that can't be determined,
    #: from too few or equal values, are None.
    effective_n: float
    #: Trend of the values in time.
    trend: Trend | None


def describe(
    values: Sequence[float] | Floats, utc: Sequence[float] | Floats | None = None
) -> Spread:
    """The spread of a cell's results in order of time, one value per measurement.

    ``utc``: time of each measurement, s; without it there is no trend. Raises AssayError for no
    values, NaN or infinity.
    """
    array = checked(values)
    n = int(array.size)
    return Spread(
        n=n,
        minimum=float(array.min()),
        median=float(np.median(array)),
        median_ci95=median_interval(array),
        mean=float(array.mean()),
        maximum=float(array.max()),
        deviation=float(array.std(ddof=1)) if n > 1 else None,
        robust_deviation=robust_deviation(array) if n > 1 else None,
        cov=coefficient_of_variation(array),
        cov_ci95=cov_interval(array, effective_n=n * effective_sample_ratio(array), tailed=TAILED),
        skew=skewness(array),
        medcouple=medcouple(array),
        tail=tails(array),
        modes=find_modes(array),
        autocorrelation=_rank_autocorrelation(array),
        effective_n=effective_size(array),
        trend=None if utc is None else trend(array, utc),
    )


def _rank_autocorrelation(values: Sequence[float] | Floats) -> float | None:
    """Correlation of successive values' ranks; None for fewer than four values or equal ones."""
    array = checked(values)
    if array.size < 4 or np.ptp(array) == 0.0:
        return None
    ranks = mid_ranks(array)
    centred = ranks - ranks.mean()
    return float(centred[1:] @ centred[:-1] / (centred @ centred))
