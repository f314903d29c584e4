"""What the order of ranks does: to the time of each work, and to the bytes between its nodes.

Barczak, Messom & Johnson (2003, figures 5 and 6) found collectives to depend on the order in which
ranks are dealt out to nodes; here every work is held against itself in block order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.answers import collective_points
from assay.answers.factor_words import p_text
from assay.answers.model import Evidence
from assay.answers.placement_data import METRIC, costs_of, name_of
from assay.answers.select import Interval, Part, Point, points
from assay.kernels import known_kernel
from assay.plans.model import Cell
from assay.plans.order import ORDERS, seats_by_rank
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.units import counted, format_quantity, format_share, format_size

# At which a difference, corrected for all comparisons, is told.
SURE = 0.05
# Comparisons in the verdict, and in the evidence.
_SAID, _ROWS = 3, 24
# A hundredth more or less is as many.
_AS_MANY = 0.005


@dataclass(frozen=True)
class Sent:
    """What ranks send each other, one to one, in one operation: ``between`` nodes, and in ``all``.

    In bytes; of a matrix from a file, in parts of it (``all`` is 1).
    """

    between: float
    all: float

    @property
    def share(self) -> float:
        """The part that goes from node to node."""
        return self.between / self.all if self.all > 0 else 0.0


@dataclass(frozen=True)
class OrderEffect:
    """One order against block order, all else equal.

    ``order``: a name, ``fitted``, or seats. ``value``: its time over that in block order, with
    ``interval``. ``p``: that they differ; ``p_corrected``: by Holm for all of the run. ``sent``,
    ``sent_in_block``: None where nobody knows what ranks send.
    """

    work: str
    where: str
    order: str
    point: Point
    block: Point
    value: float
    interval: Interval
    p: float
    p_corrected: float
    sent: Sent | None
    sent_in_block: Sent | None

    @property
    def sure(self) -> bool:
        """Whether there is a difference: by the test, and by the interval."""
        low, high = self.interval
        return self.p_corrected <= SURE and not low <= 1.0 <= high

    @property
    def bytes_times(self) -> float | None:
        """Bytes between nodes over those in block order; None where that is unknown or none."""
        if self.sent is None or self.sent_in_block is None or self.sent_in_block.between <= 0:
            return None
        return self.sent.between / self.sent_in_block.between


@dataclass(frozen=True)
class Orders:
    """All comparisons of a run; ``few``: how many orders had too few launches for one."""

    effects: tuple[OrderEffect, ...]
    few: int


def orders_of(cells: Sequence[CellSummary], run: RunData) -> Orders:
    """Every order that was measured beside block order, with everything else equal."""
    from assay.stats.compare import location_differs
    from assay.stats.multiple import corrected

    costs = costs_of(run)
    made: list[OrderEffect] = []
    few = 0
    for group in _groups(cells):
        block = next((p for p in group if p.summary.cell.placement.order == "block"), None)
        if block is None:
            continue
        sent_in_block = sent(block.summary.cell, run)
        for point in group:
            if point is block:
                continue
            pair = None
            if point.metric.ci95 is not None and block.metric.ci95 is not None:
                both = {p.summary.id: list(costs[p.summary.id].values()) for p in (block, point)}
                (pair,) = location_differs(both).pairs
            if pair is None or pair.ratio is None or pair.ratio_ci95 is None:
                few += 1
                continue
            cell = point.summary.cell
            made.append(
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
                    sent=sent(cell, run),
                    sent_in_block=sent_in_block,
                )
            )
    adjusted = corrected([effect.p for effect in made])
    effects = [replace(each, p_corrected=float(p)) for each, p in zip(made, adjusted, strict=True)]
    return Orders(tuple(effects), few)


def _groups(cells: Sequence[CellSummary]) -> list[list[Point]]:
    """Points that differ in order alone, two at least, of ranks on several nodes."""
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


def sent(cell: Cell, run: RunData) -> Sent | None:
    """What goes between nodes in a cell's order: by its kernel's formula, or by a matrix's file."""
    share = run.manifest.plan.between.get(cell.id)
    if share is not None:
        return Sent(share, 1.0)
    kernel = known_kernel(cell.kernel)
    if kernel is None or kernel.peers is None:
        return None
    placement = cell.placement
    peers = kernel.peers(cell.parameters, placement.ranks, placement.threads)
    seats = seats_by_rank(placement.order, placement.nodes, placement.ppn)
    between = math.fsum(
        sent for (one, other), sent in peers.items() if seats[one][0] != seats[other][0]
    )
    return Sent(between, math.fsum(peers.values()))


def order_name(cell: Cell, run: RunData) -> str:
    """``cyclic``, ``fitted``, or a list's beginning."""
    order = cell.placement.order
    if order in ORDERS:
        return order
    if cell.id in run.manifest.plan.fitted:
        return "fitted"
    seats = order.split(",")
    return f"{','.join(seats[:8])}{',…' if len(seats) > 8 else ''}"


def is_collective(point: Point) -> bool:
    """Whether it is of one collective operation by itself."""
    return point.summary.kernel == collective_points.KERNEL


def work_name(point: Point) -> str:
    """``MG class A``, ``allreduce of 32 KiB``."""
    if not is_collective(point):
        return name_of(point.summary.cell)
    op = collective_points.operation(point)
    barrier = ", timed after a barrier" if collective_points.timing(point) == "barrier" else ""
    of = "" if op == "barrier" else f" of {format_size(collective_points.size(point))}"
    return f"{op}{of}{barrier}"


