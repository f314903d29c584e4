"""The effect of rank orders on the time of each work, and on the bytes between its nodes.

Barczak, Messom & Johnson (2003, figures 5 and 6) found that collectives depend on the order of
ranks over nodes. Here the time of each work is compared with its time in block order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.kernels import known_kernel
from assay.kernels.naming import cell_name, short_order
from assay.model.cell import Cell
from assay.model.rank_order import ORDERS, seats_by_rank
from assay.questions.common.question import Measured
from assay.questions.common.selection import Point, points
from assay.questions.network.collectives import points as collective_points
from assay.questions.placement.works import METRIC, costs_of
from assay.records.model import RunData
from assay.stats.compare.chosen import chosen_interval
from assay.stats.compare.directions import Direction, compared
from assay.stats.core.intervals import Estimate
from assay.stats.core.model import CellSummary
from assay.units import Interval, format_size

# Maximum p of a significant difference, corrected for all comparisons.
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class SentBytes:
    """Bytes that ranks send point to point in one operation."""

    #: Bytes between nodes.
    between: float
    #: All bytes; 1 if a matrix from a file gives only shares.
    all: float

    @property
    def share(self) -> float:
        """The share of the bytes that cross between nodes."""
        return self.between / self.all if self.all > 0 else 0.0


@dataclass(frozen=True)
class OrderEffect:
    """One order compared with block order, other factors equal."""

    #: Name of the work.
    work: str
    #: Number of nodes × ranks per node, as text.
    where: str
    #: Name of the order, ``fitted``, or a shortened list of seats.
    order: str
    #: Measured cell in this order.
    point: Point
    #: Measured cell in block order.
    block: Point
    #: Time in this order over time in block order.
    value: float
    #: 95% interval of ``value``; of the fastest order of a work, it allows for the choice.
    interval: Interval
    #: p-value of no difference.
    p: float
    #: p-value, corrected by Holm for all comparisons of the run.
    p_corrected: float
    #: Bytes sent in this order; None if unknown.
    sent: SentBytes | None
    #: Bytes sent in block order; None if unknown.
    sent_in_block: SentBytes | None
    #: Direction of ``value`` among all comparisons: "less", "more", or "open" if its range contains
    #: 1.
    direction: Direction = "open"
    #: Number of comparable orders of the work among which this order is the fastest, itself
    #: included; 1 if it isn't the fastest, or clearly so.
    among: int = 1

    @property
    def significant(self) -> bool:
        """Whether both the test and the range show a difference."""
        return self.p_corrected <= SIGNIFICANT and self.direction != "open"

    @property
    def bytes_ratio(self) -> float | None:
        """Bytes between nodes over block order; None if unknown, or if block order sends none."""
        if self.sent is None or self.sent_in_block is None or self.sent_in_block.between <= 0:
            return None
        return self.sent.between / self.sent_in_block.between


@dataclass(frozen=True)
class OrderFindings:
    """All comparisons of a run with block order."""

    #: Effect of each order.
    effects: tuple[OrderEffect, ...]
    #: Number of orders with too few launches for a comparison.
    skipped: int

    @property
    def headline(self) -> list[OrderEffect]:
        """The significant effects, strongest first; all effects if none is significant."""
        significant = [effect for effect in self.effects if effect.significant]
        strongest = sorted(significant, key=lambda effect: -abs(math.log(effect.value)))
        return strongest or list(self.effects)


def find(measured: Measured) -> OrderFindings | None:
    """All comparisons; None if no order could be compared."""
    found = compare_orders(measured.cells, measured.run)
    return found if found.effects else None


def compare_orders(cells: Sequence[CellSummary], run: RunData) -> OrderFindings:
    """Compare each order with block order, other factors equal."""
    from assay.stats.compare.groups import location_differs
    from assay.stats.core.multiple import corrected

    costs = costs_of(run)
    effects: list[OrderEffect] = []
    skipped = 0
    for group in _groups(cells):
        block = next((p for p in group if p.summary.cell.placement.order == "block"), None)
        if block is None:
            continue
        sent_in_block = sent_bytes(block.summary.cell, run)
        for point in group:
            if point is block:
                continue
            pair = None
            if point.metric.ci95 is not None and block.metric.ci95 is not None:
                both = {p.summary.id: list(costs[p.summary.id].values()) for p in (block, point)}
                (pair,) = location_differs(both).pairs
            if pair is None or pair.ratio is None or pair.ratio_ci95 is None:
                skipped += 1
                continue
            cell = point.summary.cell
            effects.append(
                OrderEffect(
                    work=work_name(point),
                    where=f"{cell.placement.nodes} × {cell.placement.ppn}",
                    order=order_name(cell, run),
                    point=point,
                    block=block,
                    value=pair.ratio,
                    interval=pair.ratio_ci95,
                    p=pair.p,
                    p_corrected=pair.p,
                    sent=sent_bytes(cell, run),
                    sent_in_block=sent_in_block,
                )
            )
    adjusted = corrected([effect.p for effect in effects])
    found = [
        replace(
            one,
            p_corrected=float(p),
            direction=compared(
                one.value,
                one.interval,
                launches=one.point.metric.n + one.block.metric.n,
                comparisons=len(effects),
            ).direction,
        )
        for one, p in zip(effects, adjusted, strict=True)
    ]
    return OrderFindings(tuple(_chosen(found)), skipped)


def _chosen(effects: Sequence[OrderEffect]) -> list[OrderEffect]:
    """The effects; the interval of each work's fastest order allows for its choice."""
    found = list(effects)
    works: dict[str, list[int]] = {}
    for place, one in enumerate(effects):
        works.setdefault(one.block.summary.id, []).append(place)
    for places in works.values():
        own = [effects[place] for place in places]
        values = [one.value for one in own]
        first = values.index(min(values))
        known = [Estimate(one.value, one.interval) for one in own]
        ends, among = chosen_interval(known, first)
        if ends is not None:
            found[places[first]] = replace(own[first], interval=ends, among=among)
    return found


