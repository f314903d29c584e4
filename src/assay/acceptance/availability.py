"""Availability: available node hours divided by the node hours of a period.

A node is unavailable while an outage lasts. Outages of a node that overlap count once. Where
planned maintenance is excluded, its node hours count neither as available nor as hours of the
period, whatever else happened in them. Time that has not passed yet may become available or not,
so that the availability of a period that has not ended has two bounds.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.acceptance.decision import Outcome

DAY, HOUR = 86400.0, 3600.0
_Spans = list[tuple[float, float]]


@dataclass(frozen=True)
class Downtime:
    """A time at which a node was not available."""

    node: str
    #: ``begin``, ``end``: Unix times in s; ``end`` is infinite for an outage that lasts.
    begin: float
    end: float
    #: Whether it was planned maintenance.
    planned: bool = False


@dataclass(frozen=True)
class DayAvailability:
    """One day of the period."""

    #: Begin of the day, Unix time (s).
    utc: float
    #: Share of its node hours that were available; None if all of them were planned maintenance.
    available: float | None


@dataclass(frozen=True)
class AvailabilityDecision:
    """The decision on an availability."""

    outcome: Outcome
    #: Availability of the time that has passed; None if no node hour counts yet.
    value: float | None
    #: Availability of the whole period, if its remaining time becomes unavailable or available.
    low: float | None
    high: float | None
    #: ``period``: node hours of the period that count. ``passed``: those that have passed.
    period: float
    passed: float
    #: Node hours that were not available, and those of planned maintenance.
    down: float
    planned: float
    #: Number of nodes with an outage, and the days that have begun.
    nodes_down: int
    days: list[DayAvailability]


def decide_availability(
    downtimes: Iterable[Downtime],
    nodes: int,
    period: tuple[float, float],
    now: float,
    at_least: float,
    *,
    planned_excluded: bool,
) -> AvailabilityDecision:
    """Decide by all downtimes of the period (Unix times, s); others are ignored.

    ``now``: the time until which downtimes are known. There is no sampling, and therefore no risk:
    accepted if the lower bound is ``at_least`` or more, rejected if the upper bound is less.
    """
    begin, end = period
    until = min(max(now, begin), end)
    by_node: dict[str, list[Downtime]] = defaultdict(list)
    for each in downtimes:
        if each.end > begin and each.begin < end:
            by_node[each.node].append(each)
    spans = {
        node: _spans_of(found, begin, end, until, planned_excluded=planned_excluded)
        for node, found in by_node.items()
    }
    total = nodes * (until - begin)
    down, excluded = _sums(spans, begin, until)
    # Maintenance that is announced for later hours of the period is excluded from them.
    later = nodes * (end - until) - _sums(spans, until, end)[1]
    passed = total - excluded
    counted = passed + later
    up = passed - down
    low = up / counted if counted > 0.0 else None
    high = (up + later) / counted if counted > 0.0 else None
    outcome: Outcome = "undecided"
    if high is not None and high < at_least:
        outcome = "rejected"
    elif low is not None and low >= at_least:
        outcome = "accepted"
    return AvailabilityDecision(
        outcome=outcome,
        value=up / passed if passed > 0.0 else None,
        low=low,
        high=high,
        period=counted / HOUR,
        passed=passed / HOUR,
        down=down / HOUR,
        planned=excluded / HOUR,
        nodes_down=sum(1 for down_spans, _ in spans.values() if down_spans),
        days=_days(spans, nodes, begin, until),
    )


def _spans_of(
    found: Sequence[Downtime], begin: float, end: float, until: float, *, planned_excluded: bool
) -> tuple[_Spans, _Spans]:
    """The spans in which a node was down, and those that don't count. An outage that lasts is known
    for the time that has passed; maintenance may be announced for later."""

    def clipped(each: Downtime, last: float) -> tuple[float, float]:
        return max(each.begin, begin), min(each.end if math.isfinite(each.end) else until, last)

    planned = [each.planned and planned_excluded for each in found]
    excluded = _united(clipped(f, end) for f, out in zip(found, planned, strict=True) if out)
    down = _united(clipped(f, until) for f, out in zip(found, planned, strict=True) if not out)
    return _without(down, excluded), excluded


def _united(spans: Iterable[tuple[float, float]]) -> _Spans:
    """Disjoint spans in order of time."""
    united: _Spans = []
    for begin, end in sorted(span for span in spans if span[1] > span[0]):
        if united and begin <= united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], end))
        else:
            united.append((begin, end))
    return united


def _without(spans: _Spans, others: _Spans) -> _Spans:
    """What is left of disjoint spans outside of ``others``."""
    left: _Spans = []
    for begin, end in spans:
        at = begin
        for start, stop in others:
            if stop <= at or start >= end:
                continue
            if start > at:
                left.append((at, start))
            at = max(at, stop)
        if at < end:
            left.append((at, end))
    return left


def _sums(
    spans: Mapping[str, tuple[_Spans, _Spans]], begin: float, end: float
) -> tuple[float, float]:
    """Node seconds of ``down`` and ``excluded`` between two times."""
    down, excluded = (
        math.fsum(
            max(min(stop, end) - max(start, begin), 0.0)
            for both in spans.values()
            for start, stop in both[kind]
        )
        for kind in (0, 1)
    )
    return down, excluded


def _days(
    spans: Mapping[str, tuple[_Spans, _Spans]], nodes: int, begin: float, until: float
) -> list[DayAvailability]:
    days = []
    for number in range(math.ceil((until - begin) / DAY)):
        start = begin + number * DAY
        stop = min(start + DAY, until)
        down, excluded = _sums(spans, start, stop)
        counted = nodes * (stop - start) - excluded
        days.append(DayAvailability(start, 1.0 - down / counted if counted > 0.0 else None))
    return days
