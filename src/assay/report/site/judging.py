"""Whether a machine's history has to be judged again, or its last judgement still holds.

Judging all cells takes seconds for a machine with thousands of runs. A new run whose results are
within the present levels extends them. The history is judged again if

- a cell appeared or disappeared, or a run is older than those that were judged,
- the newest runs of a cell are together further from its level than ``_FAR`` standard errors,
- or the number of runs has grown by ``_GROWTH``, so that what can be detected has changed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import msgspec
import numpy as np

from assay.records.directory import RunDirectory
from assay.records.store import SkippedRuns
from assay.stats.core.one_thread import one_thread
from assay.subjects.history.findings import history_of
from assay.subjects.history.model import CellHistory, History, HistoryPoints
from assay.subjects.history.series import HistorySeries, Machines

_FAR = 4.0
_GROWTH = 0.05
_NO_POINTS = HistoryPoints([], [], [], [])


class JudgedHistory(msgspec.Struct, frozen=True):
    """A history without its points, and the number of values of each cell at that time."""

    history: History
    values: list[int]
    #: Time of the newest value, Unix time (s).
    until: float


@one_thread
def judged(
    series: Sequence[HistorySeries], runs: Sequence[RunDirectory], skipped: SkippedRuns
) -> JudgedHistory:
    """The history of all cells of a machine."""
    history = history_of(series, Machines(runs), skipped)
    cells = [dataclasses.replace(cell, points=_NO_POINTS) for cell in history.cells]
    return JudgedHistory(
        history=dataclasses.replace(history, cells=cells, days=[]),
        values=[each.values.size for each in series],
        until=max((float(each.utc[-1]) for each in series), default=0.0),
    )


def still_holds(judgement: JudgedHistory, series: Sequence[HistorySeries]) -> bool:
    """Whether the judgement holds for these series, which may have further runs at their ends."""
    cells = judgement.history.cells
    if [(cell.id, cell.metric) for cell in cells] != [(s.cell.id, s.metric) for s in series]:
        return False
    return all(
        _extends(cell, before, each, judgement.until)
        for cell, before, each in zip(cells, judgement.values, series, strict=True)
    )


def _extends(cell: CellHistory, before: int, series: HistorySeries, until: float) -> bool:
    newest = series.values[before:]
    if series.values.size < before or newest.size > _GROWTH * before:
        return False
    if not newest.size:
        return True
    if series.utc[before] <= until or not cell.deviation:
        return False
    # The newest one, the newest two and so on: a change may lie anywhere among the new runs.
    off = np.cumsum(np.log(newest[::-1] / cell.level))
    errors = np.abs(off) / (math.log1p(cell.deviation) * np.sqrt(np.arange(1, newest.size + 1)))
    return bool(errors.max() <= _FAR)


def present(
    judgement: JudgedHistory, series: Sequence[HistorySeries], skipped: SkippedRuns
) -> History:
    """The judged history with all points; runs since then belong to the present levels."""
    current = all(
        each.values.size == before for each, before in zip(series, judgement.values, strict=True)
    )
    cells = [
        _with_points(cell, each, current=current)
        for cell, each in zip(judgement.history.cells, series, strict=True)
    ]
    return dataclasses.replace(
        judgement.history,
        cells=cells,
        runs=len({name for each in series for name in each.runs}),
        passed_over=msgspec.structs.asdict(skipped),
    )


def _with_points(cell: CellHistory, series: HistorySeries, *, current: bool) -> CellHistory:
    last = len(series.runs) - 1
    points = HistoryPoints(
        run=list(series.runs),
        utc=series.utc.tolist(),
        value=series.values.tolist(),
        measurements=series.counts.tolist(),
    )
    stretches = [*cell.stretches[:-1], dataclasses.replace(cell.stretches[-1], last=last)]
    # What is suspected of the newest runs holds only for the runs that were judged.
    suspect = cell.suspect if current else None
    return dataclasses.replace(cell, points=points, stretches=stretches, suspect=suspect)
