"""Findings over months of runs: changes with date, size, and what changed on the machine."""

from __future__ import annotations

import dataclasses
import datetime
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from assay.errors import AssayError
from assay.records.store import RunFilter, Store
from assay.stats.cells.contention import Contention
from assay.stats.changes.changes import LEVEL, Change, Changes, SeriesSegment
from assay.stats.changes.detectable import detectable_step, halves
from assay.stats.changes.level_changes import (
    OtherCells,
    changes_beside,
    logs_around_level,
    segment_difference,
    worth_forking,
)
from assay.stats.changes.parallel import in_parallel
from assay.stats.changes.scan import FIRST
from assay.stats.compare.run_scatter import FALSE_DISCOVERIES
from assay.stats.core.one_thread import one_thread
from assay.subjects.history.model import (
    HISTORY_SCHEMA,
    CellHistory,
    History,
    HistoryDay,
    HistoryEvent,
    HistoryPoints,
    HistorySegment,
    State,
)
from assay.subjects.history.query import HistoryQuery
from assay.subjects.history.series import HistorySeries, Machines, read_series
from assay.subjects.history.snapshots import differences
from assay.subjects.history.words import remark_on, verdict_of

if TYPE_CHECKING:
    from assay.records.store import SkippedRuns

LEAST = 0.01
# A cell is steady only if changes of this size (or of ``least`` if it is larger) would be reported.
_TELLING = 0.05
# Minimum number of runs of a segment to which the present segment is compared.
_MIN_REFERENCE = 5
# Number of runs before and after a change whose snapshots are compared.
_SNAPSHOTS = 8
_DAY = 86400.0


@one_thread
def find(root: Path, query: HistoryQuery) -> History:
    """The history of the cells of a query, from the runs under ``root``.

    Runs whose tables can't be read are counted and left out. Raises AssayError if ``root`` is not a
    folder.
    """
    if not root.is_dir():
        raise AssayError("There is no folder of runs.", where=str(root), fix="Name it with --runs.")
    store, series = _read(Store(root), query.choice)
    return history_of(
        [each for each in series if _has(each, query.words)],
        Machines(store.directories()),
        store.passed_over(),
        least=query.least,
    )


def _read(store: Store, choice: RunFilter) -> tuple[Store, list[HistorySeries]]:
    """The store and its series, without runs that can't be read."""
    import polars as pl

    try:
        return store, read_series(store, choice)
    except (OSError, pl.exceptions.PolarsError):
        bad = store.unreadable()
        if not bad:
            raise
        rest = Store(store.root, without=bad)
        return rest, read_series(rest, choice)


def _has(series: HistorySeries, words: Sequence[str]) -> bool:
    text = f"{series.system} {series.label}".lower()
    return all(word.lower() in text for word in words)


def history_of(
    series: Sequence[HistorySeries],
    machines: Machines,
    passed_over: SkippedRuns,
    *,
    least: float = LEAST,
) -> History:
    """The history of these cells; ``least``: the smallest relevant relative change."""
    cells = judged_cells(series, machines, least=least).cells
    return history_with(series, cells, passed_over, least=least, days=days_of(cells))


def history_with(
    series: Sequence[HistorySeries],
    cells: Sequence[CellHistory],
    passed_over: SkippedRuns,
    *,
    least: float = LEAST,
    days: Sequence[HistoryDay] = (),
) -> History:
    """The history of cells that were judged."""
    return History(
        schema=HISTORY_SCHEMA,
        utc=time.time(),
        least=least,
        runs=len(set().union(*(each.runs for each in series))),
        systems=list(dict.fromkeys(each.system for each in series)),
        passed_over=msgspec.structs.asdict(passed_over),
        verdict=verdict_of(cells),
        cells=list(cells),
        days=list(days),
    )


class JudgedCells(NamedTuple):
    """Cells, and what the judgement of further cells of the machine needs of them."""

    cells: list[CellHistory]
    #: p of each cell's changes of level, and of its present level against the reference.
    changes: list[list[float]]
    against: list[float]
    #: The autocorrelation that all cells allow for at least, by the machine's name.
    dependence: dict[str, float]


