"""Changes of a cell's level in time, which are not modes: the order of results shows them.

A machine that changed once has two levels, as two modes have. Steps that the history of the machine
has between the runs are read from it. Where it has too few runs, and within the present run, steps
are found among launches by the same method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from assay.arrays import Floats, Ints
from assay.stats.changes.changes import Change, Changes
from assay.stats.changes.courses import CellCourse
from assay.stats.changes.level_changes import level_changes
from assay.stats.changes.scan import FIRST
from assay.stats.compare.directions import LEVEL, Direction, compared
from assay.stats.repeats.repeats import Repeats
from assay.units import Interval

# Fewer runs of a cell show no change, and fewer launches of a run.
_FEWEST_RUNS, _FEWEST_LAUNCHES = FIRST + 2, 20
# Steps among launches are reported if they are e^3 times as likely as a drift over all launches: of
# drifts of four standard deviations, a fifth were reported as steps without this (60 launches).
_DECISIVE = 3.0


@dataclass(frozen=True)
class LevelChange:
    """A sudden change of the time of one operation."""

    #: First result after the change, Unix time (s).
    utc: float
    #: ``after_utc``, ``before_utc``: 95% interval of the time of the change, Unix time (s).
    after_utc: float
    before_utc: float
    #: Time after the change / time before it - 1, with its 95% interval ``size_ci95``.
    size: float
    #: 95% interval of ``size``.
    size_ci95: Interval
    #: Probability of a change of this size at any place, if nothing changed.
    p: float
    #: What shows it: ``runs`` (the history of the machine) or ``launches``.
    unit: Literal["runs", "launches"]
    #: Whether it takes ``more`` or ``less`` time; ``open`` if this is not distinguishable.
    direction: Direction


@dataclass(frozen=True)
class CellLevels:
    """The changes of a cell's level between its results, and the results at one level."""

    changes: tuple[LevelChange, ...]
    #: The times as they would be at the last level.
    levelled: Floats


@dataclass(frozen=True)
class _Series:
    """Times of a cell's launches, for ``level_changes``; ``offset``: index of the first launch."""

    values: Floats
    utc: Floats
    scatter: Floats
    offset: int


def levels_of(
    cells: Sequence[tuple[Repeats, Floats]], courses: Mapping[str, CellCourse], own: str
) -> list[CellLevels]:
    """The levels of each cell: its results in order of time, with the times of one operation.

    ``courses``: the cells in the history of the machine, by id. ``own``: the name of the present
    run.
    """
    known = [_known(courses.get(each.cell.id)) for each, _ in cells]
    series = [
        _series(each, times, own if course is not None else None)
        for (each, times), course in zip(cells, known, strict=True)
    ]
    examined = [each for each in series if each is not None]
    found = iter(level_changes(examined, [""] * len(examined)))
    levels = []
    for (each, times), course, of_launches in zip(cells, known, series, strict=True):
        placed = [] if course is None else _by_runs(course, each.utc)
        if of_launches is not None:
            placed += _by_launches(next(found), of_launches)
        levels.append(_levels(times, placed, len(cells)))
    return levels


def _known(course: CellCourse | None) -> CellCourse | None:
    """The course, if it has enough runs for a change."""
    enough = course is not None and len(course.of_runs.runs) >= _FEWEST_RUNS
    return course if enough else None


def _series(repeats: Repeats, times: Floats, own: str | None) -> _Series | None:
    """The launches that are examined: of all runs, or only of the present one (``own``)."""
    places = np.arange(times.size)
    if own is not None:
        places = np.flatnonzero(np.array([run == own for run in repeats.run]))
    few = places.size < _FEWEST_LAUNCHES
    if few or times.min() <= 0.0 or places[-1] - places[0] != places.size - 1:
        return None
    values, utc = times[places], repeats.utc[places]
    return _Series(values, utc, np.full(places.size, np.nan), int(places[0]))


