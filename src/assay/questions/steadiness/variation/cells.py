"""How the results of one cell are distributed, and what is claimed of the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from assay.model.cell import Cell
from assay.questions.common.findings import INTERNAL
from assay.stats.core.intervals import Floats

if TYPE_CHECKING:
    from assay.stats.core.modes import Mode
    from assay.stats.repeats.repeats import Repeats
    from assay.stats.repeats.spread import Spread
    from assay.stats.repeats.variance_components import VarianceComponents

# Probability that a long tail, or a drift, is claimed of any cell of a run without one.
ALPHA = 0.01
# Greatest p of the dip test that counts: the least of its table, with room for rounding.
MODES_P = 0.001
_EPSILON = 1e-9
# Up to this coefficient of variation a cell is called steady: what the well-kept systems of
# Kramer & Ryan (2003) reach in most codes (tables 1 and 2).
STEADY_COV = 0.02
# And only if the upper end of the coefficient's 95% interval is at most this.
STEADY_UPPER = 0.05
# Levels of slowness, relative to the median, that are looked for; the greatest that enough runs
# exceed is reported.
_SLOWNESS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
_MIN_SLOW_SHARE, _MIN_SLOW_RUNS = 0.01, 2
# Measurements of a cell from which the sources of its variance are estimated; more add nothing.
_COMPONENT_MEASUREMENTS = 1000


@dataclass(frozen=True)
class DistributionShape:
    """What is claimed of a cell's distribution, with all cells of the run taken into account.

    ``modes``: two or more, or none; ``long_tail``: more slow runs far out than a normal
    distribution has; ``drifts``: a trend in time.
    """

    modes: tuple[Mode, ...] = ()
    long_tail: bool = False
    drifts: bool = False

    def __bool__(self) -> bool:
        return bool(self.modes) or self.long_tail or self.drifts


@dataclass(frozen=True)
class SlowRuns:
    """How slow the slow runs of a cell are.

    ``over``: the greatest of ten levels of slowness (0.1: 10% slower than the median) that at least
    two runs and 1% of all exceed; None where there is no such level. ``share``: of the runs that
    exceed it; 0 without a level. ``slowest``: by which share of the median the slowest run is
    slower.
    """

    over: float | None
    share: float
    slowest: float


@dataclass(frozen=True)
class CellVariation:
    """One cell that was measured often enough.

    ``cell``: its id. ``label``: what distinguishes it from the other cells of the run. ``unit``:
    of its times, "s", or "" where an operation's work is unknown and times are relative to their
    median. ``spread``: location, dispersion, tails and trend of its times. ``shape``: what is
    claimed of their distribution. ``slow``: how slow its slow runs are. ``components``: where its
    variance arises.

    Internal: ``repeats``, its results; ``times``, one operation each, one per measurement, in order
    of time.
    """

    cell: Cell
    label: str
    unit: str
    spread: Spread
    shape: DistributionShape
    slow: SlowRuns
    components: VarianceComponents
    repeats: Repeats = field(metadata=INTERNAL)
    times: Floats = field(metadata=INTERNAL)

    @cached_property
    def slower(self) -> Floats:
        """By which share of the median each run is slower; negative is faster."""
        return _slowness(self.times)

    @property
    def steady(self) -> bool:
        """Whether the coefficient of variation is small, and its interval excludes a large one."""
        upper = self.spread.cov_ci95[1] if self.spread.cov_ci95 else 0.0
        return (self.spread.cov or 0.0) <= STEADY_COV and upper <= STEADY_UPPER


def notable(varied: Sequence[CellVariation], most: int) -> list[CellVariation]:
    """At most so many cells: those with a shape of their own first, then by decreasing CoV."""
    return sorted(varied, key=lambda each: (not each.shape, -(each.spread.cov or 0.0)))[:most]


def shapes_of(times: Sequence[Floats], spreads: Sequence[Spread]) -> list[DistributionShape]:
    """What is claimed of each cell; each kind of claim is false in at most 1% of clean runs.

    Tails and trends: Holm's correction over all cells, at ``ALPHA`` each. Modes: the dip test at
    the end of its table, which a uniform distribution reaches once in a thousand cells and normal
    ones far more rarely; a correction would leave no power with eleven cells or more.
    """
    from assay.stats.core.modes import dip, dip_p
    from assay.stats.core.multiple import corrected
    from assay.stats.core.tails import long_tail_p

    tails = corrected([long_tail_p(each.tail.right, each.n) for each in spreads])
    trends = corrected([each.trend.p if each.trend else 1.0 for each in spreads])
    return [
        DistributionShape(
            modes=tuple(each.modes)
            if len(each.modes) > 1 and dip_p(dip(values), each.n) <= MODES_P + _EPSILON
            else (),
            long_tail=bool(tail <= ALPHA) and each.tail.right > each.tail.left,
            drifts=bool(drift <= ALPHA),
        )
        for values, each, tail, drift in zip(times, spreads, tails, trends, strict=True)
    ]


def slow_runs_of(times: Floats) -> SlowRuns:
    """How slow the slow runs of these times are."""
    slower = _slowness(times)
    slowest = float(slower.max())
    for over in _SLOWNESS:
        count = int((slower > over).sum())
        if count >= max(_MIN_SLOW_RUNS, _MIN_SLOW_SHARE * slower.size):
            return SlowRuns(over, count / slower.size, slowest)
    return SlowRuns(None, 0.0, slowest)


def components_of(repeats: Repeats) -> VarianceComponents:
    """Where the variance of a cell arises, from at most a thousand evenly spaced measurements."""
    from assay.stats.repeats.spread import variance_components

    if len(repeats) > _COMPONENT_MEASUREMENTS:
        step = -(-len(repeats) // _COMPONENT_MEASUREMENTS)
        repeats = repeats.take(range(0, len(repeats), step))
    return variance_components(repeats)


def _slowness(times: Floats) -> Floats:
    return np.asarray(times / np.median(times) - 1.0)