def judged_cells(
    series: Sequence[HistorySeries],
    machines: Machines,
    *,
    least: float = LEAST,
    beside: JudgedCells | None = None,
    before: Sequence[CellHistory] = (),
) -> JudgedCells:
    """Each cell's history.

    ``beside``: further cells of the same machine, for which all corrections allow. ``before``: the
    same cells judged with fewer runs. What is detectable in a cell is taken from there if its
    segments are the same.
    """
    from assay.stats.core.multiple import corrected

    others = None if beside is None else _other_cells(beside)
    examined = changes_beside(series, [each.system for each in series], others)
    found = list(zip(series, examined.changes, strict=True))
    comparisons = [_against(each, changes) for each, changes in found]
    own = [1.0 if one is None else one.p for one in comparisons]
    raw = [*(beside.against if beside else ()), *own]
    adjusted = corrected(raw, "bh")
    # The p-value at which one more cell would be reported, by both corrections.
    reported = int(np.count_nonzero(adjusted <= FALSE_DISCOVERIES))
    level = min(FALSE_DISCOVERIES * (reported + 1), LEVEL) / max(len(raw), 1)
    judged = list(zip(found, comparisons, adjusted[len(raw) - len(own) :], strict=True))

    def detectable(place: int) -> float | None:
        (each, changes), one, p = judged[place]
        if _state(each, one, float(p), least) != "steady":
            return None
        known = _known_detectable(before[place], changes) if before else None
        return _detectable(each, changes, least, level) if known is None else known

    smallest = in_parallel(detectable, range(len(judged)), least=worth_forking(series))
    cells = [
        _cell(
            series=each,
            changes=changes,
            comparison=one,
            p_corrected=float(p),
            machines=machines,
            least=least,
            detectable=step,
        )
        for ((each, changes), one, p), step in zip(judged, smallest, strict=True)
    ]
    return JudgedCells(cells, examined.p, own, examined.dependence)


def _known_detectable(before: CellHistory, changes: Changes) -> float | None:
    """The smallest change that was detectable, if the cell has the same segments since then."""
    same = [each.start for each in changes.segments] == [each.first for each in before.stretches]
    if not same or before.state not in ("steady", "variable"):
        return None
    return float("inf") if before.detectable is None else before.detectable


def _other_cells(beside: JudgedCells) -> OtherCells:
    (dependence,) = beside.dependence.values() or (0.0,)
    return OtherCells([p for of_cell in beside.changes for p in of_cell], dependence)


