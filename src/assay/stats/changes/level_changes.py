"""Changes of level of many cells together, and the difference of two segments of one cell.

Everything that speaks of a cell over time reads these changes: its history, a comparison of two of
its runs, and its steadiness.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from assay.arrays import Floats
from assay.stats.changes.changes import (
    LEVEL,
    Changes,
    ObservedSeries,
    SeriesSegment,
    changes_of,
    series_of,
)
from assay.stats.changes.mode_share import mean_shift, mode_share
from assay.stats.changes.parallel import in_parallel
from assay.stats.changes.reordering import MOST_DEPENDENCE, changed
from assay.stats.changes.scan import FIRST
from assay.stats.changes.segments import SegmentDifference, shifted

# The mean autocorrelation of a machine's cells counts if it exceeds zero by this many standard
# errors.
_EVIDENT = 3.0
# Number of values whose examination takes much longer than the start of a process.
_WORTH_A_PROCESS = 2000


class ValuesInTime(Protocol):
    """A cell's values in order of time: positive values, their times, and standard errors."""

    @property
    def values(self) -> Floats:
        """The values, above zero."""

    @property
    def utc(self) -> Floats:
        """Their times, Unix time (s)."""

    @property
    def scatter(self) -> Floats:
        """The standard error of each value; nan if unknown."""


class OtherCells(NamedTuple):
    """What the correction for many cells needs of cells that were examined before."""

    #: p of each of their changes of level; 1 for a cell without a change.
    p: Sequence[float]
    #: The autocorrelation that all cells of the machine allow for.
    dependence: float


class LevelChanges(NamedTuple):
    """The changes of several cells."""

    changes: list[Changes]
    #: p of each cell's changes of level before the correction; 1 if it has none.
    p: list[list[float]]
    #: The autocorrelation that a machine's cells allow for at least, by its name.
    dependence: dict[str, float]


def level_changes(series: Sequence[ValuesInTime], machines: Sequence[str]) -> list[Changes]:
    """Each cell's changes. Changes of level are corrected for the number of cells (Holm).

    Without the correction, 5% of the steady cells would have a step. All cells of a machine share
    its disturbances, so each cell allows for their mean autocorrelation. A cell's own estimate may
    be 0 by chance. ``machines``: the machine of each cell.
    """
    return changes_beside(series, machines, None).changes


def changes_beside(
    series: Sequence[ValuesInTime], machines: Sequence[str], beside: OtherCells | None
) -> LevelChanges:
    """As ``level_changes``; ``beside``: further cells of the one machine, examined before."""
    from assay.stats.core.multiple import corrected

    examined = in_parallel(_examined, series, least=worth_forking(series))
    prepared, found = [each for each, _ in examined], [each for _, each in examined]
    if beside is None:
        least = _shared_dependence([each.values.size for each in series], machines, found)
    else:
        least = dict.fromkeys(machines, beside.dependence)
    if any(least.values()):
        found = in_parallel(
            lambda place: (
                changes_of(prepared[place], least_dependence=least[machines[place]])
                if least[machines[place]]
                else found[place]
            ),
            range(len(found)),
            least=worth_forking(series),
        )
    p = [[change.p for change in of.changes if change.kind != "spread"] or [1.0] for of in found]
    raw = np.array([*(beside.p if beside else ()), *(each for of_cell in p for each in of_cell)])
    sure = raw[corrected(raw, "holm") <= LEVEL]
    level = float(sure.max(initial=0.0))
    found = [
        changes
        if max(p_of_cell) == 1.0 or max(p_of_cell) <= level
        else changes_of(own, level, least[machine])
        for machine, own, changes, p_of_cell in zip(machines, prepared, found, p, strict=True)
    ]
    return LevelChanges(found, p, least)


def worth_forking(series: Sequence[ValuesInTime]) -> int:
    """The number of such series for which another process is worth its start."""
    values = sum(each.values.size for each in series)
    return -(-_WORTH_A_PROCESS * len(series) // max(values, 1))


def _examined(series: ValuesInTime) -> tuple[ObservedSeries, Changes]:
    observed = series_of(series.values, series.utc, series.scatter)
    return observed, changes_of(observed)


def _shared_dependence(
    sizes: Sequence[int], machines: Sequence[str], found: Sequence[Changes]
) -> dict[str, float]:
    """The mean autocorrelation of each machine's cells, by its name; 0 unless it is evident."""
    least = {}
    for machine in dict.fromkeys(machines):
        pairs = [
            (changes.dependence_found, size)
            for size, of, changes in zip(sizes, machines, found, strict=True)
            if of == machine and size >= FIRST
        ]
        runs = sum(size for _, size in pairs)
        mean = sum(rho * size for rho, size in pairs) / max(runs, 1)
        evident = mean > _EVIDENT / np.sqrt(max(runs, 1))
        least[machine] = min(mean, MOST_DEPENDENCE) if evident else 0.0
    return least


def segment_difference(
    values: Floats, changes: Changes, before: SeriesSegment, after: SeriesSegment
) -> SegmentDifference:
    """The level of a later segment relative to an earlier one: logarithm of the ratio, its 95%
    interval, and p over all runs at which a segment could begin.

    The values determined both segments, so that the test covers all possible change points.
    """
    parts = (logs_around_level(values, before), logs_around_level(values, after))
    rho = changes.dependence_at_most
    of_modes = mode_share(*parts) is not None
    found = mean_shift(*parts, rho) if of_modes else shifted(*parts, rho=rho)
    between = [each.p for each in changes.changes if each.kind != "spread"]
    p = max(changed(np.concatenate(parts), rho), min(between, default=0.0))
    return SegmentDifference(found.size, found.interval, p)


def logs_around_level(values: Floats, segment: SeriesSegment) -> Floats:
    """The logarithms of a segment's results; detrended to the level at its end if it drifts."""
    logs = np.log(values[segment.start : segment.stop])
    if segment.drifting:
        line = np.polyfit(np.arange(logs.size), logs, 1)
        logs = logs - np.polyval(line, np.arange(logs.size)) + float(np.log(segment.level))
    return np.asarray(logs)
