"""Ratios: the quotient of two points' medians, and its row of evidence."""

from __future__ import annotations

from dataclasses import dataclass

from assay.questions.common.answer import Evidence
from assay.questions.common.selection import Point, ratio
from assay.units import Interval


@dataclass(frozen=True)
class Ratio:
    """The median of ``above`` over the median of ``below``, two points of one metric."""

    #: The numerator.
    above: Point
    #: The denominator.
    below: Point
    #: The ratio, without unit.
    value: float
    #: 95% interval of the ratio; None if either point has no interval.
    ci95: Interval | None

    @property
    def launches(self) -> int:
        """Number of launches of the point with fewer launches."""
        return min(self.above.metric.n, self.below.metric.n)


def ratio_of(above: Point, below: Point) -> Ratio:
    """The first point's median over the second's."""
    return Ratio(above, below, *ratio(above.metric, below.metric))


def ratio_row(
    label: str, found: Ratio, *, metric: str = "ratio", note: str = "", above_first: bool = False
) -> Evidence:
    """A ratio as evidence without a limit; ``above_first``: the order of its cells."""
    cells = [found.below.summary.id, found.above.summary.id]
    return Evidence(
        label=label,
        metric=metric,
        unit="",
        value=found.value,
        ci95=found.ci95,
        cells=cells[::-1] if above_first else cells,
        note=note,
    )
