"""Speedups: the rate on more cores over that on fewer, its direction, its row of evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.questions.common.answer import Evidence
from assay.questions.common.selection import Point, ratio, scaled
from assay.units import Interval

if TYPE_CHECKING:
    from assay.stats.compare.directions import Comparison

# Parallel efficiency below which the cause of the loss is searched for.
POOR_EFFICIENCY = 0.75


@dataclass(frozen=True)
class Speedup:
    """The rate of ``most`` over the rate of ``few``, two points of one kernel."""

    #: The point with fewer processors.
    few: Point
    #: The point with most processors.
    most: Point
    #: Ratio of their medians.
    value: float
    #: 95% interval of the ratio; None if either point has no interval.
    interval: Interval | None
    #: Parallel efficiency: the speedup over the ratio of the core counts; 1 is perfect scaling.
    efficiency: float
    #: 95% interval of the efficiency; None if either point has no interval.
    efficiency_interval: Interval | None

    @property
    def perfect(self) -> float:
        """The ratio of the core counts."""
        return self.most.cores / self.few.cores

    @property
    def poor(self) -> bool:
        """Whether the efficiency is poor, and certainly below perfect scaling."""
        below = self.efficiency < POOR_EFFICIENCY
        return below and self.compared(equal=self.perfect).direction == "less"

    def compared(self, *, equal: float = 1.0, comparisons: int = 1) -> Comparison:
        """The direction of the speedup from ``equal`` (``stats.compare.directions``)."""
        from assay.stats.compare.directions import compared

        launches = self.few.metric.n + self.most.metric.n
        return compared(
            self.value, self.interval, launches=launches, comparisons=comparisons, equal=equal
        )


def speedup_of(few: Point, most: Point) -> Speedup:
    """How the rate grows from ``few`` to ``most``."""
    value, interval = ratio(most.metric, few.metric)
    perfect = most.cores / few.cores
    return Speedup(
        few=few,
        most=most,
        value=value,
        interval=interval,
        efficiency=value / perfect,
        efficiency_interval=scaled(interval, 1 / perfect),
    )


def speedup_row(title: str, found: Speedup, *, note: str = "") -> Evidence:
    """A speedup as evidence, against perfect scaling."""
    return Evidence(
        label=f"{title}, {found.few.cores} → {found.most.cores} cores",
        metric="speedup",
        unit="",
        value=found.value,
        ci95=found.interval,
        limit=found.perfect,
        limit_source="perfect scaling",
        share=found.efficiency,
        share_ci95=found.efficiency_interval,
        cells=[found.few.summary.id, found.most.summary.id],
        note=note,
    )
