"""Bisections: half of the ranks exchange with the other half, compared with a single pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.questions.common.ratios import ratio_of
from assay.questions.common.selection import Point, points, ratio, scaled
from assay.questions.network.parameters import integer, message_bytes
from assay.records.model import RunData
from assay.stats.cells.contention import shared_cpus
from assay.stats.compare.directions import Comparison, compared
from assay.stats.core.model import CellSummary
from assay.units import Interval

BISECTION = "network.bisection"
_CUTS = ("worst", "random", "given", "best")


@dataclass(frozen=True)
class SinglePair:
    """Bandwidth of a single pair."""

    #: Bandwidth, in B/s.
    point: Point
    #: Name of the measured exchange, such as a single pair's ping-pong bandwidth.
    source: str
    #: Factor from ``point`` to the bandwidth of an exchange both ways.
    ways: int


@dataclass(frozen=True)
class BisectionCut:
    """A cut all of whose pairs exchange concurrently."""

    #: Aggregate bandwidth both ways, in B/s.
    point: Point
    #: Name of the cut, which determines the ranks that exchange.
    cut: str
    #: Message size each way, in bytes.
    bytes: int
    #: Number of pairs that exchange.
    pairs: int
    #: Bandwidth of a rank each way, in B/s.
    each: float
    #: Bandwidth of a single pair; None if not measured.
    single: SinglePair | None
    #: ``point`` over ``pairs`` times the bandwidth of a single pair's exchange.
    share: float | None
    #: 95% interval of the share.
    share_ci95: Interval | None
    #: Number of CPUs that all nodes share, as hosts of a virtual cluster do; None elsewhere.
    shared_cpus: int | None

    def compared(self, equal: float, comparisons: int) -> Comparison:
        """Whether the share is above or below ``equal`` beyond its range."""
        assert self.share is not None and self.single is not None
        launches = self.point.metric.n + self.single.point.metric.n
        return compared(
            self.share, self.share_ci95, launches=launches, comparisons=comparisons, equal=equal
        )


def bisection_points(cells: Sequence[CellSummary]) -> list[Point]:
    """Every usable bisection, whole cuts before single pairs, by message size."""
    found = points(cells, BISECTION, "bandwidth")
    return sorted(found, key=lambda point: (is_single(point), message_bytes(point)))


def bisection_cuts(cells: Sequence[CellSummary], run: RunData) -> list[BisectionCut]:
    """The cuts with all pairs exchanging, the worst cut first, by message size."""
    whole = [p for p in points(cells, BISECTION, "bandwidth") if not is_single(p)]
    whole.sort(key=lambda point: (_CUTS.index(cut_of(point)), message_bytes(point)))
    return [_compared(point, cells, run) for point in whole]


def narrower_cut(cuts: Sequence[BisectionCut]) -> tuple[BisectionCut, BisectionCut] | None:
    """The cut named worst and a cut with less bandwidth, at the largest message that has both.

    The ratio of the two excludes 1, among all cuts of this size. If several cuts have less
    bandwidth, the slowest is chosen. None if no cut has less bandwidth than the one named worst.
    """
    worst = max((cut for cut in cuts if cut.cut == "worst"), key=_size, default=None)
    if worst is None:
        return None
    others = [cut for cut in cuts if _size(cut) == _size(worst) and cut.cut != "worst"]
    below = [
        cut
        for cut in others
        if ratio_of(cut.point, worst.point).compared(comparisons=len(others)).direction == "less"
    ]
    return (worst, min(below, key=lambda cut: cut.point.metric.median)) if below else None


def _size(cut: BisectionCut) -> int:
    return cut.bytes


def is_single(point: Point) -> bool:
    """Whether one pair exchanges while the others wait."""
    return active_pairs(point) == 1 and point.summary.cell.placement.ranks > 2


def cut_of(point: Point) -> str:
    """A bisection's cut."""
    return str(point.parameter("cut"))


def active_pairs(point: Point) -> int:
    """The number of pairs that exchange concurrently."""
    return integer(point, "pairs") or point.summary.cell.placement.ranks // 2


def _compared(point: Point, cells: Sequence[CellSummary], run: RunData) -> BisectionCut:
    measurement = next((m for m in run.measurements if m.cell == point.summary.cell), None)
    pairs, single = active_pairs(point), _single(point, cells)
    share, interval = None, None
    if single is not None:
        factor = pairs * single.ways
        value, ends = ratio(point.metric, single.point.metric)
        share, interval = value / factor, scaled(ends, 1 / factor)
    return BisectionCut(
        point=point,
        cut=cut_of(point),
        bytes=message_bytes(point),
        pairs=pairs,
        each=point.metric.median / (2 * pairs),
        single=single,
        share=share,
        share_ci95=interval,
        shared_cpus=None if measurement is None else shared_cpus(measurement),
    )


def _single(point: Point, cells: Sequence[CellSummary]) -> SinglePair | None:
    """A single pair: the same exchange by one pair, else a ping-pong, which counts twice."""
    here = point.summary.cell
    exchanging = [
        single
        for single in points(cells, BISECTION, "bandwidth")
        if is_single(single)
        and single.summary.cell.placement == here.placement
        and single.summary.cell.toolchain == here.toolchain
        and message_bytes(single) == message_bytes(point)
    ]
    same_cut = [single for single in exchanging if cut_of(single) == cut_of(point)]
    if same_cut:
        return SinglePair(same_cut[0], "a single pair's exchange", 1)
    for kernel in ("network.pairs", "network.pingpong"):
        for single in points(cells, kernel, "bandwidth"):
            cell = single.summary.cell
            undisturbed = single.parameter("concurrent") != "yes"
            same = (cell.toolchain, cell.placement.nodes > 1, message_bytes(single)) == (
                here.toolchain,
                here.placement.nodes > 1,
                message_bytes(point),
            )
            if same and undisturbed:
                return SinglePair(single, "a single pair's ping-pong bandwidth", 2)
    return None
