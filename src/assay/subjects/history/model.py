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


@dataclass(frozen=True)
class HistoryEvent:
    """One change of a cell."""

    #: ``step``, ``drift``, ``spread`` (only the scatter changed) or ``modes`` (the shares of runs
    #: at two levels changed).
    kind: Literal["step", "drift", "spread", "modes"]
    #: The first run after the change, started at ``utc``.
    run: str
    #: Start of that run, Unix time (s).
    utc: float
    #: ``after_utc``, ``before_utc``: 95% interval of the date of the change, Unix time (s). For a
    #: drift, its start and end.
    after_utc: float
    before_utc: float
    #: The run after which the change was first detectable.
    found: str
    #: Relative change of the metric, or of its standard deviation for ``spread``, with its 95%
    #: interval ``size_ci95``.
    size: float
    #: 95% interval of ``size``.
    size_ci95: tuple[float, float]
    #: Whether the change is for the worse.
    worse: bool
    #: p-value of the change; see ``stats.changes.Change``.
    p: float
    #: The shares of runs, if ``kind`` is ``modes``; otherwise null.
    modes: ModeShare | None
    #: Differences between the snapshots of machine and toolchain before and after the change.
    differences: list[SystemDifference]
    #: A sentence on these differences.
    remark: str


@dataclass(frozen=True)
class HistorySegment:
    """Runs between changes of level."""

    #: ``first``, ``last``: indices of the first and last run in ``points``.
    first: int
    last: int
    #: Level in the metric's unit; see ``stats.changes.SeriesSegment``.
    level: float
    #: 95% interval of ``level``.
    ci95: tuple[float, float] | None
    #: Relative standard deviation of a run.
    deviation: float | None
    #: Whether the segment drifts. If so, ``level`` is the level at its end.
    drifting: bool


@dataclass(frozen=True)
class HistoryPoints:
    """A cell's results, one entry per run."""

    #: Names of the runs.
    run: list[str]
    #: Starts of the runs, Unix time (s).
    utc: list[float]
    #: Median of each run's measurements, in the metric's unit.
    value: list[float]
    #: Number of each run's measurements.
    measurements: list[int]


@dataclass(frozen=True)
class CellHistory:
    """One cell on one machine."""

    #: Name of the machine.
    system: str
    #: ``id``, ``cell``, ``label``: the cell's id, the cell, and its title.
    id: str
    cell: Cell
    label: str
    #: ``metric``, ``unit``, ``better``: the kernel's headline metric, its unit, and whether more or
    #: less is better.
    metric: str
    unit: str
    better: Literal["more", "less"]
    #: ``regression`` or ``improvement`` relative to the best earlier level, ``steady``,
    #: ``variable``: too variable to tell, or ``short``: too few runs to judge.
    state: State
    #: Level of the present segment, in ``unit``.
    level: float
    #: 95% interval of ``level``.
    level_ci95: tuple[float, float] | None
    #: Relative standard deviation of the present segment.
    deviation: float | None
    #: The level to which the present level is compared: of the runs from ``reference_first`` to
    #: ``reference_last``. Null if there is none.
    reference: float | None
    #: First run of the reference, as an index of ``points``.
    reference_first: int | None
    #: Last run of the reference, as an index of ``points``.
    reference_last: int | None
    #: Present level / reference - 1, with its 95% interval ``against_ci95``.
    against: float | None
    #: 95% interval of ``against``.
    against_ci95: tuple[float, float] | None
    #: p-value of this comparison, over all runs at which a segment could begin.
    p: float | None
    #: ``p``, corrected for all cells.
    p_corrected: float | None
    #: The newest runs, if they deviate but are too few to decide.
    suspect: SuspectedChange | None
    #: Names of single outlying runs.
    outliers: list[str]
    #: Autocorrelation of neighbouring runs.
    dependence: float
    #: The cell's changes.
    events: list[HistoryEvent]
    #: The segments between changes of level.
    stretches: list[HistorySegment]
    #: The cell's results.
    points: HistoryPoints = field(metadata=INTERNAL)
    #: For a cell that has neither regressed nor improved, the smallest relative change halfway
    #: through its runs that would be reported with 80% probability. Null if no change would be.
    detectable: float | None = None
    #: Contention by other processes during the runs of the present segment. ``contention_before``:
    #: the same for the reference. Null if streams don't record it.
    contention: Contention | None = None
    contention_before: Contention | None = None

    def worsening(self, share: float) -> float:
        """A relative change of the metric, with a positive sign if it is for the worse."""
        return -share if self.better == "more" else share


@dataclass(frozen=True)
class HistoryDay:
    """One day (UTC) with runs."""

    #: Date of the day.
    day: str
    #: Start of the day, Unix time (s).
    utc: float
    #: Median, over cells and runs, of the relative deviation from the cell's reference level, or
    #: from its present level if it has no reference. Positive is worse.
    deviation: float
    #: ``runs``, ``cells``: numbers of runs and cells.
    runs: int
    cells: int
    #: The largest of these deviations.
    worst: float
    #: Cell with the largest deviation, as text.
    worst_cell: str


@dataclass(frozen=True)
class History:
    """The history of all cells."""

    #: Version of this layout.
    schema: int
    #: Time of the evaluation, Unix time (s).
    utc: float
    #: Smallest relative change that counts as a regression or an improvement.
    least: float
    #: Number of runs.
    runs: int
    #: Names of the machines.
    systems: list[str]
    #: Number of runs left out, by reason.
    passed_over: dict[str, int]
    #: The verdict as a sentence.
    verdict: str
    #: Each cell on each machine.
    cells: list[CellHistory]
    #: Each day with runs.
    days: list[HistoryDay] = field(default_factory=list)
