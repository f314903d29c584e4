"""Summary statistics of a list of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.stats.core.intervals import checked


@dataclass(frozen=True)
class Summary:
    """Summary statistics of ``n`` values, in their unit; ``cov`` is relative.

    ``p05``, ``p95``, ``p99``: linear between order statistics (type 7 of Hyndman & Fan 1996).
    ``cov``: sample standard deviation over the mean's size, None for one value or a zero mean.
    ``mad``: median absolute deviation from the median, unscaled.
    """

    n: int
    median: float
    min: float
    max: float
    p05: float
    p95: float
    p99: float
    cov: float | None
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
