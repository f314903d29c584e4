"""What a history is: every cell's results over months, its changes, and how it stands at present.

These are the findings of ``assay history`` and what its ``--json`` prints;
docs/formats/history.md has each field.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from assay.model.cell import Cell
from assay.questions.history.snapshots import SystemDifference
from assay.stats.changes.changes import SuspectedChange
from assay.stats.changes.mode_share import ModeShare

HISTORY_SCHEMA = 1
State = Literal["regression", "improvement", "steady", "short"]


class HistoryEvent(msgspec.Struct, frozen=True):
    """One change of a cell.

    ``kind``: ``step``, ``drift``, ``spread`` (of scatter alone) or ``modes`` (of the share of runs
    at each of two levels, which ``modes`` has; else null). ``run``: the first after the change,
    begun at ``utc`` (s). ``after_utc`` and ``before_utc`` (s): the 95% interval of its date; of a
    drift its beginning and its end. ``found``: the run after which it was first detectable.
    ``size``: relative change of the metric, of scatter of its deviation, with its 95% interval
    ``size_ci95``. ``worse``: whether it is one to the worse. ``p``: see ``stats.changes.Change``.
    ``differences``: in what the snapshots of machine and toolchain before and after it differ;
    ``remark``: a sentence on them.
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
    ``stats.changes.SeriesSegment``. ``deviation``: relative, of a run. ``drifting``: the level is
    that of the segment's end.
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
    ``measurements``: how many there are.
    """

    run: list[str]
    utc: list[float]
    value: list[float]
    measurements: list[int]


class CellHistory(msgspec.Struct, frozen=True):
    """One cell on one machine.

    ``system``: the machine's name. ``id``, ``cell``, ``label``: the cell, its content, and in
    words. ``metric``, ``unit``, ``better``: the kernel's headline metric. ``state``: ``regression``
    or ``improvement`` against the best earlier level; ``short``: too few runs to judge. ``level``,
    ``level_ci95`` (in the unit), ``deviation`` (relative): of the present segment. ``reference``:
    the level that the present one is compared with, of the runs from ``reference_first`` to
    ``reference_last`` (indices of points); null where there is only one segment. ``against``: the
    present level over it, less 1, with its 95% interval ``against_ci95``. ``p``: of that
    comparison, times the number of runs at which a segment might begin; ``p_corrected``: the same
    corrected for all cells. ``suspect``: the newest runs, where they deviate but are too few to
    decide. ``outliers``: names of single outlying runs. ``dependence``: autocorrelation of
    neighbouring runs. ``events``: its changes. ``stretches``: the segments between changes of
    level. ``points``: its results.
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

    def worsening(self, share: float) -> float:
        """A relative change of the metric as one to the worse, which is positive."""
        return -share if self.better == "more" else share


class HistoryDay(msgspec.Struct, frozen=True):
    """One day (UTC) with runs. ``day``: its date; ``utc``: its beginning (s).

    ``deviation``: the median over cells and runs of how much worse a run was than its cell's
    reference level, or than the present level where there is no reference; relative, negative is
    better. ``runs``, ``cells``: how many. ``worst``: the greatest of these deviations, of the cell
    ``worst_cell`` (in words).
    """

    day: str
    utc: float
    deviation: float
    runs: int
    cells: int
    worst: float
    worst_cell: str


class History(msgspec.Struct, frozen=True):
    """All cells, and of which runs they are.

    ``schema``: of this layout. ``utc``: s, when it was computed. ``least``: relative changes
    smaller than that are no regression and no improvement. ``runs``: how many there are.
    ``systems``: the machines' names. ``passed_over``: how many runs were left out, by reason.
    ``verdict``: a sentence. ``cells``: each cell on each machine. ``days``: each day with runs.
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
