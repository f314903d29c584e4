"""What a run's cells tell of Linpack: Rmax, the curve over N, and what to set them against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.answers.arithmetic import KERNEL as DGEMM
from assay.answers.arithmetic import PEAK, theoretical_peak
from assay.answers.select import (
    Interval,
    Point,
    best,
    best_by,
    points,
    quantity_text,
    ratio,
    scaled,
)
from assay.models.half_performance import HalfOrder, RateAt, half_order
from assay.models.linpack import KERNEL
from assay.records.model import Measurement, RunData
from assay.stats.model import CellSummary
from assay.units import counted


@dataclass(frozen=True)
class Results:
    """All results of a run. ``found``: every usable one. ``curve``: the best at each order, at the
    placement and with the toolchain of Rmax, orders ascending.
    """

    found: Sequence[Point]
    rmax: Point
    curve: Mapping[int, Point]
    half: HalfOrder | None

    @property
    def nmax(self) -> int:
        """The order at which Rmax was reached."""
        return order_of(self.rmax)


@dataclass(frozen=True)
class Share:
    """Rmax over something else: ``name`` what, ``of`` it in flop/s, ``source`` how it came."""

    name: str
    value: float
    interval: Interval | None
    of: float
    source: str
    cells: list[str]


@dataclass(frozen=True)
class Price:
    """What a flop/s costs, in ``currency`` ("" where the site named none)."""

    currency: str
    system: float
    nodes: int
    value: float
    interval: Interval | None

    @property
    def unit(self) -> str:
        """As ``answers.select.quantity_text`` reads it."""
        return f"{self.currency}/(flop/s)"


def order_of(point: Point) -> int:
    """The order N that was solved."""
    return int(point.parameter("n") or 0)


def results(cells: Sequence[CellSummary]) -> Results | None:
    """What was measured of Linpack; None if no usable cell measured it.

    Systems that are made to be easy or hard (``matrix``) are no Linpack results.
    """
    found = [
        point
        for point in points(cells, KERNEL, "rate")
        if point.parameter("matrix") in (None, "random")
    ]
    if not found:
        return None
    rmax = best(found)
    curve = curve_of(found, rmax)
    known = [
        RateAt(order, point.metric.median, point.metric.ci95) for order, point in curve.items()
    ]
    return Results(found, rmax, curve, half_order(known))


def curve_of(found: Sequence[Point], like: Point) -> dict[int, Point]:
    """The best at each order with a point's placement and toolchain; orders ascend.

    Points whose order nobody told are left out.
    """
    where = _where(like)
    return best_by((p for p in found if _where(p) == where and order_of(p) > 0), order_of)


def _where(point: Point) -> tuple[object, str]:
    return point.summary.cell.placement, point.summary.cell.toolchain


def alike(found: Sequence[Point], rmax: Point) -> list[Point]:
    """The points with the toolchain of Rmax: neither scaling nor shares mix two."""
    toolchain = rmax.summary.cell.toolchain
    return [point for point in found if point.summary.cell.toolchain == toolchain]


def by_cores(known: Results) -> dict[int, Point]:
    """The best at each count of cores with the toolchain of Rmax, counts ascending."""
    return best_by(alike(known.found, known.rmax), lambda point: point.cores)


def asked_alike(known: Results) -> list[Point]:
    """The points that the plan asked the same of as of Rmax, wherever they ran."""
    asked = known.rmax.summary.cell.parameters
    return [p for p in alike(known.found, known.rmax) if p.summary.cell.parameters == asked]


def growing(known: Results) -> dict[int, Point]:
    """The points over counts of cores to set against perfect scaling, counts ascending.

    Those that the plan asked the same of, so that as large a share of the largest order on one
    core stands beside that on all of them; of several such lines that with most counts, then the
    fastest. Where there is none, the best at each count.
    """
    lines: dict[str, list[Point]] = {}
    for point in alike(known.found, known.rmax):
        asked = repr(sorted(point.summary.cell.parameters.items()))
        lines.setdefault(asked, []).append(point)
    over_cores = [best_by(line, lambda point: point.cores) for line in lines.values()]
    longest = max(over_cores, key=lambda line: (len(line), best(list(line.values())).metric.median))
    return longest if len(longest) > 1 else by_cores(known)


def shares(known: Results, cells: Sequence[CellSummary], run: RunData) -> list[Share]:
    """Rmax against peaks and DGEMM, as far as they were measured or are known.

    The three of Edmundsson et al. (2004), 5.4, are named ``peak``, ``DGEMM × ranks`` and ``DGEMM ×
    nodes``; the fourth, over one node's own Linpack, ``one node``.
    """
    rmax = known.rmax
    made = []
    peak = theoretical_peak(run, [rmax])
    if peak is not None:
        interval = scaled(rmax.metric.ci95, 1 / peak.rate)
        value = rmax.metric.median / peak.rate
        made.append(Share("peak", value, interval, peak.rate, peak.source, [rmax.summary.id]))
    products = alike(points(cells, DGEMM, "rate"), rmax)
    placement = rmax.summary.cell.placement
    measured = [p for p in alike(points(cells, PEAK, "rate"), rmax) if p.cores == rmax.cores]
    made += _times("measured peak", rmax, measured, 1)
    each = [p for p in products if p.summary.cell.placement.ranks == 1]
    same = [p for p in each if p.cores == placement.threads]
    single = [p for p in each if p.cores == 1]
    if same:
        made += _times("DGEMM × ranks", rmax, same, placement.ranks)
    else:
        made += _times("DGEMM × cores", rmax, single, rmax.cores)
    on_node = [
        p
        for p in products
        if p.summary.cell.placement.nodes == 1 and p.cores == rmax.cores // placement.nodes
    ]
    made += _times("DGEMM × nodes", rmax, on_node, placement.nodes)
    if placement.nodes > 1:
        one = [p for p in alike(known.found, rmax) if p.summary.cell.placement.nodes == 1]
        made += _times("one node", rmax, one, 1)
    return made


def _times(name: str, rmax: Point, found: Sequence[Point], by: int) -> list[Share]:
    """Rmax over the best of these times a whole number; nothing where there are none."""
    if not found:
        return []
    base = best(found)
    value, interval = ratio(rmax.metric, base.metric)
    return [
        Share(
            name,
            value / by,
            scaled(interval, 1 / by),
            base.metric.median * by,
            f"{by} × {_what(base)}" if by > 1 else _what(base),
            [rmax.summary.id, base.summary.id],
        )
    ]


def _what(point: Point) -> str:
    """``DGEMM N = 2000 on 1 core, 53.1 Gflop/s``."""
    kernel = point.summary.kernel
    name = {DGEMM: f"DGEMM N = {point.parameter('n')}", KERNEL: f"Linpack N = {order_of(point)}"}
    rate = quantity_text(point.metric.median, "flop/s")
    what = name.get(kernel, "multiply-adds out of registers")
    return f"{what} on {counted(point.cores, 'core')}, {rate}"


def price(known: Results, run: RunData) -> Price | None:
    """What the nodes that reached Rmax cost for each flop/s; None where the site named no price."""
    amount = run.manifest.prices.amounts.get("node")
    if not amount:
        return None
    metric = known.rmax.metric
    nodes = known.rmax.summary.cell.placement.nodes
    whole = amount * nodes
    interval = metric.ci95
    return Price(
        run.manifest.prices.currency or "",
        whole,
        nodes,
        whole / metric.median,
        (whole / interval[1], whole / interval[0]) if interval else None,
    )


def settings_text(point: Point) -> str:
    """``NB 192, 1 × 2, broadcast ring, swap spread``: with what a result was reached."""
    words = []
    if point.parameter("nb"):
        words.append(f"NB {point.parameter('nb')}")
    rows = point.parameter("p")
    if isinstance(rows, int) and rows > 0:
        columns = point.summary.cell.placement.ranks // rows
        words.append(f"{rows} × {columns}")
        # Of a single column of processes nobody gets a panel, and a single row swaps its own.
        used = {"broadcast": columns > 1, "swap": rows > 1}
        words += [
            f"{name} {point.parameter(name)}"
            for name, matters in used.items()
            if matters and point.parameter(name) not in (None, "auto")
        ]
    if point.parameter("depth") == 0:
        words.append("no look-ahead")
    return ", ".join(words)


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