@dataclass(frozen=True)
class _Placed:
    """A change before the result ``at``; ``values``: number of values that show it."""

    at: int
    values: int
    change: LevelChange


def _by_runs(course: CellCourse, utc: Floats) -> list[_Placed]:
    """The steps of the history that lie between results."""
    of_runs = course.of_runs.utc
    placed = []
    for change in course.changes.changes:
        at = int(np.searchsorted(utc, of_runs[change.at])) if change.kind == "step" else 0
        if 0 < at < utc.size:
            found = _change(change, of_runs, "runs")
            if course.better == "more":
                low, high = found.size_ci95
                found = replace(
                    found,
                    size=_inverse(found.size),
                    size_ci95=(_inverse(high), _inverse(low)),
                )
            placed.append(_Placed(at, of_runs.size, found))
    return placed


def _by_launches(changes: Changes, series: _Series) -> list[_Placed]:
    """The steps among launches; none if a drift over all launches explains them as well."""
    steps = [change for change in changes.changes if change.kind == "step"]
    if not steps or _likelier_than_drift(series, steps, changes.dependence) < _DECISIVE:
        return []
    return [
        _Placed(
            series.offset + change.at,
            series.values.size,
            _change(change, series.utc, "launches"),
        )
        for change in steps
    ]


def _likelier_than_drift(series: _Series, steps: Sequence[Change], dependence: float) -> float:
    """The logarithm of the likelihood of levels between these steps over that of a straight line.

    Each step beyond the first costs two parameters (Schwarz 1978).
    """
    logs = np.log(series.values)
    bounds = [0, *(step.at for step in steps), logs.size]
    levels = sum(float(np.var(logs[a:b])) * (b - a) for a, b in pairwise(bounds))
    design = np.column_stack([np.ones(logs.size), series.utc - series.utc[0]])
    line = logs - design @ np.linalg.lstsq(design, logs, rcond=None)[0]
    least = np.finfo(np.float64).tiny
    worth = logs.size * (1.0 - dependence) / (1.0 + dependence)
    ratio = max(float(line @ line), least) / max(levels, least)
    return 0.5 * worth * float(np.log(ratio)) - (len(steps) - 1) * float(np.log(worth))


def _change(change: Change, utc: Floats, unit: Literal["runs", "launches"]) -> LevelChange:
    return LevelChange(
        utc=float(utc[change.at]),
        after_utc=float(utc[max(change.earliest - 1, 0)]),
        before_utc=float(utc[min(change.latest, utc.size - 1)]),
        size=change.size,
        size_ci95=change.size_ci95,
        p=change.p,
        unit=unit,
        direction="open",
    )


def _inverse(size: float) -> float:
    """The relative change of a time, from that of its rate."""
    return 1.0 / (1.0 + size) - 1.0


def _levels(times: Floats, placed: Sequence[_Placed], comparisons: int) -> CellLevels:
    """The changes in order of time, and the times at the last level."""
    ordered = sorted(placed, key=lambda each: each.at)
    bounds: Ints = np.unique([0, *(each.at for each in ordered), times.size])
    levelled = times.copy()
    last = float(np.median(times[bounds[-2] :]))
    for low, high in pairwise(bounds[:-1].tolist()):
        levelled[low:high] *= last / float(np.median(times[low:high]))
    return CellLevels(tuple(_told(each, comparisons) for each in ordered), levelled)


def _told(placed: _Placed, comparisons: int) -> LevelChange:
    """The change with its direction; ``comparisons``: the number of cells.

    The interval of the size does not allow for the search of the place, but p does. For steps among
    launches, which are many, it must be small enough for an answer. Steps between runs are stated
    as the history states them.
    """
    low, high = placed.change.size_ci95
    found = compared(
        1.0 + placed.change.size,
        (1.0 + low, 1.0 + high),
        launches=placed.values,
        comparisons=comparisons,
    )
    change = placed.change
    doubtful = change.unit == "launches" and change.p * comparisons > LEVEL
    return replace(change, direction="open" if doubtful else found.direction)
