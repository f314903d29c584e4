"""Linpack results of a run: Rmax, the curve over N, N½, and curves over numbers of cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.models.half_performance import HalfOrder, RateAt, half_order
from assay.models.linpack.sizing import KERNEL
from assay.questions.common.selection import Point, best, best_by, chosen_best, points
from assay.records.model import Measurement, RunData
from assay.stats.core.model import CellSummary


@dataclass(frozen=True)
class Results:
    """The Linpack results of a run."""

    #: All usable results.
    found: Sequence[Point]
    #: Fastest result.
    rmax: Point
    #: Best result at each order, with the placement and toolchain of Rmax, by ascending order.
    curve: Mapping[int, Point]
    #: N½ on ``curve``; None if it has a single order.
    half: HalfOrder | None

    @property
    def nmax(self) -> int:
        """The order at which Rmax was reached."""
        return order_of(self.rmax)


def order_of(point: Point) -> int:
    """The order N that was solved."""
    return int(point.parameter("n") or 0)


def results(cells: Sequence[CellSummary]) -> Results | None:
    """The results of a run; None if no usable cell measured Linpack.

    Only random matrices (parameter ``matrix``) count as Linpack results.
    """
    found = [
        point
        for point in points(cells, KERNEL, "rate")
        if point.parameter("matrix") in (None, "random")
    ]
    if not found:
        return None
    rmax = chosen_best(found)
    curve = _with(curve_of(found, rmax), rmax)
    rates = [
        RateAt(order, point.metric.median, point.metric.ci95) for order, point in curve.items()
    ]
    return Results(found, rmax, curve, half_order(rates))


def curve_of(found: Sequence[Point], like: Point) -> dict[int, Point]:
    """The best point of each order, ascending, with the placement and toolchain of ``like``.

    Points without a known order are left out.
    """
    where = _where(like)
    return best_by((p for p in found if _where(p) == where and order_of(p) > 0), order_of)


def _with(line: Mapping[int, Point], chosen: Point) -> dict[int, Point]:
    """The points, with ``chosen`` in place of its cell: it was chosen among more candidates."""
    own = chosen.summary.id
    return {key: chosen if point.summary.id == own else point for key, point in line.items()}


def curves(known: Results) -> list[Mapping[int, Point]]:
    """The curves over two or more orders: of Rmax, and of each other placement and toolchain."""
    by_place: dict[tuple[object, str], Mapping[int, Point]] = {_where(known.rmax): known.curve}
    for point in known.found:
        if _where(point) not in by_place:
            by_place[_where(point)] = curve_of(known.found, point)
    return [curve for curve in by_place.values() if len(curve) > 1]


def _where(point: Point) -> tuple[object, str]:
    return point.summary.cell.placement, point.summary.cell.toolchain


def alike(found: Sequence[Point], rmax: Point) -> list[Point]:
    """The points with the toolchain of Rmax; neither scaling nor shares mix toolchains."""
    toolchain = rmax.summary.cell.toolchain
    return [point for point in found if point.summary.cell.toolchain == toolchain]


def by_cores(known: Results) -> dict[int, Point]:
    """The best point of each number of cores, ascending, with the toolchain of Rmax."""
    found = best_by(alike(known.found, known.rmax), lambda point: point.cores)
    return _with(found, known.rmax)


def asked_alike(known: Results) -> list[Point]:
    """The points with the planned parameters and the toolchain of Rmax, at any placement."""
    planned = known.rmax.summary.cell.parameters
    return [p for p in alike(known.found, known.rmax) if p.summary.cell.parameters == planned]


def growing(known: Results) -> dict[int, Point]:
    """The points for the parallel efficiency, by ascending number of cores.

    They have the same planned parameters, so each solves the same share of its largest order. If
    there are several such lines, the one with the most numbers of cores is chosen, then the
    fastest. If there is none, the best point on each number of cores is used.
    """
    lines: dict[str, list[Point]] = {}
    for point in alike(known.found, known.rmax):
        planned = repr(sorted(point.summary.cell.parameters.items()))
        lines.setdefault(planned, []).append(point)
    over_cores = [best_by(line, lambda point: point.cores) for line in lines.values()]
    most = max(map(len, over_cores))
    if most < 2:
        return by_cores(known)
    longest = [line for line in over_cores if len(line) == most]
    tops = [best(list(line.values())) for line in longest]
    fastest = longest[tops.index(best(tops))]
    return _with(_with(fastest, chosen_best(tops)), known.rmax)


def measurements_of(run: RunData, kernel: str, like: Point) -> list[Measurement]:
    """The usable measurements of a kernel at a point's placement with its toolchain."""
    return [
        measurement
        for measurement in run.measurements
        if measurement.record.kernel == kernel
        and measurement.record.status == "ok"
        and measurement.record.verified is not False
        and (measurement.cell.placement, measurement.cell.toolchain) == _where(like)
    ]
