"""Rmax against the limits of the machine, and its price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.config import Prices
from assay.models.linpack.sizing import KERNEL
from assay.questions.common.selection import (
    Point,
    chosen_best,
    points,
    quantity_text,
    ratio,
    scaled,
)
from assay.questions.speed.arithmetic.peak import DGEMM, PEAK, PeakLimit
from assay.questions.speed.linpack.results import Results, alike, order_of
from assay.stats.core.model import CellSummary
from assay.units import Interval, counted

THEORETICAL_PEAK = "peak"
MEASURED_PEAK = "measured peak"
DGEMM_RANKS = "DGEMM × ranks"
DGEMM_CORES = "DGEMM × cores"
DGEMM_NODES = "DGEMM × nodes"
ONE_NODE = "one node"


@dataclass(frozen=True)
class RmaxShare:
    """Rmax over another rate."""

    #: Name of the divisor, such as ``DGEMM × ranks``.
    name: str
    #: Ratio of Rmax to the divisor.
    value: float
    #: 95% interval; None where there is none.
    interval: Interval | None
    #: Divisor, in flop/s.
    of: float
    #: Source of the divisor, as text.
    source: str
    #: Ids of the cells that Rmax and the divisor were computed from.
    cells: list[str]


@dataclass(frozen=True)
class Price:
    """The price per flop/s."""

    #: Currency; "" if none is configured.
    currency: str
    #: Price of all nodes of Rmax.
    system: float
    #: Number of nodes.
    nodes: int
    #: Price per flop/s.
    value: float
    #: 95% interval; None where there is none.
    interval: Interval | None

    @property
    def unit(self) -> str:
        """The unit in the form that ``questions.common.selection.quantity_text`` reads."""
        return f"{self.currency}/(flop/s)"


def shares(known: Results, cells: Sequence[CellSummary], peak: PeakLimit | None) -> list[RmaxShare]:
    """Rmax against the peaks and DGEMM that were measured or are known.

    The three shares of Edmundsson et al. (2004), 5.4, are named ``peak``, ``DGEMM × ranks`` and
    ``DGEMM × nodes``. The fourth, over the Linpack rate of one node, is named ``one node``.
    ``peak``: theoretical peak of the cores of Rmax.
    """
    rmax = known.rmax
    found = []
    if peak is not None:
        interval = scaled(rmax.metric.ci95, 1 / peak.rate)
        value = rmax.metric.median / peak.rate
        ids = [rmax.summary.id]
        found.append(
            RmaxShare(
                name=THEORETICAL_PEAK,
                value=value,
                interval=interval,
                of=peak.rate,
                source=peak.source,
                cells=ids,
            )
        )
    products = alike(points(cells, DGEMM, "rate"), rmax)
    placement = rmax.summary.cell.placement
    measured = [p for p in alike(points(cells, PEAK, "rate"), rmax) if p.cores == rmax.cores]
    found += _times(MEASURED_PEAK, rmax, measured, 1)
    each = [p for p in products if p.summary.cell.placement.ranks == 1]
    same = [p for p in each if p.cores == placement.threads]
    single = [p for p in each if p.cores == 1]
    if same:
        found += _times(DGEMM_RANKS, rmax, same, placement.ranks)
    else:
        found += _times(DGEMM_CORES, rmax, single, rmax.cores)
    on_node = [
        p
        for p in products
        if p.summary.cell.placement.nodes == 1 and p.cores == rmax.cores // placement.nodes
    ]
    found += _times(DGEMM_NODES, rmax, on_node, placement.nodes)
    if placement.nodes > 1:
        one = [p for p in alike(known.found, rmax) if p.summary.cell.placement.nodes == 1]
        found += _times(ONE_NODE, rmax, one, 1)
    return found


def _times(name: str, rmax: Point, found: Sequence[Point], by: int) -> list[RmaxShare]:
    """Rmax over ``by`` times the best of these points; empty without points."""
    if not found:
        return []
    base = chosen_best(found)
    value, interval = ratio(rmax.metric, base.metric)
    return [
        RmaxShare(
            name=name,
            value=value / by,
            interval=scaled(interval, 1 / by),
            of=base.metric.median * by,
            source=f"{by} × {_source(base)}" if by > 1 else _source(base),
            cells=[rmax.summary.id, base.summary.id],
        )
    ]


def _source(point: Point) -> str:
    """``DGEMM N = 2000 on 1 core, 53.1 Gflop/s``."""
    kernel = point.summary.kernel
    name = {DGEMM: f"DGEMM N = {point.parameter('n')}", KERNEL: f"Linpack N = {order_of(point)}"}
    rate = quantity_text(point.metric.median, "flop/s")
    what = name.get(kernel, "multiply-adds in registers")
    return f"{what} on {counted(point.cores, 'core')}, {rate}"


def price_of(rmax: Point, prices: Prices) -> Price | None:
    """The price per flop/s of the nodes that reached Rmax; None without a configured price."""
    amount = prices.amounts.get("node")
    if not amount:
        return None
    metric = rmax.metric
    nodes = rmax.summary.cell.placement.nodes
    whole = amount * nodes
    interval = metric.ci95
    return Price(
        prices.currency or "",
        whole,
        nodes,
        whole / metric.median,
        (whole / interval[1], whole / interval[0]) if interval else None,
    )
