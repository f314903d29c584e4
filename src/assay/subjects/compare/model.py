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
    """A side of the comparison; the first is the reference of all others."""

    #: A letter, from A.
    name: str
    #: The run's name; of published figures as named on the command line.
    run: str
    #: ``run``, ``imported`` or ``published``.
    kind: Literal["run", "imported", "published"]
    #: The only one that was compared; null for all.
    toolchain: str | None
    #: The only ones; null for all.
    nodes: list[str] | None
    #: ``system``, ``suite``, ``utc``: of the run, Unix time in s; of published figures the cluster,
    #: the paper and null.
    system: str
    suite: str
    utc: float | None
    #: Whether the run is.
    complete: bool
    #: Whether its numbers are other tools'.
    imported: bool
    #: The programs that were timed, with their versions as far as stated.
    codes: list[str]
    #: The version of assay that measured it; empty for other numbers.
    assay: str
    #: Number of sessions with results, 0 for a run without sessions.
    sessions: int
    #: Median clock rate of its processors in Hz; null if unknown.
    clock: float | None
    #: Number of its cells with results.
    cells: int
    #: Those of them that the other side lacks (of the reference: that all others lack), as text.
    unshared: list[str]
    #: Launches that used nodes of this side and others, and belong to none.
    left_out: int
    #: By other processes during the compared cell that had most of it; null if it was not recorded.
    contention: Contention | None


@dataclass(frozen=True)
class PerClock:
    """The factor of speed at equal clock rates."""

    #: ``reference``, ``other``: the clock rates in Hz.
    reference: float
    other: float
    #: The factor times the reference's clock rate over the other's, with ``speed_ci95``; the clock
    #: rates count as known exactly.
    speed: float
    #: 95% interval of ``speed``.
    speed_ci95: Interval | None


@dataclass(frozen=True)
class ComparedCell:
    """One cell on the reference and on another side, by its headline metric."""

    #: The other side's letter.
    side: str
    #: On the reference.
    cell: Cell
    #: As text.
    name: str
    #: ``metric``, ``unit``, ``better``: of the metric.
    metric: str
    unit: str
    better: Literal["more", "less"]
    #: What counts as one value: ``launches``; ``sessions`` (their medians), where both runs have at
    #: least three; or ``nodes``, where both sides are nodes of a run and at least three.
    unit_of_test: CompareUnit
    #: ``reference``, ``other``: the medians of these values, with ``reference_ci95`` and
    #: ``other_ci95``.
    reference: float
    #: 95% interval of the reference's value.
    reference_ci95: Interval | None
    #: ``reference_units``, ``other_units``: their numbers.
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
    #: How a published value is stated.
    note: str
    #: The factor by which the other side is faster (of times the reference's over the other's),
    #: with ``speed_ci95``; null where values are not positive or launches too few; a single number
    #: counts as known exactly there.
    speed: float | None
    #: 95% interval of the speed.
    speed_ci95: Interval | None
    #: The factor of the other side's code over the reference's on one machine, by which ``speed``
    #: was divided, with ``code_factor_ci95``; null where none is known or needed.
    code_factor: float | None
    #: 95% interval of the code factor.
    code_factor_ci95: Interval | None
    #: What was measured, as a clause; empty without it.
    code_factor_of: str
    #: The probability that a value of the other side is the faster one (0.5: alike).
    effect: float
    #: The speed at equal clock rates (``--scale-clock``); null if it was not asked for or a rate is
    #: unknown.
    per_clock: PerClock | None
    #: ``test``, ``why``: the test of a difference and why it was chosen, empty where there are too
    #: few launches for any.
    test: str
    why: str
    #: ``p``, ``p_corrected``: of no difference, the latter by Holm for all cells of all sides; of
    #: two runs the greater of p by launches and by runs.
    p: float | None
    p_corrected: float | None
    #: ``faster``, ``slower``, ``same`` (the interval lies within the margin), ``open`` or ``none``
    #: (another code, so that there is no verdict on machines).
    verdict: CompareVerdict
    #: What the verdict is on: ``runs``, ``machines`` (by the scatter between sessions or other
    #: runs) or ``nodes`` (by that between nodes).
    holds_for: Literal["runs", "machines", "nodes"]
    #: Whether the sides are different runs that are compared by their launches.
    separate: bool
    #: The number of other runs of the machines that tell how much runs of one differ, 0 where runs
    #: are assumed to differ as much as launches.
    other_runs: int
    #: Of an open cell of two runs, ``faster`` or ``slower`` by the launches alone: in these two
    #: runs, if runs of a machine did not differ; null if neither.
    in_runs: Literal["faster", "slower"] | None
    #: Whether other processes disturbed a side, so that a difference is not one of the machine.
    disturbed: bool
    #: ``reference_busy``, ``other_busy``: CPUs that they kept busy, null if not recorded.
    reference_busy: float | None
    other_busy: float | None
    #: By the launches alone, corrected in the same way.
    p_launches: float | None
    #: Of an open cell with a code factor and a single number on one side, ``faster`` or ``slower``
    #: if that number has no error: by ``speed_ci95``, after Holm's correction for all such cells;
    #: null if the interval permits neither.
    if_exact: Literal["faster", "slower"] | None
    #: Further values per side with which an open verdict would probably be decided; null if they
    #: are not known or more than a thousand.
    more: int | None
    #: Of two runs instead, the number of runs or sessions per side; null if more than a hundred.
    runs: int | None


@dataclass(frozen=True)
class CellContribution:
    """What a cell contributes to a geometric mean."""

    #: On the reference.
    cell: Cell
    #: As text.
    name: str
    #: The cell's ratio of medians to the power of 1 / number of cells: the factors multiply to the
    #: mean.
    factor: float
    #: Of the mean's logarithm; the shares add up to 1 and are negative where a cell changes the
    #: mean the other way. Null where the cells cancel each other.
    share: float | None


@dataclass(frozen=True)
class MeanSpeed:
    """The geometric mean of the speeds of several cells of the same code on both sides."""

    #: Its letter.
    side: str
    #: The family of kernels, or "all cells".
    what: str
    #: Their number.
    cells: int
    #: The mean, with ``speed_ci95``, which allows for what the cells of a launch have in common;
    #: null where launches are too few.
    speed: float | None
    #: 95% interval of ``speed``.
    speed_ci95: Interval | None
    #: Of each cell, the greatest first.
    contributions: list[CellContribution]


@dataclass(frozen=True)
class CompareFindings:
    """Findings of comparing runs."""

    #: The sides.
    runs: list[ComparedRun]
    #: Within which cells are the same.
    margin: float
    #: Every shared cell of each side, the greatest change first.
    cells: list[ComparedCell]
    #: Geometric means.
    means: list[MeanSpeed]
    #: Whether cells were matched without regard to their toolchains, because no toolchain is
    #: common.
    across_toolchains: bool
    #: Whether cells were measured by different programs, which have no verdict unless the factor
    #: between them is known.
    codes: bool
    #: Effective number of independent launches per launch, as estimated from all cells; 1 without
    #: evidence of dependence.
    worth: float
    #: Whether speeds at equal clock rates were asked for.
    scaled_clock: bool
