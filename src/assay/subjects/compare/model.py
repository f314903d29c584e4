"""Findings of comparing runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.model.cell import Cell
from assay.stats.cells.contention import Contention
from assay.stats.compare.verdicts import PairVerdict as CompareVerdict
from assay.units import Interval

CompareUnit = Literal["launches", "sessions", "nodes"]


@dataclass(frozen=True)
class ComparedRun:
    """A side of the comparison. The first side is the reference of all others."""

    #: The side's letter, starting with A.
    name: str
    #: Name of the run, or of the published figures as given on the command line.
    run: str
    #: ``run``, ``imported`` or ``published``.
    kind: Literal["run", "imported", "published"]
    #: The only toolchain that was compared; null for all.
    toolchain: str | None
    #: The only nodes that were compared; null for all.
    nodes: list[str] | None
    #: ``system``, ``suite``, ``utc``: system, suite and start (Unix time, s) of the run. For
    #: published figures, these are the cluster, the paper and null.
    system: str
    suite: str
    utc: float | None
    #: Whether the run is complete.
    complete: bool
    #: Whether its numbers come from other tools.
    imported: bool
    #: The programs that were timed, with their versions if stated.
    codes: list[str]
    #: The version of assay that measured the run; empty for other numbers.
    assay: str
    #: Number of sessions with results; 0 for a run without sessions.
    sessions: int
    #: Median clock rate of its processors in Hz; null if unknown.
    clock: float | None
    #: Number of its cells with results.
    cells: int
    #: Names of its cells that the other side lacks. For the reference: cells that all other sides
    #: lack.
    unshared: list[str]
    #: Number of launches that used nodes of this side and other nodes, and are excluded.
    left_out: int
    #: Contention by other processes in the most disturbed cell; null if it was not recorded.
    contention: Contention | None


@dataclass(frozen=True)
class PerClock:
    """The factor of speed at equal clock rates."""

    #: ``reference``, ``other``: the clock rates in Hz.
    reference: float
    other: float
    #: The speed factor × the reference's clock rate / the other side's clock rate, with
    #: ``speed_ci95``. The clock rates are treated as exact.
    speed: float
    #: 95% interval of ``speed``.
    speed_ci95: Interval | None


@dataclass(frozen=True)
class ComparedStep:
    """A change of a cell's level between two runs, found in the history of their machine."""

    #: Speed after the change relative to before it, by the other side's run relative to the
    #: reference: from the levels of all runs around both, with ``speed_ci95``.
    speed: float
    #: 95% interval of ``speed``.
    speed_ci95: Interval
    #: p of no change, over all runs at which it could lie, corrected for all cells.
    p: float
    #: Number of runs around both.
    runs: int


