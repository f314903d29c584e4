"""Types of a history: each cell's results over months, its changes, and its present state.

These are the findings of ``assay history`` and what its ``--json`` prints;
docs/formats/history.md has each field.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from assay.model.cell import Cell
from assay.stats.cells.contention import Contention
from assay.stats.changes.changes import SuspectedChange
from assay.stats.changes.mode_share import ModeShare
from assay.subjects.history.snapshots import SystemDifference

HISTORY_SCHEMA = 1
State = Literal["regression", "improvement", "steady", "variable", "short"]
# Expected share of false positives among the cells reported as regressed or improved.
FALSE_DISCOVERIES = 0.01


class HistoryEvent(msgspec.Struct, frozen=True):
    """One change of a cell.

    ``kind``: ``step``, ``drift``, ``spread`` (of scatter only) or ``modes`` (of the shares of runs
    at two levels). ``run``: the first run after the change, begun at ``utc`` (s). ``after_utc`` and
    ``before_utc`` (s): the 95% interval of its date; for a drift its start and end. ``found``: the
    run after which it was first detectable. ``size``: relative change of the metric, or of its
    standard deviation for ``spread``, with its 95% interval ``size_ci95``. ``worse``: whether the
    change is for the worse. ``p``: see ``stats.changes.Change``. ``modes``: the shares, for
    ``modes``; else null. ``differences``: of the snapshots of machine and toolchain before and
    after it; ``remark``: a sentence on them.
    """

    kind: Literal["step", "drift", "spread", "modes"]
    run: str
    utc: float
    after_utc: float
    before_utc: float
    found: str
    size: float
    size_ci95: tuple[float, float]
    worse: bool
    p: float
    modes: ModeShare | None
    differences: list[SystemDifference]
    remark: str


class HistorySegment(msgspec.Struct, frozen=True):
    """Runs between changes of level. ``first`` and ``last``: indices of points.

    ``level`` with its 95% interval ``ci95``: in the metric's unit, see
    ``stats.changes.SeriesSegment``. ``deviation``: relative standard deviation of a run.
    ``drifting``: whether the segment drifts; then the level is that at its end.
    """

    first: int
    last: int
    level: float
    ci95: tuple[float, float] | None
    deviation: float | None
    drifting: bool


class HistoryPoints(msgspec.Struct, frozen=True):
    """A cell's results, one entry per run.

    ``run``: its name. ``utc``: s. ``value``: the median of its measurements, in the metric's unit.
    ``measurements``: their number.
    """

    run: list[str]
    utc: list[float]
    value: list[float]
    measurements: list[int]


class CellHistory(msgspec.Struct, frozen=True):
    """One cell on one machine.

    ``system``: the machine's name. ``id``, ``cell``, ``label``: the cell's id, the cell, and its
    title. ``metric``, ``unit``, ``better``: the kernel's headline metric. ``state``: ``regression``
    or ``improvement`` relative to the best earlier level, ``steady``, ``variable``: too variable to
    tell, or ``short``: too few runs to judge. ``detectable``: of a cell that has neither regressed
    nor improved, the smallest relative change halfway through its runs that would be reported with
    80% probability; null if no change would. ``level``, ``level_ci95`` (in the unit), ``deviation``
    (relative): of the present segment. ``reference``: the level that the present one is compared
    with, of the runs from ``reference_first`` to ``reference_last`` (indices of points); null if
    there is none.
    ``against``: the present level over the reference, minus 1, with its 95% interval
    ``against_ci95``. ``p``: of that comparison, over all runs at which a segment might begin;
    ``p_corrected``: the same corrected for all cells. ``suspect``: the newest runs, if they deviate
    but are too few to decide. ``outliers``: names of single outlying runs. ``dependence``:
    autocorrelation of neighbouring runs. ``events``: its changes. ``stretches``: the segments
    between changes of level. ``points``: its results. ``contention``: other processes during the
    runs of the present segment, ``contention_before``: during those of the reference; null where
    streams don't record it.
    """

    INTERNAL_FIELDS: ClassVar[tuple[str, ...]] = ("points",)

    system: str
    id: str
    cell: Cell
    label: str
    metric: str
    unit: str
    better: Literal["more", "less"]
    state: State
    level: float
    level_ci95: tuple[float, float] | None
    deviation: float | None
    reference: float | None
    reference_first: int | None
    reference_last: int | None
    against: float | None
    against_ci95: tuple[float, float] | None
    p: float | None
    p_corrected: float | None
    suspect: SuspectedChange | None
    outliers: list[str]
    dependence: float
    events: list[HistoryEvent]
    stretches: list[HistorySegment]
    points: HistoryPoints
    detectable: float | None = None
    contention: Contention | None = None
    contention_before: Contention | None = None

    def worsening(self, share: float) -> float:
        """A relative change of the metric with the sign that is positive for the worse."""
        return -share if self.better == "more" else share


class HistoryDay(msgspec.Struct, frozen=True):
    """One day (UTC) with runs. ``day``: its date; ``utc``: its start (s).

    ``deviation``: the median, over cells and runs, of a run's relative deviation from its cell's
    reference level, or from the present level without a reference; positive is worse. ``runs``,
    ``cells``: their numbers. ``worst``: the greatest of these deviations; ``worst_cell``: its
    cell, as text.
    """

    day: str
    utc: float
    deviation: float
    runs: int
    cells: int
    worst: float
    worst_cell: str


class History(msgspec.Struct, frozen=True):
    """The history of all cells.

    ``schema``: version of this layout. ``utc``: s, time of the evaluation. ``least``: smallest
    relative change that is a regression or an improvement. ``runs``: number of runs. ``systems``:
    the machines' names. ``passed_over``: number of runs left out, by reason. ``verdict``: a
    sentence. ``cells``: each cell on each machine. ``days``: each day with runs.
    """

    schema: int
    utc: float
    least: float
    runs: int
    systems: list[str]
    passed_over: dict[str, int]
    verdict: str
    cells: list[CellHistory]
    days: list[HistoryDay] = []
