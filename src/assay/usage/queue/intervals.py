"""Intervals of a change over resampled loads."""

from __future__ import annotations

import numpy as np

from assay.arrays import Floats
from assay.units import Interval

# An interval needs at least this many resampled loads, and this many whole weeks of the load.
LEAST_RESAMPLES = 20
LEAST_WEEKS = 8
# Offered load from which queues last from week to week, so that resampled weeks say little.
HIGH_LOAD = 0.8
_LEVELS = (0.025, 0.975)
# Resampled weeks scatter less than other weeks of the same kind would: the middle 95% of the
# changes of resampled loads held the change over many more weeks in 88% of 192 logs. With distances
# from the change twice as long they held it in 96%, but in 89% of 74 further logs (docs/methods/
# scheduler.md, "Fit").
_STRETCH = 2.5


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


def relative_interval(change: float, resampled: Floats, factor: float = 1.0) -> Interval | None:
    """The 95% interval of a relative change of a positive quantity, at least −1.

    The middle 95% of the changes of resampled loads, on logarithms of 1 + change: distances from
    ``change`` are 2.5 times as long, since resampled weeks scatter too little. Both ends are then
    moved by the factor of the model's fit, ``factor``. None as for ``interval_of``.
    """
    middle = interval_of(change, resampled)
    if middle is None:
        return None
    with np.errstate(divide="ignore"):
        low, at, high = np.log1p([middle[0], change, middle[1]])
    if not np.isfinite(at):
        return -1.0, float(middle[1])
    by = np.log(factor)
    return (
        float(np.expm1(at - _STRETCH * (at - low) - by)),
        float(np.expm1(at + _STRETCH * (high - at) + by)),
    )


def absolute_interval(change: float, resampled: Floats) -> Interval | None:
    """The 95% interval of a difference: as ``relative_interval``, without logarithms and fit."""
    middle = interval_of(change, resampled)
    if middle is None:
        return None
    return change - _STRETCH * (change - middle[0]), change + _STRETCH * (middle[1] - change)