def _groups(cells: Sequence[CellSummary]) -> list[list[Point]]:
    """Groups of two or more points on several nodes that differ only in order."""
    groups: dict[tuple[object, ...], list[Point]] = {}
    for kernel in dict.fromkeys(cell.kernel for cell in cells):
        for point in points(cells, kernel, METRIC):
            cell = point.summary.cell
            place = cell.placement
            if place.nodes < 2:
                continue
            parameters = tuple(sorted((k, str(v)) for k, v in cell.parameters.items()))
            rest = (place.nodes, place.ppn, place.threads, place.binding, place.adapter)
            key = (kernel, parameters, cell.toolchain, *rest, place.node_set)
            groups.setdefault(key, []).append(point)
    return [group for group in groups.values() if len(group) > 1]


def sent_bytes(cell: Cell, run: RunData) -> SentBytes | None:
    """Bytes sent in a cell's order: by its kernel's formula, or by the matrix of a file."""
    share = run.manifest.plan.between.get(cell.id)
    if share is not None:
        return SentBytes(share, 1.0)
    kernel = known_kernel(cell.kernel)
    if kernel is None or kernel.peers is None:
        return None
    placement = cell.placement
    peers = kernel.peers(cell.parameters, placement.ranks, placement.threads)
    seats = seats_by_rank(placement.order, placement.nodes, placement.ppn)
    between = math.fsum(
        sent for (one, other), sent in peers.items() if seats[one][0] != seats[other][0]
    )
    return SentBytes(between, math.fsum(peers.values()))


def order_name(cell: Cell, run: RunData) -> str:
    """``cyclic``, ``fitted``, or a shortened list."""
    order = cell.placement.order
    if order in ORDERS:
        return order
    if cell.id in run.manifest.plan.fitted:
        return "fitted"
    return short_order(order)


def is_collective(point: Point) -> bool:
    """Whether the point measures a single collective operation."""
    return point.summary.kernel == collective_points.KERNEL


def effect_key(effect: OrderEffect) -> tuple[str, str]:
    """A key that is equal for an order's effects on one kernel or collective operation."""
    name = effect.point.summary.kernel
    if is_collective(effect.point):
        name = collective_points.operation(effect.point)
    return name, effect.order


def work_name(point: Point) -> str:
    """``MG class A``, ``allreduce of 32 KiB``."""
    if not is_collective(point):
        return cell_name(point.summary.cell)
    op = collective_points.operation(point)
    barrier = ", timed after a barrier" if collective_points.timing(point) == "barrier" else ""
    of = "" if op == "barrier" else f" of {format_size(collective_points.size(point))}"
    return f"{op}{of}{barrier}"
