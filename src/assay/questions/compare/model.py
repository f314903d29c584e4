"""Findings of comparing runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.model.cell import Cell
from assay.stats.core.intervals import Interval

CompareVerdict = Literal["faster", "slower", "same", "open"]


@dataclass(frozen=True)
class ComparedRun:
    """A side of the comparison; the first is the reference of all others.

    ``name``: a letter, from A. ``run``: the run's name. ``toolchain``: the only one that was
    compared; null for all. ``system``, ``suite``, ``utc``: of the run, Unix time in s.
    ``complete``: whether the run is. ``imported``: whether its numbers are other tools'.
    ``cells``: number of its cells with results; ``unshared``: those of them that the other side
    lacks (of the reference: that all others lack), as text.
    """

    name: str
    run: str
    toolchain: str | None
    system: str
    suite: str
    utc: float
    complete: bool
    imported: bool
    cells: int
    unshared: list[str]


@dataclass(frozen=True)
class ComparedCell:
    """One cell on the reference and on another side, by its headline metric.

    ``side``: the other side's letter. ``cell``: on the reference; ``name``: as text. ``metric``,
    ``unit``, ``better``: of the metric. ``reference``, ``other``: the medians of launches, with
    ``reference_ci95`` and ``other_ci95``, and their numbers ``reference_launches`` and
    ``other_launches``. ``speed``: the factor by which the other side is faster (of times the
    reference's over the other's), with ``speed_ci95``; null where values are not positive or
    launches too few. ``test``, ``why``: the test of a difference and why it was chosen, empty
    where there are too few launches for any; ``p`` and ``p_corrected``: of no difference, the
    latter by Holm for all cells of all sides. ``verdict``: ``faster``, ``slower``, ``same`` (the
    interval lies within the margin) or ``open``. ``more``: further launches per side with which an
    open verdict would probably be decided; null if they are not known or more than a thousand.
    """

    side: str
    cell: Cell
    name: str
    metric: str
    unit: str
    better: Literal["more", "less"]
    reference: float
    reference_ci95: Interval | None
    reference_launches: int
    other: float
    other_ci95: Interval | None
    other_launches: int
    speed: float | None
    speed_ci95: Interval | None
    test: str
    why: str
    p: float | None
    p_corrected: float | None
    verdict: CompareVerdict
    more: int | None


@dataclass(frozen=True)
class MeanSpeed:
    """The geometric mean of the speeds of several cells.

    ``side``: its letter. ``what``: the family of kernels, or "all cells". ``cells``: their number.
    ``speed``: the mean, with ``speed_ci95``, which allows for what the cells of a launch have in
    common; null where launches are too few.
    """

    side: str
    what: str
    cells: int
    speed: float | None
    speed_ci95: Interval | None


@dataclass(frozen=True)
class CompareFindings:
    """Findings of comparing runs.

    ``runs``: the sides. ``margin``: within which cells are the same. ``cells``: every shared cell
    of each side, the greatest change first. ``means``: geometric means. ``across_toolchains``:
    whether cells were matched without regard to their toolchains, because no toolchain is common.
    ``codes``: whether sides were measured by different programs, so that the verdicts are on
    machine and program together.
    """

    runs: list[ComparedRun]
    margin: float
    cells: list[ComparedCell]
    means: list[MeanSpeed]
    across_toolchains: bool
    codes: bool
