"""Ratios of performance between placements of the same work: Luecke, Li & Cuma (2005), section 3.

Several ranks per node are compared with one: on as many nodes (their figures a), and with as many
ranks on fewer nodes (their figures b and c).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.kernels.naming import cell_name
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.selection import Interval, Point, ratio
from assay.questions.placement.works import works_of


@dataclass(frozen=True)
class PlacementRatio:
    """Performance at ``above`` over that at ``below``: 2 is twice as fast.

    ``value`` has the 95% ``interval``; None where either side has too few launches.
    """

    above: Point
    below: Point
    value: float
    interval: Interval | None

    @property
    def launches(self) -> int:
        """The lesser number of launches of the two."""
        return min(self.above.metric.n, self.below.metric.n)


@dataclass(frozen=True)
class WorkRatios:
    """The ratios of one work.

    ``same_nodes``: each number of ranks per node over one, on as many nodes. ``same_ranks``: as
    many ranks on fewer nodes over one rank per node. ``points``: the work at plain placements.
    """

    same_nodes: list[PlacementRatio]
    same_ranks: list[PlacementRatio]
    points: list[Point] = field(metadata=INTERNAL)


@dataclass(frozen=True)
class RatioFindings:
    """Ratios of performance: of each work (``works``) of the run."""

    works: list[WorkRatios]

    @property
    def same_nodes(self) -> list[PlacementRatio]:
        """Those on as many nodes, of all works."""
        return [one for work in self.works for one in work.same_nodes]

    @property
    def same_ranks(self) -> list[PlacementRatio]:
        """Those of as many ranks, of all works."""
        return [one for work in self.works for one in work.same_ranks]


def find(measured: Measured) -> RatioFindings | None:
    """All ratios of the run; None where no work ran at a plain placement."""
    works = works_of(measured.cells)
    if not works:
        return None
    return RatioFindings([WorkRatios(same_nodes(work), same_ranks(work), work) for work in works])


def compare(above: Point, below: Point) -> PlacementRatio:
    """Performance at one point over that at another, of the same work."""
    # The inverse ratio of times.
    return PlacementRatio(above, below, *ratio(below.metric, above.metric))


def same_nodes(work: Sequence[Point]) -> list[PlacementRatio]:
    """On as many nodes, each number of ranks per node over one (paper: figures a)."""
    by_place = _by_place(work)
    return [
        compare(point, by_place[nodes, 1])
        for (nodes, ppn), point in sorted(by_place.items())
        if ppn > 1 and (nodes, 1) in by_place
    ]


def same_ranks(work: Sequence[Point]) -> list[PlacementRatio]:
    """As many ranks on fewer nodes over one rank per node (paper: figures b and c)."""
    by_place = _by_place(work)
    return [
        compare(point, by_place[nodes * ppn, 1])
        for (nodes, ppn), point in sorted(by_place.items())
        if ppn > 1 and (nodes * ppn, 1) in by_place
    ]


def compared_name(found: PlacementRatio, compared: Sequence[PlacementRatio]) -> str:
    """The work of a ratio; with its toolchain where there are several."""
    cell = found.above.summary.cell
    several = len({each.above.summary.cell.toolchain for each in compared}) > 1
    return f"{cell_name(cell)}, {cell.toolchain}" if several else cell_name(cell)


def _by_place(work: Sequence[Point]) -> dict[tuple[int, int], Point]:
    return {
        (point.summary.cell.placement.nodes, point.summary.cell.placement.ppn): point
        for point in work
    }
