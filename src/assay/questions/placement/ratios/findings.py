"""Ratios of performance between placements of the same work: Luecke, Li & Cuma (2005), section 3.

Several ranks per node are compared with one: on the same number of nodes (their figures a), and
with the same number of ranks on fewer nodes (their figures b and c).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from assay.kernels.naming import cell_name
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.selection import Point, ratio
from assay.questions.placement.works import works_of
from assay.stats.core.intervals import Estimate
from assay.units import Interval


@dataclass(frozen=True)
class PlacementRatio:
    """Ratio of the performance at two placements."""

    #: The placement in the numerator.
    above: Point
    #: The placement in the denominator.
    below: Point
    #: Performance at ``above`` over performance at ``below``: 2 is twice as fast.
    value: float
    #: 95% interval of ``value``; None if either side has too few launches.
    interval: Interval | None

    @property
    def launches(self) -> int:
        """The number of launches at the placement that has fewer."""
        return min(self.above.metric.n, self.below.metric.n)


@dataclass(frozen=True)
class WorkRatios:
    """The ratios of one work."""

    #: Several ranks per node over one, on the same number of nodes.
    same_nodes: list[PlacementRatio]
    #: Same number of ranks on fewer nodes, over one rank per node.
    same_ranks: list[PlacementRatio]
    #: Points of the work at plain placements.
    points: list[Point] = field(metadata=INTERNAL)


@dataclass(frozen=True)
class RatioFindings:
    """Ratios of performance between placements, of all works of the run."""

    #: Ratios of each work.
    works: list[WorkRatios]

    @property
    def same_nodes(self) -> list[PlacementRatio]:
        """The ratios on the same number of nodes, of all works."""
        return [one for work in self.works for one in work.same_nodes]

    @property
    def same_ranks(self) -> list[PlacementRatio]:
        """The ratios with the same number of ranks, of all works."""
        return [one for work in self.works for one in work.same_ranks]


def find(measured: Measured) -> RatioFindings | None:
    """All ratios of the run; None if no work ran at a plain placement."""
    works = works_of(measured.cells)
    if not works:
        return None
    return RatioFindings([WorkRatios(same_nodes(work), same_ranks(work), work) for work in works])


def compare(above: Point, below: Point, time: Estimate | None = None) -> PlacementRatio:
    """The performance at one point over the performance at another, for the same work.

    ``time``: time at the first point if it differs from the median of its launches.
    """
    metric = above.metric
    if time is not None:
        metric = msgspec.structs.replace(metric, median=time.value, ci95=time.interval)
    # The inverse ratio of times.
    return PlacementRatio(above, below, *ratio(below.metric, metric))


def same_nodes(work: Sequence[Point]) -> list[PlacementRatio]:
    """Several ranks per node over one, on the same number of nodes (the paper's figures a)."""
    by_place = _by_place(work)
    return [
        compare(point, by_place[nodes, 1])
        for (nodes, ppn), point in sorted(by_place.items())
        if ppn > 1 and (nodes, 1) in by_place
    ]


def same_ranks(work: Sequence[Point]) -> list[PlacementRatio]:
    """The same ranks on fewer nodes over one rank per node (the paper's figures b and c)."""
    by_place = _by_place(work)
    return [
        compare(point, by_place[nodes * ppn, 1])
        for (nodes, ppn), point in sorted(by_place.items())
        if ppn > 1 and (nodes * ppn, 1) in by_place
    ]


def compared_name(found: PlacementRatio, compared: Sequence[PlacementRatio]) -> str:
    """The work of a ratio, with its toolchain if there are several."""
    cell = found.above.summary.cell
    several = len({each.above.summary.cell.toolchain for each in compared}) > 1
    return f"{cell_name(cell)}, {cell.toolchain}" if several else cell_name(cell)


def _by_place(work: Sequence[Point]) -> dict[tuple[int, int], Point]:
    return {
        (point.summary.cell.placement.nodes, point.summary.cell.placement.ppn): point
        for point in work
    }
