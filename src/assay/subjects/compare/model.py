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
    """A side of the comparison; the first is the reference of all others.

    ``name``: a letter, from A. ``run``: the run's name; of published figures as named on the
    command line. ``kind``: ``run``, ``imported`` or ``published``. ``toolchain``: the only one that
    was compared; null for all. ``nodes``: the only ones; null for all. ``system``, ``suite``,
    ``utc``: of the run, Unix time in s; of published figures the cluster, the paper and null.
    ``complete``: whether the run is. ``imported``: whether its numbers are other tools'.
    ``codes``: the programs that were timed, with their versions as far as stated. ``assay``: the
    version of assay that measured it; empty for other numbers. ``sessions``: number of sessions
    with results, 0 for a run without sessions. ``clock``: median clock rate of its processors in
    Hz; null if unknown. ``cells``: number of its cells with results;
    ``unshared``: those of them that the other side lacks (of the reference: that all others lack),
    as text. ``left_out``: launches that used nodes of this side and others, and belong to none.
    ``contention``: by other processes during the compared cell that had most of it; null if it was
    not recorded.
    """

    name: str
    run: str
    kind: Literal["run", "imported", "published"]
    toolchain: str | None
    nodes: list[str] | None
    system: str
    suite: str
    utc: float | None
    complete: bool
    imported: bool
    codes: list[str]
    assay: str
    sessions: int
    clock: float | None
    cells: int
    unshared: list[str]
    left_out: int
    contention: Contention | None


@dataclass(frozen=True)
class PerClock:
    """The factor of speed at equal clock rates.

    ``reference``, ``other``: the clock rates in Hz. ``speed``: the factor times the reference's
    clock rate over the other's, with ``speed_ci95``; the clock rates count as known exactly.
    """

    reference: float
    other: float
    speed: float
    speed_ci95: Interval | None


@dataclass(frozen=True)
class ComparedCell:
    """One cell on the reference and on another side, by its headline metric.

    ``side``: the other side's letter. ``cell``: on the reference; ``name``: as text. ``metric``,
    ``unit``, ``better``: of the metric. ``unit_of_test``: what counts as one value: ``launches``;
    ``sessions`` (their medians), where both runs have at least three; or ``nodes``, where both
    sides are nodes of a run and at least three. ``reference``, ``other``: the medians of these
    values, with ``reference_ci95`` and ``other_ci95``; ``reference_units`` and ``other_units``:
    their numbers; ``reference_launches`` and ``other_launches``: the numbers of launches.
    ``reference_code``, ``other_code``: what was timed; empty if it is not stated. ``note``: how a
    published value is stated. ``speed``: the factor by which the other side is faster (of times the
    reference's over the other's), with ``speed_ci95``; null where values are not positive or
    launches too few; a single number counts as known exactly there. ``code_factor``: the factor of
    the other side's code over the reference's on one machine, by which ``speed`` was divided, with
    ``code_factor_ci95``; null where none is known or needed. ``code_factor_of``: what was measured,
    as a clause; empty without it. ``effect``: the probability that a
    value of the other side is the faster one (0.5: alike). ``per_clock``: the speed at equal clock
    rates (``--scale-clock``); null if it was not asked for or a rate is unknown. ``test``, ``why``:
    the test of a difference and why it was chosen, empty where there are too few launches for any;
    ``p`` and ``p_corrected``: of no difference, the latter by Holm for all cells of all sides; of
    two runs the greater of p by launches and by runs. ``p_launches``: by the launches alone,
    corrected in the same way.
    ``verdict``: ``faster``, ``slower``, ``same`` (the interval lies within the margin), ``open`` or
    ``none`` (another code, so that there is no verdict on machines). ``holds_for``: what the
    verdict is on: ``runs``, ``machines`` (by the scatter between sessions or other runs) or
    ``nodes`` (by that between nodes). ``separate``: whether the sides are different runs that are
    compared by their launches; ``other_runs``: the number of other runs of the machines that tell
    how much runs of one differ, 0 where runs are assumed to differ as much as launches.
    ``in_runs``: of an open cell of two runs, ``faster`` or ``slower`` by the launches alone: in
    these two runs, if runs of a machine did not differ; null if neither. ``disturbed``: whether
    other processes disturbed a side, so that a difference is not one of the machine;
    ``reference_busy``, ``other_busy``: CPUs that they kept busy, null if not recorded.
    ``if_exact``: of an open cell with a code factor and a single number on one
    side, ``faster`` or ``slower`` if that number has no error: by ``speed_ci95``, after Holm's
    correction for all such cells; null if the interval permits neither. ``more``: further values
    per side with which an open verdict would probably be decided; null if they are not known or
    more than a thousand. ``runs``: of two runs instead, the number of runs or sessions per side;
    null if more than a hundred.
    """

    side: str
    cell: Cell
    name: str
    metric: str
    unit: str
    better: Literal["more", "less"]
    unit_of_test: CompareUnit
    reference: float
    reference_ci95: Interval | None
    reference_units: int
    reference_launches: int
    reference_code: str
    other: float
    other_ci95: Interval | None
    other_units: int
    other_launches: int
    other_code: str
    note: str
    speed: float | None
    speed_ci95: Interval | None
    code_factor: float | None
    code_factor_ci95: Interval | None
    code_factor_of: str
    effect: float
    per_clock: PerClock | None
    test: str
    why: str
    p: float | None
    p_corrected: float | None
    verdict: CompareVerdict
    holds_for: Literal["runs", "machines", "nodes"]
    separate: bool
    other_runs: int
    in_runs: Literal["faster", "slower"] | None
    disturbed: bool
    reference_busy: float | None
    other_busy: float | None
    p_launches: float | None
    if_exact: Literal["faster", "slower"] | None
    more: int | None
    runs: int | None


@dataclass(frozen=True)
class CellContribution:
    """What a cell contributes to a geometric mean.

    ``cell``: on the reference; ``name``: as text. ``factor``: the cell's ratio of medians to the
    power of 1 / number of cells: the factors multiply to the mean. ``share``: of the mean's
    logarithm; the shares add up to 1 and are negative where a cell changes the mean the other way.
    Null where the cells cancel each other.
    """

    cell: Cell
    name: str
    factor: float
    share: float | None


@dataclass(frozen=True)
class MeanSpeed:
    """The geometric mean of the speeds of several cells of the same code on both sides.

    ``side``: its letter. ``what``: the family of kernels, or "all cells". ``cells``: their number.
    ``speed``: the mean, with ``speed_ci95``, which allows for what the cells of a launch have in
    common; null where launches are too few. ``contributions``: of each cell, the greatest first.
    """

    side: str
    what: str
    cells: int
    speed: float | None
    speed_ci95: Interval | None
    contributions: list[CellContribution]


@dataclass(frozen=True)
class CompareFindings:
    """Findings of comparing runs.

    ``runs``: the sides. ``margin``: within which cells are the same. ``cells``: every shared cell
    of each side, the greatest change first. ``means``: geometric means. ``across_toolchains``:
    whether cells were matched without regard to their toolchains, because no toolchain is common.
    ``codes``: whether cells were measured by different programs, which have no verdict unless the
    factor between them is known. ``worth``: effective number of independent launches per launch, as
    estimated from all cells; 1 without evidence of dependence. ``scaled_clock``: whether speeds at
    equal clock rates were asked for.
    """

    runs: list[ComparedRun]
    margin: float
    cells: list[ComparedCell]
    means: list[MeanSpeed]
    across_toolchains: bool
    codes: bool
    worth: float
    scaled_clock: bool
