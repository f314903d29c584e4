"""Intervals of a change over resampled loads."""

from __future__ import annotations

import numpy as np

from assay.arrays import Floats
from assay.units import Interval

# An interval needs at least this many resampled loads, and this many whole weeks of the load.
LEAST_RESAMPLES = 20
LEAST_WEEKS = 8
_LEVELS = (0.025, 0.975)


def interval_of(change: float, resampled: Floats) -> Interval | None:
    """The middle 95% of a change's values on resampled loads, ``resampled``.

    None with fewer than 20 values, or if the change of the load itself is outside these 95%: the
    resampled loads then say nothing about the load's own order of weeks, and the interval would
    belong to a different quantity. Percentiles are not bias-corrected: a resampled load repeats
    weeks, and the effect of this is not a bias of the load itself (docs/scheduler.md, "Intervals").
    """
    if resampled.size < LEAST_RESAMPLES:
        return None
    low, high = (float(value) for value in np.quantile(resampled, _LEVELS))
    return (low, high) if low <= change <= high else None
