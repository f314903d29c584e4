"""Distribution of a cell's results, and its significant properties: level changes, modes, tail,
drift.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from assay.arrays import Floats
from assay.model.cell import Cell
from assay.questions.common.findings import INTERNAL
from assay.questions.steadiness.variation.level_changes import CellLevels, LevelChange

if TYPE_CHECKING:
    from assay.stats.core.modes import Mode
    from assay.stats.repeats.repeats import Repeats
    from assay.stats.repeats.spread import Spread
    from assay.stats.repeats.variance_components import VarianceComponents

# Family-wise error rate at which a long tail, or a drift, is reported over all cells of a run.
ALPHA = 0.01
# Several modes are reported up to this p of the dip test, the smallest p in its table; _EPSILON
# allows for rounding.
MODES_P = 0.001
_EPSILON = 1e-9
# Maximum coefficient of variation of a steady cell. The well-maintained systems of Kramer & Ryan
# (2003) reach it in most codes (tables 1 and 2).
STEADY_COV = 0.02
# Maximum upper end of the 95% interval of a steady cell's coefficient.
STEADY_UPPER = 0.05
# Levels of slowness relative to the median; the greatest level that enough runs exceed is reported.
_SLOWNESS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
_MIN_SLOW_SHARE, _MIN_SLOW_RUNS = 0.01, 2
# Maximum number of measurements from which the sources of a cell's variance are estimated.
_COMPONENT_MEASUREMENTS = 1000


@dataclass(frozen=True)
class DistributionShape:
    """Significant properties of a cell's distribution; tests are corrected over all cells of the
    run. Modes, tail and drift are those around the levels between changes.
    """

    #: Changes of level in time, in order of time.
    changes: tuple[LevelChange, ...] = ()
    #: Two or more modes, or none. Levels that follow each other in time are not modes.
    modes: tuple[Mode, ...] = ()
    #: Whether more runs are far above the median than in a normal distribution.
    long_tail: bool = False
    #: Trend of the times; None without a significant trend.
    drifts: bool = False

    def __bool__(self) -> bool:
        return bool(self.changes) or bool(self.modes) or self.long_tail or self.drifts


@dataclass(frozen=True)
class SlowRuns:
    """The slowness of a cell's slow runs."""

    #: Greatest of ten levels of slowness (0.1: 10% slower than the median) that at least two runs
    #: and 1% of the runs exceed. None if there is no such level.
    over: float | None
    #: Share of the runs that exceed the level; 0 without a level.
    share: float
    #: Excess of the slowest run over the median, as a share of the median.
    slowest: float


@dataclass(frozen=True)
class CellVariation:
    """The variation of one cell with enough results.

    Internal: ``repeats`` and ``times``.
    """

    #: Id of the cell.
    cell: Cell
    #: Text that distinguishes the cell from the other cells of the run.
    label: str
    #: Unit of the times: "s", or "" if an operation's work is unknown and times are relative to
    #: their median.
    unit: str
    #: Location, dispersion, tails and trend of the times.
    spread: Spread
    #: Significant properties of the distribution of times.
    shape: DistributionShape
    #: Slowness of the slow runs, relative to the level of their time.
    slow: SlowRuns
    #: Sources of the variance.
    components: VarianceComponents
    #: Results of the cell.
    repeats: Repeats = field(metadata=INTERNAL)
    #: Time of one operation in each measurement, in order of time.
    times: Floats = field(metadata=INTERNAL)
    #: Location, dispersion, tails and trend of the times around the levels between changes, scaled
    #: to the last level; null without changes.
    within: Spread | None = None

    @property
    def at_one_level(self) -> Spread:
        """The spread without changes of level."""
        return self.spread if self.within is None else self.within

    @cached_property
    def slower(self) -> Floats:
        """Excess of each run over the median, as a share of the median; negative is faster."""
        return _slowness(self.times)

    @property
    def steady(self) -> bool:
        """Whether the coefficient of variation and the upper end of its interval are small."""
        upper = self.spread.cov_ci95[1] if self.spread.cov_ci95 else 0.0
        return (self.spread.cov or 0.0) <= STEADY_COV and upper <= STEADY_UPPER


def notable(varied: Sequence[CellVariation], most: int) -> list[CellVariation]:
    """At most ``most`` cells: first cells with modes, a tail or a drift; then by decreasing CoV."""
    return sorted(varied, key=lambda each: (not each.shape, -(each.spread.cov or 0.0)))[:most]


def shapes_of(levels: Sequence[CellLevels], spreads: Sequence[Spread]) -> list[DistributionShape]:
    """The significant properties of each cell's distribution, from its results at one level.

    Tails and trends: Holm's correction over all cells, at ``ALPHA`` each. Modes: the dip test at
    the smallest p of its table. One uniform distribution in a thousand reaches it; normal
    distributions reach it far more rarely. A correction would leave no power with eleven cells or
    more.
    """
    from assay.stats.core.modes import alternate, dip, dip_p
    from assay.stats.core.multiple import corrected
    from assay.stats.core.tails import long_tail_p

    tails = corrected([long_tail_p(each.tail.right, each.n) for each in spreads])
    trends = corrected([each.trend.p if each.trend else 1.0 for each in spreads])
    return [
        DistributionShape(
            changes=each.changes,
            modes=tuple(spread.modes)
            if len(spread.modes) > 1
            and dip_p(dip(each.levelled), spread.n) <= MODES_P + _EPSILON
            and alternate(each.levelled, spread.modes)
            else (),
            long_tail=bool(tail <= ALPHA) and spread.tail.right > spread.tail.left,
            drifts=bool(drift <= ALPHA),
        )
        for each, spread, tail, drift in zip(levels, spreads, tails, trends, strict=True)
    ]


def slow_runs_of(times: Floats) -> SlowRuns:
    """The slowness of the slow runs among these times."""
    slower = _slowness(times)
    slowest = float(slower.max())
    for over in _SLOWNESS:
        count = int((slower > over).sum())
        if count >= max(_MIN_SLOW_RUNS, _MIN_SLOW_SHARE * slower.size):
            return SlowRuns(over, count / slower.size, slowest)
    return SlowRuns(None, 0.0, slowest)


def components_of(repeats: Repeats) -> VarianceComponents:
    """Sources of a cell's variance, from at most a thousand evenly spaced measurements."""
    from assay.stats.repeats.spread import variance_components

    if len(repeats) > _COMPONENT_MEASUREMENTS:
        step = -(-len(repeats) // _COMPONENT_MEASUREMENTS)
        repeats = repeats.take(range(0, len(repeats), step))
    return variance_components(repeats)


def _slowness(times: Floats) -> Floats:
    return np.asarray(times / np.median(times) - 1.0)
