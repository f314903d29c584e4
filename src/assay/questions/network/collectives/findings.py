"""What collectives cost, how that grows with ranks, and the effects of rank order and timing."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import Point, best, points
from assay.questions.network.collectives.points import (
    KERNEL,
    Law,
    alike_but,
    apart,
    growing,
    growth_law,
    largest,
    of_op,
    operation,
    operations,
    ranks,
    shortest,
    size,
    timed_both_ways,
    timing,
    usual_points,
)
from assay.records.model import RunData


@dataclass(frozen=True)
class RankGrowth:
    """How the time of one operation grows with the ranks.

    ``times``: on the most ranks over on the fewest. ``law``: with what it grows, the logarithm or
    the number of ranks; None where neither has clearly more support. ``points``: by ascending
    ranks.
    """

    times: Ratio
    law: Law | None
    points: tuple[Point, ...]


@dataclass(frozen=True)
class TimingComparison:
    """One call timed after a barrier and from a common start.

    ``times``: after a barrier over from a common start. ``skew``: seconds between the first and the
    last rank that the barrier releases, None where not measured.
    """

    times: Ratio
    skew: float | None


@dataclass(frozen=True)
class ClockAgreement:
    """The clocks that collectives were timed with.

    ``domains``: hosts with a clock of their own. ``error``: largest difference between two clocks
    at the end of a measurement, in s. ``round_trip``: of the messages that compare them, in s; None
    where not recorded.
    """

    domains: float
    error: float
    round_trip: float | None


@dataclass(frozen=True)
class CollectiveFindings:
    """Collective operations of a run.

    ``head``: the shortest call of the first operation. ``timing``: of ``head``, appointed or
    barrier. ``ends``: of each operation on the most ranks the shortest and the longest call.
    ``growth``: by operation. ``orders_compared``: cases that were measured in several rank orders.
    ``orders``: of each operation the case with the greatest ratio, where intervals are disjoint:
    the slowest order over the quickest. ``timings_compared``: calls timed both ways, and
    ``timings_agreeing`` of them with overlapping intervals. ``timings``: of each operation the
    greatest difference, where intervals are disjoint. ``clocks``: None where not recorded.

    ``points``: all of them. ``size_curves``, ``rank_curves``, ``order_curve``, ``timing_pairs``:
    what is drawn, without calls of 0 s.
    """

    head: Point
    timing: str
    ends: tuple[Point, ...]
    growth: tuple[RankGrowth, ...]
    orders_compared: int
    orders: tuple[Ratio, ...]
    timings_compared: int
    timings_agreeing: int
    timings: tuple[TimingComparison, ...]
    clocks: ClockAgreement | None
    points: tuple[Point, ...] = field(metadata=INTERNAL)
    size_curves: tuple[Point, ...] = field(metadata=INTERNAL)
    rank_curves: tuple[Point, ...] = field(metadata=INTERNAL)
    order_curve: tuple[Point, ...] = field(metadata=INTERNAL)
    timing_pairs: tuple[Ratio, ...] = field(metadata=INTERNAL)


def find(measured: Measured) -> CollectiveFindings | None:
    """None where no usable cell measured a collective."""
    found = points(measured.cells, KERNEL, "time")
    if not found:
        return None
    usual = usual_points(found)
    head = best(shortest(of_op(usual, operations(usual)[0])))
    orders = [group for group in alike_but(found, "order") if len(group) > 1]
    pairs = timed_both_ways(found)
    drawn = [point for point in found if point.metric.median > 0]
    usual_drawn = usual_points(drawn) if drawn else []
    return CollectiveFindings(
        head=head,
        timing=timing(head),
        ends=tuple(_ends(usual)),
        growth=tuple(map(_growth, growing(usual))),
        orders_compared=len(orders),
        orders=tuple(_slowest_orders(orders)),
        timings_compared=len(pairs),
        timings_agreeing=sum(not apart(*pair) for pair in pairs),
        timings=tuple(_misleading(pairs, measured.run)),
        clocks=_clocks(found, measured.run),
        points=tuple(found),
        size_curves=tuple(_size_curves(usual_drawn)),
        rank_curves=tuple(
            point for group in growing(usual_drawn) if len(group) > 2 for point in group
        ),
        order_curve=tuple(_order_curve(drawn)),
        timing_pairs=tuple(_timing_pairs(drawn)),
    )


def _ends(usual: Sequence[Point]) -> list[Point]:
    """Of each operation on the most ranks the shortest and the longest call."""
    found: dict[str, Point] = {}
    for op in operations(usual):
        own = largest(of_op(usual, op))
        longest = [point for point in own if size(point) == max(map(size, own))]
        found |= {point.summary.id: point for point in (best(shortest(own)), best(longest))}
    return list(found.values())


def _growth(group: Sequence[Point]) -> RankGrowth:
    return RankGrowth(
        times=ratio_of(group[-1], group[0]),
        law=growth_law([ranks(p) for p in group], [p.metric.median for p in group]),
        points=tuple(group),
    )


def _slowest_orders(groups: Iterable[Sequence[Point]]) -> list[Ratio]:
    """Of each operation the slowest order over the quickest where it matters most."""
    worst: dict[str, Ratio] = {}
    for group in groups:
        quick = min(group, key=lambda point: point.metric.median)
        slow = max(group, key=lambda point: point.metric.median)
        times = ratio_of(slow, quick)
        if times.ci95 is None or not apart(slow, quick):
            continue
        if operation(slow) not in worst or times.value > worst[operation(slow)].value:
            worst[operation(slow)] = times
    return list(worst.values())


def _misleading(pairs: Iterable[tuple[Point, Point]], run: RunData) -> list[TimingComparison]:
    """Of each operation the case in which timing after a barrier differs most."""
    worst: dict[str, Ratio] = {}
    for appointed, barrier in pairs:
        if not apart(appointed, barrier):
            continue
        times, op = ratio_of(barrier, appointed), operation(barrier)
        if op not in worst or abs(math.log(times.value)) > abs(math.log(worst[op].value)):
            worst[op] = times
    return [
        TimingComparison(times, _fact(run, [times.above], "barrier_skew"))
        for times in worst.values()
    ]


def _clocks(found: Sequence[Point], run: RunData) -> ClockAgreement | None:
    domains = _fact(run, found, "clock_domains", max)
    error = _fact(run, found, "clock_error", max)
    if domains is None or error is None:
        return None
    return ClockAgreement(domains, error, _fact(run, found, "clock_round_trip", max))


def _fact(
    run: RunData,
    found: Iterable[Point],
    name: str,
    combine: Callable[[list[float]], float] = statistics.median,
) -> float | None:
    """A fact of these points' measurements, by default the median of them; None if none has it."""
    wanted = {point.summary.id for point in found}
    values = [
        float(value)
        for measurement in run.measurements
        if measurement.cell.id in wanted
        and isinstance(value := measurement.record.facts.get(name), (int, float))
    ]
    return combine(values) if values else None