def days_of(cells: Sequence[CellHistory]) -> list[HistoryDay]:
    """Each day with runs, and the deviation of its results from the reference levels."""
    by_day: dict[int, list[tuple[float, str, str]]] = {}
    for cell in cells:
        points, reference = cell.points, cell.reference or cell.level
        for utc, run, value in zip(points.utc, points.run, points.value, strict=True):
            off = cell.worsening(value / reference - 1.0)
            by_day.setdefault(int(utc // _DAY), []).append((off, cell.label, run))
    days = []
    for day in sorted(by_day):
        results = by_day[day]
        worst, worst_cell, _ = max(results)
        days.append(
            HistoryDay(
                day=datetime.datetime.fromtimestamp(day * _DAY, datetime.UTC).date().isoformat(),
                utc=day * _DAY,
                deviation=statistics.median(off for off, _, _ in results),
                runs=len({run for _, _, run in results}),
                cells=len({label for _, label, _ in results}),
                worst=worst,
                worst_cell=worst_cell,
            )
        )
    return days


@dataclass(frozen=True)
class _Comparison:
    """The present segment compared with a reference: logarithm of the ratio, interval, p."""

    reference: SeriesSegment
    size: float
    interval: tuple[float, float]
    p: float

    @property
    def change(self) -> float:
        """The relative change."""
        return float(np.expm1(self.size))


def _against(series: HistorySeries, changes: Changes) -> _Comparison | None:
    """The present segment compared with the best earlier one; None if there is none."""
    *earlier, present = changes.segments
    known = [each for each in earlier if each.runs >= _MIN_REFERENCE]
    if not known and present.drifting and present.runs >= _MIN_REFERENCE:
        return _over_drift(changes, present)
    if not known:
        return None
    sign = 1.0 if series.better == "more" else -1.0
    best = max(known, key=lambda each: sign * each.level)
    difference = segment_difference(series.values, changes, best, present)
    return _Comparison(best, difference.size, difference.interval, difference.p)


def _over_drift(changes: Changes, present: SeriesSegment) -> _Comparison:
    """If all runs drift: the end compared with the start."""
    drift = next(each for each in reversed(changes.changes) if each.kind == "drift")
    low, high = (float(np.log1p(end)) for end in drift.size_ci95)
    start = dataclasses.replace(present, level=present.level / (1.0 + drift.size))
    return _Comparison(start, float(np.log1p(drift.size)), (low, high), drift.p)


def _cell(
    series: HistorySeries,
    changes: Changes,
    comparison: _Comparison | None,
    p_corrected: float,
    machines: Machines,
    least: float,
    detectable: float | None,
) -> CellHistory:
    """``least``: the smallest change that is reported. ``detectable``: of a steady cell, the
    smallest change that would be detected.
    """
    present = changes.segments[-1]
    against = None if comparison is None else comparison.change
    interval = (
        None
        if comparison is None
        else (float(np.expm1(comparison.interval[0])), float(np.expm1(comparison.interval[1])))
    )
    state = _state(series, comparison, p_corrected, least)
    if state == "steady":
        if detectable is None:
            state = "short"
        elif detectable > max(least, _TELLING):
            state = "variable"
    return CellHistory(
        system=series.system,
        id=series.cell.id,
        cell=series.cell,
        label=series.label,
        metric=series.metric,
        unit=series.unit,
        better=series.better,
        state=state,
        level=present.level,
        level_ci95=present.level_ci95,
        deviation=present.deviation,
        reference=None if comparison is None else comparison.reference.level,
        reference_first=None if comparison is None else comparison.reference.start,
        reference_last=None if comparison is None else comparison.reference.stop - 1,
        against=against,
        against_ci95=interval,
        p=None if comparison is None else comparison.p,
        p_corrected=None if comparison is None else p_corrected,
        suspect=changes.suspect,
        outliers=[series.runs[place] for place in changes.outliers],
        dependence=changes.dependence,
        events=[_event(series, change, machines) for change in changes.changes],
        stretches=[
            HistorySegment(
                first=s.start,
                last=s.stop - 1,
                level=s.level,
                ci95=s.level_ci95,
                deviation=s.deviation,
                drifting=s.drifting,
            )
            for s in changes.segments
        ],
        points=HistoryPoints(
            run=list(series.runs),
            utc=series.utc.tolist(),
            value=series.values.tolist(),
            measurements=series.counts.tolist(),
        ),
        detectable=None if detectable == float("inf") else detectable,
        contention=_contention(series, present),
        contention_before=None if comparison is None else _contention(series, comparison.reference),
    )


def _contention(series: HistorySeries, segment: SeriesSegment) -> Contention | None:
    others = series.others
    return None if others is None else others.within(segment.start, segment.stop)


def _detectable(
    series: HistorySeries, changes: Changes, least: float, level: float
) -> float | None:
    """The smallest change halfway through the runs that would be detected."""
    around = [logs_around_level(series.values, segment) for segment in changes.segments]
    residuals = np.concatenate([logs - np.median(logs) for logs in around])
    before, after = halves(residuals.size)
    step = detectable_step(residuals, before, after, rho=changes.dependence_at_most, level=level)
    return None if step is None else max(step, least)


def _state(series: HistorySeries, comparison: _Comparison | None, p: float, least: float) -> State:
    if comparison is None:
        return "short" if series.values.size < FIRST else "steady"
    against = comparison.change
    worse = -against if series.better == "more" else against
    if p > FALSE_DISCOVERIES or abs(against) < least:
        return "steady"
    if worse > 0:
        return "regression"
    return "improvement"


def _event(series: HistorySeries, change: Change, machines: Machines) -> HistoryEvent:
    last = len(series.runs) - 1
    at = min(change.at, last)
    if change.kind == "drift":
        early, late = change.earliest, min(change.latest, last)
        after_utc, before_utc = series.utc[early], series.utc[late]
        before, between, after = early, range(early + 1, late), late
    else:
        early, late = change.earliest, min(change.latest, last)
        after_utc, before_utc = series.utc[max(early - 1, 0)], series.utc[late]
        before, between, after = early - 1, range(early, late), late
    found = differences(
        machines.snapshots(series, range(max(before - _SNAPSHOTS + 1, 0), before + 1)),
        machines.snapshots(series, between[:_SNAPSHOTS]),
        machines.snapshots(series, range(after, min(after + _SNAPSHOTS, last + 1))),
    )
    more = change.size > 0
    return HistoryEvent(
        kind=change.kind,
        run=series.runs[at],
        utc=float(series.utc[at]),
        after_utc=float(after_utc),
        before_utc=float(before_utc),
        found=series.runs[min(change.found, last)],
        size=change.size,
        size_ci95=change.size_ci95,
        worse=more if change.kind == "spread" or series.better == "less" else not more,
        p=change.p,
        modes=change.modes,
        differences=found,
        remark=remark_on(found, change.kind),
    )