def order_part(found: Orders) -> Part:
    """What the answer says of rank orders."""
    told = sorted(
        (effect for effect in found.effects if effect.sure), key=lambda e: -abs(math.log(e.value))
    )
    part = Part(headline=_headline(told or found.effects))
    count = counted(len(found.effects), "comparison")
    part.remark = "; ".join(map(sentence, _most_telling(told)[:_SAID])) or (
        f"no order of ranks was found to differ from block order in {count}"
    )
    shown = [*told, *(effect for effect in found.effects if not effect.sure)]
    part.evidence = [_evidence(effect) for effect in shown[:_ROWS]]
    part.advice = _advice(told)
    part.method = [
        "Rank orders: each against block order with everything else equal, medians over launches, "
        "by Welch's, Mann & Whitney's or Brunner & Munzel's test as their assumptions allow, "
        f"p-values by Holm for {count}; a difference is told if its interval shows it too. Bytes "
        "between nodes are of what ranks send each other one by one, as the kernel's formulas or "
        "the communication matrix have it; what collective operations send is the MPI library's "
        "own matter (Barczak, Messom & Johnson 2003, figures 5 and 6)."
    ]
    if found.few:
        part.limits = [
            f"{counted(found.few, 'other order')} had too few launches to be held against block "
            "order."
        ]
    return part


def _headline(effects: Sequence[OrderEffect]) -> list[Point]:
    both = [point for effect in effects for point in (effect.point, effect.block)]
    return list({point.summary.id: point for point in both}.values())


def _most_telling(told: Sequence[OrderEffect]) -> list[OrderEffect]:
    """Of each order, and each kernel or collective operation, the strongest of the effects."""
    strongest: dict[tuple[str, str], OrderEffect] = {}
    for effect in told:
        name = effect.point.summary.kernel
        if is_collective(effect.point):
            name = collective_points.operation(effect.point)
        strongest.setdefault((name, effect.order), effect)
    return list(strongest.values())


def sentence(effect: OrderEffect) -> str:
    """``cyclic order costs MG class A 8% over block …: 3.1 times the bytes between nodes``."""
    low, high = effect.interval
    if effect.value >= 1.0:
        verb, size = "costs", format_share(effect.value - 1.0, (low - 1.0, high - 1.0))
    else:
        verb, size = "gains", format_share(1.0 - effect.value, (1.0 - high, 1.0 - low))
    return (
        f"{order_words(effect.order)} {verb} {effect.work} {size} over block on {effect.where} "
        f"ranks ({p_text(effect.p_corrected)}){bytes_words(effect)}"
    )


def order_words(order: str) -> str:
    """``cyclic order``; ``the order 0,2,1,3``."""
    return f"the order {order}" if order[:1].isdigit() else f"{order} order"


def bytes_words(effect: OrderEffect) -> str:
    """``: 3.1 times the bytes between nodes``; nothing where they aren't known."""
    times = effect.bytes_times
    if times is None:
        more = effect.sent is not None and effect.sent.between > 0
        known = effect.sent_in_block is not None
        return ": bytes between nodes, where block has none" if known and more else ""
    if abs(times - 1.0) < _AS_MANY:
        return ": as many bytes between nodes"
    if times > 1.0:
        return f": {times:.3g} times the bytes between nodes"
    return f": {format_share(times)} of the bytes between nodes"


def _evidence(effect: OrderEffect) -> Evidence:
    told = f"{p_text(effect.p_corrected)}{'' if effect.sure else ', no difference to be told'}"
    return Evidence(
        label=f"{effect.work}, {order_words(effect.order)} over block, {effect.where} ranks",
        metric="ratio of times",
        unit="",
        value=effect.value,
        ci95=effect.interval,
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=[effect.point.summary.id, effect.block.summary.id],
        note=f"{told}{bytes_words(effect)}",
    )


def sent_text(sent: Sent | None) -> str | None:
    """``1.2 GB (31%)``: between nodes, and of all; the share alone where only that is known."""
    if sent is None:
        return None
    if sent.all == 1.0:
        return format_share(sent.share)
    return f"{format_quantity(sent.between, 'B')} ({format_share(sent.share)})"


def _advice(told: Sequence[OrderEffect]) -> list[str]:
    """For each work the order that gains most, with its seats."""
    best: dict[tuple[str, str], OrderEffect] = {}
    for effect in sorted((e for e in told if e.value < 1.0), key=lambda e: e.value):
        best.setdefault((effect.work, effect.where), effect)
    return [
        f"{effect.work} on {effect.where} ranks: number ranks in {order_words(effect.order)}"
        f"{_seats(effect)}, which takes "
        f"{format_share(1.0 - effect.value, (1.0 - effect.interval[1], 1.0 - effect.interval[0]))}"
        " off its time."
        for effect in best.values()
    ][:_SAID]


def _seats(effect: OrderEffect) -> str:
    order = effect.point.summary.cell.placement.order
    if order in ORDERS:
        return ""
    return (
        f" (the seat of each rank, counted node after node: {order}; a hostfile with a line a rank "
        "hands it to launchers)"
    )


def by_order(effects: Sequence[OrderEffect]) -> Mapping[str, list[OrderEffect]]:
    """The comparisons of each work and place."""
    groups: dict[str, list[OrderEffect]] = {}
    for effect in effects:
        groups.setdefault(f"{effect.work}, {effect.where} ranks", []).append(effect)
    return groups
