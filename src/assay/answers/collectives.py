"""Collective operations: what they cost, how that grows, what rank order and timing do to it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence

from assay.answers.collective_points import (
    KERNEL,
    alike_but,
    apart,
    growing,
    largest,
    law_of,
    name_of,
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
from assay.answers.model import Evidence
from assay.answers.select import (
    Interval,
    Part,
    Point,
    best,
    evidence,
    labeller,
    points,
    quantity_text,
    ratio,
)
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.units import counted, format_quantity, format_size


def collectives_part(cells: Sequence[CellSummary], run: RunData) -> Part | None:
    """The collectives' part of the network's answer; None if no usable cell measured one."""
    found = points(cells, KERNEL, "time")
    if not found:
        return None
    usual = usual_points(found)
    head = best(shortest(of_op(usual, operations(usual)[0])))
    part = Part(headline=[head])
    label = labeller(found)
    for op in operations(usual):
        own = largest(of_op(usual, op))
        ends = [shortest(own), [p for p in own if size(p) == max(map(size, own))]]
        for point in {p.summary.id: p for p in map(best, ends)}.values():
            part.evidence.append(evidence(name_of(point), point, "time", note=label(point)))
    part.evidence += [_growth_row(group) for group in growing(usual)]
    part.remark = (
        f"{_article(operation(head))} {name_of(head)} takes "
        f"{format_quantity(head.metric.median, 's')}"
    )
    _say_orders(part, found)
    _say_timing(part, found, run)
    _say_clocks(part, found, run)
    part.method.insert(
        0,
        "Collectives: each call by itself, from a time that all ranks agreed on by a common clock "
        "to the last rank's finish (Hunold & Carpen-Amarie)."
        if timing(head) == "appointed"
        else "Collectives: each call by itself after a barrier, timed on the slowest rank.",
    )
    return part


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _growth_row(group: Sequence[Point]) -> Evidence:
    few, most = group[0], group[-1]
    value, interval = ratio(most.metric, few.metric)
    law = law_of(group)
    of = "" if operation(few) == "barrier" else f" of {format_size(size(few))}"
    return Evidence(
        label=f"{operation(few)}{of}, {ranks(few)} → {ranks(most)} ranks",
        metric="growth",
        unit="",
        value=value,
        ci95=interval,
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=[few.summary.id, most.summary.id],
        note=f"grows with the {law} of ranks" if law else "",
    )


def _say_orders(part: Part, found: Sequence[Point]) -> None:
    """Where the order of ranks makes a difference that both intervals allow to be told."""
    groups = [group for group in alike_but(found, "order") if len(group) > 1]
    if not groups:
        return
    part.method.append(
        "Rank orders are compared at the same operation, size and placement (Barczak et al. 2003, "
        "figures 5 and 6)."
    )
    worst: dict[str, tuple[float, Point, Point, Interval]] = {}
    for group in groups:
        quick = min(group, key=lambda point: point.metric.median)
        slow = max(group, key=lambda point: point.metric.median)
        times, interval = ratio(slow.metric, quick.metric)
        if interval is None or not apart(slow, quick):
            continue
        if operation(slow) not in worst or times > worst[operation(slow)][0]:
            worst[operation(slow)] = (times, slow, quick, interval)
    for times, slow, quick, interval in worst.values():
        part.evidence.append(_order_row(times, interval, slow, quick))
        slow_order, order = (p.summary.cell.placement.order for p in (slow, quick))
        part.advice.append(
            f"{_capital(name_of(slow))} takes {quantity_text(times, '', interval)} as long in "
            f"{slow_order} as in {order} order: order ranks {order} for codes that live on it."
        )
    if not worst:
        part.limits.append("Rank order made no difference that the intervals would show.")


def _order_row(times: float, interval: Interval, slow: Point, quick: Point) -> Evidence:
    slow_order, order = (p.summary.cell.placement.order for p in (slow, quick))
    return Evidence(
        label=f"{name_of(slow)}, {slow_order} against {order} order",
        metric="ratio",
        unit="",
        value=times,
        ci95=interval,
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=[slow.summary.id, quick.summary.id],
    )


def _say_timing(part: Part, found: Sequence[Point], run: RunData) -> None:
    """Where timing after a barrier misleads: of each operation the case that does so most."""
    pairs = timed_both_ways(found)
    if not pairs:
        return
    misled: dict[str, tuple[float, Point, Point]] = {}
    for appointed, barrier in pairs:
        if not apart(appointed, barrier):
            continue
        off = abs(math.log(barrier.metric.median / appointed.metric.median))
        op = operation(barrier)
        if op not in misled or off > misled[op][0]:
            misled[op] = (off, appointed, barrier)
    agreeing = sum(not apart(*pair) for pair in pairs)
    part.method.append(
        f"Timing after a barrier, as is usual, agrees with the common start in {agreeing} of "
        f"{counted(len(pairs), 'case')} within the intervals."
    )
    for _, appointed, barrier in misled.values():
        skew = _fact(run, [barrier], "barrier_skew")
        why = f"; the barrier lets its ranks go {format_quantity(skew, 's')} apart" if skew else ""
        times, interval = ratio(barrier.metric, appointed.metric)
        part.caveats.append(
            f"Timed after a barrier, {name_of(barrier)} would seem to take "
            f"{quantity_text(times, '', interval)} of what it takes from a common start{why}."
        )


def _say_clocks(part: Part, found: Sequence[Point], run: RunData) -> None:
    domains = _fact(run, found, "clock_domains", max)
    error = _fact(run, found, "clock_error", max)
    if domains is None or error is None:
        return
    if domains < 2:
        part.limits.append(
            "All ranks read the same clock, so collectives carry no error of synchronisation."
        )
        return
    trip = _fact(run, found, "clock_round_trip", max)
    known = (
        f", which messages of {format_quantity(trip, 's')} there and back can tell" if trip else ""
    )
    part.limits.append(
        f"The clocks of {domains:.0f} hosts came {format_quantity(error, 's')} apart at most by "
        f"the end of a measurement{known}."
    )


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


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
