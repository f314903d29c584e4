"""Types of a history: each cell's results over months, its changes, and its present state.

These are the findings of ``assay history`` and what its ``--json`` prints;
docs/formats/history.md has each field.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from assay.model.cell import Cell
from assay.questions.common.findings import INTERNAL
from assay.stats.cells.contention import Contention
from assay.stats.changes.changes import SuspectedChange
from assay.stats.changes.mode_share import ModeShare
from assay.subjects.history.snapshots import SystemDifference

HISTORY_SCHEMA = 1
State = Literal["regression", "improvement", "steady", "variable", "short"]
# Expected share of false positives among the cells reported as regressed or improved.
FALSE_DISCOVERIES = 0.01


@dataclass(frozen=True)
class HistoryEvent:
    """One change of a cell."""

    #: ``step``, ``drift``, ``spread`` (of scatter only) or ``modes`` (of the shares of runs at two
    #: levels).
    kind: Literal["step", "drift", "spread", "modes"]
    #: The first run after the change, begun at ``utc`` (s).
    run: str
    #: When that run began, Unix time in s.
    utc: float
    #: ``after_utc``, ``before_utc``: (s) the 95% interval of its date; for a drift its start and
    #: end.
    after_utc: float
    before_utc: float
    #: The run after which it was first detectable.
    found: str
    #: Relative change of the metric, or of its standard deviation for ``spread``, with its 95%
    #: interval ``size_ci95``.
    size: float
    #: 95% interval of ``size``.
    size_ci95: tuple[float, float]
    #: Whether the change is for the worse.
    worse: bool
    #: See ``stats.changes.Change``.
    p: float
    #: The shares, for ``modes``; else null.
    modes: ModeShare | None
    #: Of the snapshots of machine and toolchain before and after it.
    differences: list[SystemDifference]
    #: A sentence on them.
    remark: str


@dataclass(frozen=True)
class HistorySegment:
    """Runs between changes of level.

    ``level`` with its 95% interval ``ci95``: in the metric's unit, see
    ``stats.changes.SeriesSegment``.
    """

    #: ``first``, ``last``: indices of points.
    first: int
    last: int
    #: In the metric's unit; see ``stats.changes.SeriesSegment``.
    level: float
    #: 95% interval.
    ci95: tuple[float, float] | None
    #: Relative standard deviation of a run.
    deviation: float | None
    #: Whether the segment drifts; then the level is that at its end.
    drifting: bool


@dataclass(frozen=True)
class HistoryPoints:
    """A cell's results, one entry per run."""

    #: Its name.
    run: list[str]
    #: s.
    utc: list[float]
    #: The median of its measurements, in the metric's unit.
    value: list[float]
    #: Their number.
    measurements: list[int]


@dataclass(frozen=True)
class CellHistory:
    """One cell on one machine."""

    #: The machine's name.
    system: str
    #: ``id``, ``cell``, ``label``: the cell's id, the cell, and its title.
    id: str
    cell: Cell
    label: str
    #: ``metric``, ``unit``, ``better``: the kernel's headline metric.
    metric: str
    unit: str
    better: Literal["more", "less"]
    #: ``regression`` or ``improvement`` relative to the best earlier level, ``steady``,
    #: ``variable``: too variable to tell, or ``short``: too few runs to judge.
    state: State
    #: Of the present segment, in ``unit``.
    level: float
    #: 95% interval of ``level``.
    level_ci95: tuple[float, float] | None
    #: Relative standard deviation of the present segment.
    deviation: float | None
    #: The level that the present one is compared with, of the runs from ``reference_first`` to
    #: ``reference_last`` (indices of points); null if there is none.
    reference: float | None
    #: The first run of the reference: an index of ``points``.
    reference_first: int | None
    #: The last run of the reference: an index of ``points``.
    reference_last: int | None
    #: The present level over the reference, minus 1, with its 95% interval ``against_ci95``.
    against: float | None
    #: 95% interval of ``against``.
    against_ci95: tuple[float, float] | None
    #: Of that comparison, over all runs at which a segment might begin.
    p: float | None
    #: The same corrected for all cells.
    p_corrected: float | None
    #: The newest runs, if they deviate but are too few to decide.
    suspect: SuspectedChange | None
    #: Names of single outlying runs.
    outliers: list[str]
    #: Autocorrelation of neighbouring runs.
    dependence: float
    #: Its changes.
    events: list[HistoryEvent]
    #: The segments between changes of level.
    stretches: list[HistorySegment]
    #: Its results.
    points: HistoryPoints = field(metadata=INTERNAL)
    #: Of a cell that has neither regressed nor improved, the smallest relative change halfway
    #: through its runs that would be reported with 80% probability; null if no change would.
    #: ``level``, ``level_ci95`` (in the unit), ``deviation`` (relative): of the present segment.
    detectable: float | None = None
    #: Other processes during the runs of the present segment, ``contention_before``: during those
    #: of the reference; null where streams don't record it.
    contention: Contention | None = None
    contention_before: Contention | None = None

    def worsening(self, share: float) -> float:
        """A relative change of the metric with the sign that is positive for the worse."""
        return -share if self.better == "more" else share


@dataclass(frozen=True)
class HistoryDay:
    """One day (UTC) with runs."""

    #: Its date.
    day: str
    #: Its start (s).
    utc: float
    #: The median, over cells and runs, of a run's relative deviation from its cell's reference
    #: level, or from the present level without a reference; positive is worse.
    deviation: float
    #: ``runs``, ``cells``: their numbers.
    runs: int
    cells: int
    #: The greatest of these deviations.
    worst: float
    #: Its cell, as text.
    worst_cell: str


@dataclass(frozen=True)
class History:
    """The history of all cells."""

    #: Version of this layout.
    schema: int
    #: s, time of the evaluation.
    utc: float
    #: Smallest relative change that is a regression or an improvement.
    least: float
    #: Number of runs.
    runs: int
    #: The machines' names.
    systems: list[str]
    #: Number of runs left out, by reason.
    passed_over: dict[str, int]
    #: A sentence.
    verdict: str
    #: Each cell on each machine.
    cells: list[CellHistory]
    #: Each day with runs.
    days: list[HistoryDay] = field(default_factory=list)
