"""The history of a machine's cells, judged again only where new runs can have changed it.

Judging all cells takes seconds for a machine with thousands of runs. So the results of the first
runs are judged together, up to a number of runs that grows in steps of 3 to 6% (``settled_runs``).
Later results of a cell are within its level, or the cell is judged again with them: if they are
together further from the level than chance explains. Further judgements of the same cell are at
least 1, 2, 4 and so on runs apart.

All of this follows only from the results, not from earlier builds. What an earlier build judged is
used if its key fits: the names and stamps of the runs, and the numbers of values.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from assay.arrays import Floats
from assay.report.site.model import Stamp
from assay.stats.changes.changes import newest_deviation
from assay.stats.changes.level_changes import worth_forking
from assay.stats.changes.parallel import in_parallel
from assay.stats.changes.scan import inflation
from assay.stats.core.one_thread import one_thread
from assay.subjects.history.findings import JudgedCells, judged_cells
from assay.subjects.history.model import CellHistory, HistoryPoints
from assay.subjects.history.series import HistorySeries, Machines

# Standard errors that new results may be off their level together; standard deviations at which a
# single one is clipped, so that one alone causes nothing; earlier results that count with them.
_FAR, _CLIP, _BEFORE = 3.75, 2.7, 8
# Results of the present level among which the newest ones are suspected.
_RECENT = 1000
# Ends whose spans are looked at together: a matrix of them by all values.
_AT_A_TIME = 64
_NO_POINTS = HistoryPoints([], [], [], [])


class JudgedCell(msgspec.Struct, frozen=True):
    """A cell, without its points, as judged by its first ``values`` results."""

    cell: CellHistory
    values: int
    #: What the judgement followed from, beside the first runs.
    key: str = ""


class SiteJudgement(msgspec.Struct, frozen=True):
    """What was judged of a machine, for the next build."""

    #: What the judgement of the first runs followed from.
    key: str
    first: list[JudgedCell]
    #: Fields of ``JudgedCells``.
    changes: list[list[float]]
    against: list[float]
    dependence: float
    #: Judgements of single cells with later results, by the cell's name.
    later: dict[str, list[JudgedCell]]


class PresentCells(NamedTuple):
    """The cells of a machine with all points, and what the next build needs."""

    cells: list[CellHistory]
    judgement: SiteJudgement
    #: Time of the newest result that was judged, Unix time (s), of the cell where it is oldest;
    #: whether no result is newer.
    until: float
    current: bool


class HistoryRun(NamedTuple):
    """A run in the history: its start, Unix time (s), and what changes with its content."""

    utc: float
    stamp: Stamp


def settled_runs(runs: int) -> int:
    """The number of first runs that are judged together: all of them, if they are few."""
    stride = 1 << max(runs.bit_length() - 5, 0)
    return runs - runs % stride


@one_thread
def present_cells(
    series: Sequence[HistorySeries],
    runs: Mapping[str, HistoryRun],
    machines: Machines,
    known: SiteJudgement | None,
) -> PresentCells:
    """The judged cells; ``known``: of the last build."""
    starts = sorted(run.utc for run in runs.values())
    settled = settled_runs(len(starts))
    cut = starts[settled] if settled < len(starts) else np.inf
    firsts = [int(np.searchsorted(each.utc, cut)) for each in series]
    key = _key(series, firsts, {name: run for name, run in runs.items() if run.utc < cut})
    if known is None or known.key != key:
        known = _judged_first(series, firsts, machines, key)
    judged = _judged_later(series, firsts, runs, machines, known)
    last = [judged[_name(each)][-1] for each in series]
    older = [
        float(each.utc[own.values - 1])
        for each, own in zip(series, last, strict=True)
        if own.values < each.values.size
    ]
    first = set(map(id, known.first))
    return PresentCells(
        cells=[_present(own, each) for own, each in zip(last, series, strict=True)],
        judgement=msgspec.structs.replace(
            known,
            later={
                name: [one for one in found if id(one) not in first]
                for name, found in judged.items()
                if id(found[-1]) not in first
            },
        ),
        until=min(older, default=max((float(each.utc[-1]) for each in series), default=0.0)),
        current=not older,
    )


def _name(series: HistorySeries) -> str:
    return f"{series.cell.id} {series.metric}"


def _key(
    series: Sequence[HistorySeries], counts: Sequence[int], runs: Mapping[str, HistoryRun]
) -> str:
    """A digest of the first values of each series, by their numbers and their runs."""
    whole = hashlib.sha256()
    for each, count in zip(series, counts, strict=True):
        if count:
            whole.update(f"{_name(each)}\0{count}\0".encode())
    for name, run in runs.items():
        whole.update(f"{name}\0{run.utc}\0{run.stamp}\0".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _judged_first(
    series: Sequence[HistorySeries], counts: Sequence[int], machines: Machines, key: str
) -> SiteJudgement:
    chosen = [(each, count) for each, count in zip(series, counts, strict=True) if count]
    found = judged_cells([each.first(count) for each, count in chosen], machines)
    (dependence,) = found.dependence.values() or (0.0,)
    return SiteJudgement(
        key=key,
        first=[
            JudgedCell(_without_points(cell), count)
            for cell, (_, count) in zip(found.cells, chosen, strict=True)
        ],
        changes=found.changes,
        against=found.against,
        dependence=dependence,
        later={},
    )


def _judged_later(
    series: Sequence[HistorySeries],
    firsts: Sequence[int],
    runs: Mapping[str, HistoryRun],
    machines: Machines,
    known: SiteJudgement,
) -> dict[str, list[JudgedCell]]:
    """The judgements of each cell, by its name: by the first runs, if it had results then, and by
    later ones.
    """
    places = {f"{own.cell.id} {own.cell.metric}": n for n, own in enumerate(known.first)}
    found: dict[str, list[JudgedCell]] = {
        name: [known.first[place]] for name, place in places.items()
    }
    begins = {_name(each): count for each, count in zip(series, firsts, strict=True)}
    open_cells = list(series)
    while open_cells:
        wanted = [
            (each, count, _later_key(each, begins[_name(each)], count, runs))
            for each in open_cells
            if (count := _next(each, found.get(_name(each), []))) is not None
        ]
        before = [_known(known, *one) for one in wanted]
        new = [one for one, own in zip(wanted, before, strict=True) if own is None]

        def judged(one: tuple[HistorySeries, int, str]) -> JudgedCell:
            each, count, key = one
            beside = _others(known, places.get(_name(each)), each.system)
            before = [own.cell for own in found.get(_name(each), [])[-1:]]
            (cell,) = judged_cells(
                [each.first(count)], machines, beside=beside, before=before
            ).cells
            return JudgedCell(_without_points(cell), count, key)

        least = worth_forking([each for each, _, _ in new]) if new else 1
        results = iter(in_parallel(judged, new, least=least))
        for (each, _, _), own in zip(wanted, before, strict=True):
            found.setdefault(_name(each), []).append(own or next(results))
        open_cells = [each for each, _, _ in wanted]
    return found


def _later_key(
    series: HistorySeries, begin: int, count: int, runs: Mapping[str, HistoryRun]
) -> str:
    """A digest of the values from ``begin`` to before ``count``, by their runs."""
    later = {name: runs[name] for name in series.runs[begin:count]}
    return _key([series], [count], later)


def _known(known: SiteJudgement, series: HistorySeries, count: int, key: str) -> JudgedCell | None:
    for own in known.later.get(_name(series), ()):
        if own.values == count and own.key == key:
            return own
    return None


def _others(known: SiteJudgement, without: int | None, system: str) -> JudgedCells:
    """The first judgement of the other cells."""
    others = [place for place in range(len(known.first)) if place != without]
    return JudgedCells(
        cells=[],
        changes=[known.changes[place] for place in others],
        against=[known.against[place] for place in others],
        dependence={system: known.dependence},
    )


def _next(series: HistorySeries, judged: Sequence[JudgedCell]) -> int | None:
    """The number of values with which the cell is judged next; None if the rest is within its
    level.
    """
    if not judged:
        return 1
    cell, at = judged[-1].cell, judged[-1].values
    # Judgements by later values are 1, 2, 4, … runs apart.
    earliest = at + (1 << (len(judged) - 1))
    if earliest > series.values.size:
        return None
    present = cell.stretches[-1]
    if not cell.deviation or present.drifting:
        return earliest
    before = min(_BEFORE, at - present.first)
    z = np.log(series.values[at - before :] / cell.level) / np.log1p(cell.deviation)
    off = _farthest(np.clip(z, -_CLIP, _CLIP), before, cell.dependence)
    late = np.flatnonzero(off[earliest - at - 1 :] > _FAR)
    return earliest + int(late[0]) if late.size else None


def _farthest(z: Floats, before: int, rho: float) -> Floats:
    """For each value after the first ``before``: how far the last values up to it are off together,
    in standard errors; the farthest over their number.
    """
    sums = np.concatenate([[0.0], np.cumsum(z)])
    lengths = np.arange(1, sums.size, dtype=np.float64)
    errors = np.sqrt(lengths * inflation(rho, lengths))
    # A row per end: 1 / error of the span from each value on, and zeros from the end on.
    whole = lengths.size
    rows = sliding_window_view(np.concatenate([1.0 / errors[::-1], np.zeros(whole)]), whole)
    found = np.zeros(whole - before)
    for first in range(before + 1, whole + 1, _AT_A_TIME):
        ends = np.arange(first, min(first + _AT_A_TIME, whole + 1))
        off = np.abs(sums[ends, None] - sums[:-1]) * rows[whole - ends]
        found[ends - before - 1] = off.max(axis=1)
    return found


def _present(judged: JudgedCell, series: HistorySeries) -> CellHistory:
    """The cell with all points; values since its judgement belong to its present level."""
    cell = judged.cell
    points = HistoryPoints(
        run=list(series.runs),
        utc=series.utc.tolist(),
        value=series.values.tolist(),
        measurements=series.counts.tolist(),
    )
    if judged.values == series.values.size:
        return dataclasses.replace(cell, points=points)
    present = dataclasses.replace(cell.stretches[-1], last=series.values.size - 1)
    begin = max(present.first, series.values.size - _RECENT)
    return dataclasses.replace(
        cell,
        points=points,
        stretches=[*cell.stretches[:-1], present],
        suspect=None if present.drifting else newest_deviation(series.values[begin:]),
    )


def _without_points(cell: CellHistory) -> CellHistory:
    return dataclasses.replace(cell, points=_NO_POINTS)