@dataclass(frozen=True)
class ComparedCell:
    """One cell on the reference and on another side, by its headline metric."""

    #: The other side's letter.
    side: str
    #: The cell on the reference.
    cell: Cell
    #: The cell's name as text.
    name: str
    #: ``metric``, ``unit``, ``better``: the metric, its unit, and whether more or less is better.
    metric: str
    unit: str
    better: Literal["more", "less"]
    #: What counts as one value: ``launches``; ``sessions`` (their medians), where both runs have at
    #: least three; or ``nodes``, where both sides are nodes of a run and at least three.
    unit_of_test: CompareUnit
    #: ``reference``, ``other``: medians of these values, with ``reference_ci95`` and
    #: ``other_ci95``.
    reference: float
    #: 95% interval of the reference's value.
    reference_ci95: Interval | None
    #: ``reference_units``, ``other_units``: the numbers of these values.
    reference_units: int
    #: ``reference_launches``, ``other_launches``: the numbers of launches.
    reference_launches: int
    #: ``reference_code``, ``other_code``: what was timed; empty if it is not stated.
    reference_code: str
    other: float
    #: 95% interval of the other side's value.
    other_ci95: Interval | None
    other_units: int
    other_launches: int
    other_code: str
    #: How the published value is stated.
    note: str
    #: Speed of the other side relative to the reference (for times, the inverse ratio), with
    #: ``speed_ci95``. Null if values are not positive or launches are too few. A single number is
    #: treated as exact.
    speed: float | None
    #: 95% interval of the speed.
    speed_ci95: Interval | None
    #: Speed of the other side's code relative to the reference's code on one machine, with
    #: ``code_factor_ci95``. ``speed`` was divided by this factor. Null if no factor is known or
    #: needed.
    code_factor: float | None
    #: 95% interval of the code factor.
    code_factor_ci95: Interval | None
    #: How the code factor was measured, as a clause; empty if there is none.
    code_factor_of: str
    #: Probability that a value of the other side is faster than one of the reference (0.5: no
    #: difference).
    effect: float
    #: The speed at equal clock rates (``--scale-clock``); null if it was not requested or a rate is
    #: unknown.
    per_clock: PerClock | None
    #: ``test``, ``why``: the test of the difference and the reason for its choice. Empty if there
    #: are too few launches for a test.
    test: str
    why: str
    #: ``p``, ``p_corrected``: the p-value of no difference, and its Holm correction for all cells
    #: of all sides. For two runs, the larger of the p-values by launches and by runs.
    p: float | None
    p_corrected: float | None
    #: ``faster``, ``slower``, ``same`` (the interval lies within the margin), ``open`` or ``none``
    #: (different codes, so there is no verdict on machines).
    verdict: CompareVerdict
    #: What the verdict applies to: ``runs``, ``machines`` (judged by the scatter between sessions
    #: or other runs, or by a change in the history) or ``nodes`` (judged by the scatter between
    #: nodes).
    holds_for: Literal["runs", "machines", "nodes"]
    #: Whether the sides are different runs and are compared by their launches.
    separate: bool
    #: Number of other runs of the machines from which the scatter between runs was estimated. 0 if
    #: runs are assumed to differ as much as launches.
    other_runs: int
    #: For an open cell of two runs, the verdict if only the launches are considered, as if runs of
    #: one machine did not differ: ``faster`` or ``slower``. Null if neither.
    in_runs: Literal["faster", "slower"] | None
    #: Whether other processes disturbed a side, so that a difference may not be due to the machine.
    disturbed: bool
    #: ``reference_busy``, ``other_busy``: number of CPUs that other processes kept busy; null if
    #: not recorded.
    reference_busy: float | None
    other_busy: float | None
    #: The p-value if only the launches are considered, corrected in the same way.
    p_launches: float | None
    #: For an open cell with a code factor and a single number on one side, the verdict if this
    #: number is exact: ``faster`` or ``slower``, from ``speed_ci95`` after Holm's correction for
    #: all such cells. Null if neither.
    if_exact: Literal["faster", "slower"] | None
    #: Number of further values per side that would probably decide an open verdict. Null if unknown
    #: or above 1,000.
    more: int | None
    #: For two runs, the number of runs or sessions per side instead. Null if above 100.
    runs: int | None
    #: For two runs, the change of this cell's level between them in the history of their machine.
    #: Null if there is none in the direction of their difference.
    step: ComparedStep | None = None

    @property
    def of_two_runs(self) -> bool:
        """Whether the verdict holds for two runs only, because fewer than four others are known."""
        return self.separate and self.holds_for == "runs"

    @property
    def by_launches_only(self) -> bool:
        """Whether ``in_runs`` falls short of a verdict even on the two runs."""
        return self.of_two_runs and not self.disturbed


@dataclass(frozen=True)
class CellContribution:
    """What a cell contributes to a geometric mean."""

    #: The cell on the reference.
    cell: Cell
    #: The cell's name as text.
    name: str
    #: The cell's ratio of medians to the power of 1 / number of cells. The product of all factors
    #: is the mean.
    factor: float
    #: Share of the mean's logarithm. Shares add up to 1; a negative share changes the mean in the
    #: opposite direction. Null if the cells cancel each other.
    share: float | None


@dataclass(frozen=True)
class MeanSpeed:
    """The geometric mean of the speeds of several cells of the same code on both sides."""

    #: The other side's letter.
    side: str
    #: The kernel family, or "all cells".
    what: str
    #: Number of these cells.
    cells: int
    #: The mean speed, with ``speed_ci95``. The interval allows for correlation between the cells of
    #: a launch. Null if launches are too few.
    speed: float | None
    #: 95% interval of ``speed``.
    speed_ci95: Interval | None
    #: Contribution of each cell, the largest first.
    contributions: list[CellContribution]


@dataclass(frozen=True)
class ComparedVariation:
    """Whether the launches of a side vary more than the reference's, over their shared cells."""

    #: The other side's letter.
    side: str
    #: Number of cells with at least six launches per side.
    cells: int
    #: Geometric mean over the cells of the other side's coefficient of variation over the
    #: reference's.
    ratio: float
    #: 95% interval of ``ratio``.
    ratio_ci95: Interval
    #: p of no difference, by permutations of launches.
    p: float
    #: ``more`` or ``less``: the other side varies more or less than the reference. ``open``: no
    #: difference at a level of 1 in 1,000 for all sides together.
    verdict: Literal["more", "less", "open"]


@dataclass(frozen=True)
class CompareFindings:
    """Findings of comparing runs."""

    #: The compared sides.
    runs: list[ComparedRun]
    #: Relative difference within which cells count as the same.
    margin: float
    #: Every shared cell of each side, the largest change first.
    cells: list[ComparedCell]
    #: Geometric means of the speeds.
    means: list[MeanSpeed]
    #: The sides' variation relative to the reference's; none for sides without such cells.
    variation: list[ComparedVariation]
    #: Whether cells were matched regardless of toolchain, because the runs have none in common.
    across_toolchains: bool
    #: Whether some cells were measured by different programs. These have no verdict unless the
    #: factor between the programs is known.
    codes: bool
    #: Effective number of independent launches per launch, estimated from all cells. 1 if there is
    #: no evidence of dependence.
    worth: float
    #: Whether speeds at equal clock rates were requested.
    scaled_clock: bool
