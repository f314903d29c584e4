"""Findings on collectives: time, growth with ranks, effects of rank order and timing method."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from assay.models.network.minimum import GROWTH, ORDERS, TIMINGS, MinimumData, MissingData
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import Point, chosen_best, points
from assay.questions.network.collectives.points import (
    KERNEL,
    Law,
    alike_but,
    apart,
    comparable,
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
from assay.questions.network.collectives.variants import (
    VariantFindings,
    find_variants,
    is_usual,
)
from assay.records.model import RunData
from assay.stats.compare.chosen import chosen_interval
from assay.stats.core.intervals import Estimate


@dataclass(frozen=True)
class RankGrowth:
    """Growth of the time of one operation with the number of ranks."""

    #: Time on the most ranks over the time on the fewest.
    times: Ratio
    #: Law of growth: the logarithm of the number of ranks, or the number itself. None if neither
    #: law has clearly more support, if the time doesn't grow beyond the range of ``times``, or if
    #: there are too few launches or rank counts.
    law: Law | None
    #: Points by ascending number of ranks.
    points: tuple[Point, ...]


@dataclass(frozen=True)
class TimingComparison:
    """One call timed after a barrier and from a common start."""

    #: Time after a barrier over the time from a common start.
    times: Ratio
    #: Time between the first and the last rank that the barrier releases, in s; None if not
    #: measured.
    skew: float | None


@dataclass(frozen=True)
class ClockAgreement:
    """The clocks with which collectives were timed."""

    #: Number of hosts with separate clocks.
    domains: float
    #: Largest difference between two clocks at the end of a measurement, in s.
    error: float
    #: Round trip of the messages that compare the clocks, in s; None if not recorded.
    round_trip: float | None


@dataclass(frozen=True)
class CollectiveFindings:
    """Collective operations of a run."""

    #: The smallest call of the first operation.
    head: Point
    #: Timing of ``head``: appointed or barrier.
    timing: str
    #: The smallest and the largest call of each operation on the most ranks.
    ends: tuple[Point, ...]
    #: Growth with ranks, by operation.
    growth: tuple[RankGrowth, ...]
    #: Number of cases that were measured in several rank orders, with intervals.
    orders_compared: int
    #: Time in the slowest order over the time in the fastest: for each operation, the largest ratio
    #: that exceeds 1 beyond its range.
    orders: tuple[Ratio, ...]
    #: Number of calls that were timed both ways, with intervals.
    timings_compared: int
    #: Number of these calls whose intervals overlap.
    timings_agreeing: int
    #: The largest difference beyond the range of its ratio, for each operation.
    timings: tuple[TimingComparison, ...]
    #: Agreement of the clocks; None if not recorded.
    clocks: ClockAgreement | None
    #: Persistent calls and blocks of different sizes.
    variants: VariantFindings
    #: Data that are missing for comparisons and laws of growth.
    missing: tuple[MissingData, ...]
    #: All points.
    points: tuple[Point, ...] = field(metadata=INTERNAL)
    #: ``size_curves``, ``rank_curves``, ``order_curve``, ``timing_pairs``: points of the figures,
    #: without calls of 0 s.
    size_curves: tuple[Point, ...] = field(metadata=INTERNAL)
    rank_curves: tuple[Point, ...] = field(metadata=INTERNAL)
    order_curve: tuple[Point, ...] = field(metadata=INTERNAL)
    timing_pairs: tuple[Ratio, ...] = field(metadata=INTERNAL)


def find(measured: Measured) -> CollectiveFindings | None:
    """Findings on collectives; None if no usable cell measured one."""
    every = points(measured.cells, KERNEL, "time")
    if not every:
        return None
    # Without usual calls the variants are reported as if they were usual.
    found = [point for point in every if is_usual(point)] or every
    usual = usual_points(found)
    head = chosen_best(shortest(of_op(usual, operations(usual)[0])))
    # A call shorter than the step of the clock may have a median of 0 s, which allows no ratios.
    timed = [point for point in found if point.metric.median > 0]
    usual_timed = usual_points(timed) if timed else []
    ordered = [group for group in alike_but(timed, "order") if len(group) > 1]
    orders = [group for group in ordered if comparable(group)]
    both = timed_both_ways(timed)
    pairs = [pair for pair in both if comparable(pair)]
    series = growing(usual_timed)
    variants = find_variants(every)
    return CollectiveFindings(
        head=head,
        timing=timing(head),
        ends=tuple(_ends(usual)),
        growth=tuple(map(_growth, series)),
        orders_compared=len(orders),
        orders=tuple(_slowest_orders(orders)),
        timings_compared=len(pairs),
        timings_agreeing=sum(not apart(*pair) for pair in pairs),
        timings=tuple(_misleading(pairs, measured.run)),
        clocks=_clocks(every, measured.run),
        variants=variants,
        missing=(
            *_missing(GROWTH, [group for group in series if len(group) >= GROWTH.points], ranks),
            *_missing(ORDERS, [] if orders else ordered),
            *_missing(TIMINGS, [] if pairs else both),
            *variants.missing,
        ),
        points=tuple(found),
        size_curves=tuple(_size_curves(usual_timed)),
        rank_curves=tuple(point for group in series if len(group) > 2 for point in group),
        order_curve=tuple(_order_curve(timed)),
        timing_pairs=tuple(_timing_pairs(timed)),
    )


def _ends(usual: Sequence[Point]) -> list[Point]:
    """The smallest and the largest call of each operation on the most ranks."""
    found: dict[str, Point] = {}
    for op in operations(usual):
        own = largest(of_op(usual, op))
        longest = [point for point in own if size(point) == max(map(size, own))]
        found |= {
            point.summary.id: point for point in (chosen_best(shortest(own)), chosen_best(longest))
        }
    return list(found.values())


def _missing(
    method: MinimumData,
    groups: Sequence[Sequence[Point]],
    point_of: Callable[[Point], int] | None = None,
) -> list[MissingData]:
    """The data that a method lacks in the first group that has too few."""
    for group in groups:
        launches = {
            point_of(point) if point_of else number: point.metric.n
            for number, point in enumerate(group, 1)
        }
        if lack := method.missing(launches):
            return [lack]
    return []


def _growth(group: Sequence[Point]) -> RankGrowth:
    enough = [point for point in group if point.metric.n >= GROWTH.launches]
    lack = GROWTH.missing({ranks(point): point.metric.n for point in group})
    times = ratio_of(group[-1], group[0])
    return RankGrowth(
        times=times,
        law=None
        if lack or times.compared().direction != "more"
        else growth_law([ranks(p) for p in enough], [p.metric.median for p in enough]),
        points=tuple(group),
    )


def _slowest_orders(groups: Sequence[Sequence[Point]]) -> list[Ratio]:
    """The slowest order over the fastest: the largest ratio of each operation.

    Each is chosen among the ratios of all pairs of orders.
    """
    pairs: dict[str, list[Ratio]] = {}
    for group in groups:
        ordered = sorted(group, key=lambda point: -point.metric.median)
        own = [ratio_of(slow, quick) for slow, quick in combinations(ordered, 2)]
        pairs.setdefault(operation(group[0]), []).extend(own)
    return _largest(pairs)


def _misleading(pairs: Sequence[tuple[Point, Point]], run: RunData) -> list[TimingComparison]:
    """The case of each operation in which the two timings differ most."""
    both: dict[str, list[Ratio]] = {}
    for appointed, barrier in pairs:
        both.setdefault(operation(barrier), []).append(ratio_of(barrier, appointed))
    return [
        TimingComparison(one, _fact(run, [one.above], "barrier_skew")) for one in _largest(both)
    ]


def _largest(ratios: Mapping[str, Sequence[Ratio]]) -> list[Ratio]:
    """The ratio of each operation that differs most from 1, if it does so beyond its range.

    All ratios of all operations count as comparisons.
    """
    number = sum(map(len, ratios.values()))
    found = []
    for own in ratios.values():
        far = [abs(math.log(one.value)) for one in own]
        place = far.index(max(far))
        times = own[place]
        if times.compared(comparisons=number).direction == "open":
            continue
        interval, among = chosen_interval([Estimate(one.value, one.ci95) for one in own], place)
        found.append(replace(times, ci95=interval, among=among))
    return found


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
    """A fact of these points' measurements, by default its median; None if none has it."""
    wanted = {point.summary.id for point in found}
    values = [
        float(value)
        for measurement in run.measurements
        if measurement.cell.id in wanted
        and isinstance(value := measurement.record.facts.get(name), (int, float))
    ]
    return combine(values) if values else None


def _size_curves(usual: Sequence[Point]) -> list[Point]:
    """The curve with the most sizes, for each operation on the most ranks."""
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
    # The points timed from appointed starts; all points if there are none.
    timed = [point for point in compared if timing(point) == "appointed"] or compared
    first = largest(of_op(timed, operations(compared)[0]))
    own = max(alike_but(first, "order", "bytes"), key=len)
    if len({size(point) for point in own}) < 2:
        return []
    return sorted(own, key=lambda point: (point.summary.cell.placement.order, size(point)))


def _timing_pairs(found: Sequence[Point]) -> list[Ratio]:
    """The ratios of the two timings on the most ranks that were timed both ways."""
    pairs = timed_both_ways(found)
    most = max((ranks(appointed) for appointed, _ in pairs), default=0)
    return [
        ratio_of(barrier, appointed) for appointed, barrier in pairs if ranks(appointed) == most
    ]