def _size_curves(usual: Sequence[Point]) -> list[Point]:
    """Of each operation on the most ranks the curve with the most sizes."""
    if not usual:
        return []
    curves = [
        max(alike_but(of_op(largest(usual), op), "bytes"), key=len)
        for op in operations(largest(usual))
    ]
    return [point for curve in curves if len(curve) > 1 for point in sorted(curve, key=size)]


def _order_curve(found: Sequence[Point]) -> list[Point]:
    """One operation in several orders (Barczak et al. 2003, figures 5 and 6), by order and size."""
    compared = [point for group in alike_but(found, "order") if len(group) > 1 for point in group]
    if not compared:
        return []
    # Those timed from appointed starts, or all if none was.
    timed = [point for point in compared if timing(point) == "appointed"] or compared
    first = largest(of_op(timed, operations(compared)[0]))
    own = max(alike_but(first, "order", "bytes"), key=len)
    if len({size(point) for point in own}) < 2:
        return []
    return sorted(own, key=lambda point: (point.summary.cell.placement.order, size(point)))


def _timing_pairs(found: Sequence[Point]) -> list[Ratio]:
    """After a barrier over from a common start, on the most ranks timed both ways."""
    pairs = timed_both_ways(found)
    most = max((ranks(appointed) for appointed, _ in pairs), default=0)
    return [
        ratio_of(barrier, appointed) for appointed, barrier in pairs if ranks(appointed) == most
    ]
