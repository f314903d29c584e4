"""A cell's results as one value per run, in order of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats, Ints
from assay.stats.repeats.repeats import Repeats

_DAY = 86400.0
# Standard error of the median × √n / median absolute deviation, for normal values.
_MEDIAN_ERROR = 1.2533 * 1.4826


@dataclass(frozen=True)
class RunValues:
    """One value per run; all arrays but ``which`` have one entry per run, in order of time.

    A run that measured a cell over more than a day has one value per day.
    """

    #: Names of the runs.
    runs: tuple[str, ...]
    #: Time of each run's first measurement, Unix time (s).
    utc: Floats
    #: Median of each run's measurements.
    values: Floats
    #: Standard errors of the medians; nan for fewer than three measurements.
    scatter: Floats
    #: Number of each run's measurements.
    counts: Ints
    #: Index of each run's first measurement.
    first: Ints
    #: For each measurement, the index of its run.
    which: Ints


def above_zero(repeats: Repeats) -> Repeats:
    """The measurements with a result above zero."""
    usable = repeats.values > 0.0
    return repeats if usable.all() else repeats.take(usable)


def run_values(repeats: Repeats) -> RunValues | None:
    """The values of a cell's runs; None if there are no results, or one is not above zero."""
    if not len(repeats) or repeats.values.min() <= 0.0:
        return None
    names: dict[str, int] = {}
    run = np.array([names.setdefault(name, len(names)) for name in repeats.run])
    began = np.full(len(names), np.inf)
    np.minimum.at(began, run, repeats.utc)
    day = ((repeats.utc - began[run]) // _DAY).astype(np.int64)
    unit, which = np.unique(run * (int(day.max()) + 1) + day, return_inverse=True)
    counts = np.bincount(which)
    values = _medians(repeats.values, which, counts)
    off = np.abs(repeats.values - values[which])
    scatter = _MEDIAN_ERROR * _medians(off, which, counts) / np.sqrt(counts)
    utc = np.full(unit.size, np.inf)
    np.minimum.at(utc, which, repeats.utc)
    first = np.full(unit.size, len(repeats))
    np.minimum.at(first, which, np.arange(len(repeats)))
    order = np.argsort(utc, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return RunValues(
        runs=tuple(repeats.run[i] for i in first[order]),
        utc=utc[order],
        values=values[order],
        scatter=np.where(counts >= 3, scatter, np.nan)[order],
        counts=counts[order],
        first=first[order],
        which=place[which],
    )


def _medians(values: Floats, which: Ints, counts: Ints) -> Floats:
    """The median of each group's values."""
    ordered = values[np.lexsort((values, which))]
    begin = np.concatenate([[0], np.cumsum(counts)[:-1]])
    low, high = begin + (counts - 1) // 2, begin + counts // 2
    return np.asarray((ordered[low] + ordered[high]) / 2.0)
