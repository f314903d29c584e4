"""What the files of a fleet's nodes say about it."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from assay.check.components import BY_NAME
from assay.check.fleet.baselines import FleetBaselines, UsualLevel
from assay.check.fleet.decline import (
    FALSE_DISCOVERIES,
    ComponentSeries,
    NodeDecline,
    kind_declines,
    node_declines,
    series_of,
)
from assay.check.fleet.model import FleetNode, FleetState
from assay.check.fleet.own_levels import own_declines
from assay.check.model import CheckRecord
from assay.subjects.checks.model import (
    BAD_STATES,
    CHECKS_SCHEMA,
    CheckedDay,
    CheckedNode,
    ChecksFindings,
    ComponentLevels,
    DividedFact,
    NodeStateName,
    UndecidedReason,
    UnreadableBaseline,
    WaitingKind,
)
from assay.subjects.checks.words import decline_text, silence_text

_DAY = 86400.0
#: Seconds without a check after which a node counts as silent.
SILENT_AFTER = 2 * _DAY
# What differs between messages of one reason: numbers, and names in quotes.
_VARIABLE = re.compile(r"'[^']*'|[+-]?\d[\d.,]*(?:e[+-]?\d+)?%?")


def find(
    fleet: FleetState,
    utc: float,
    baselines: FleetBaselines | None = None,
) -> ChecksFindings:
    """The findings on a fleet. ``utc``: time of the report, Unix time (s)."""
    baselines = baselines or FleetBaselines()
    usual = baselines.levels()
    series = series_of(fleet.nodes)
    declines = _declines(fleet, series, usual)
    by_host: dict[str, list[NodeDecline]] = defaultdict(list)
    for decline in declines:
        by_host[decline.host].append(decline)
    nodes = [_node(node, by_host[node.host], utc) for node in fleet.nodes]
    rank = {state: place for place, state in enumerate((*BAD_STATES, ""))}
    nodes.sort(key=lambda node: (rank[node.state], node.host))
    records = [(node.host, record) for node in fleet.nodes for record in node.records]
    return ChecksFindings(
        schema=CHECKS_SCHEMA,
        utc=utc,
        folder=str(fleet.folder),
        kinds=dict(sorted(Counter(node.header.kind for node in fleet.nodes).items())),
        since=min(filter(None, (node.header.since for node in fleet.nodes)), default=None),
        healthy=sum(node.header.healthy for node in fleet.nodes),
        unhealthy=sum(node.header.unhealthy for node in fleet.nodes),
        undecided=sum(node.header.undecided for node in fleet.nodes),
        recent=len(records),
        silent_after=SILENT_AFTER,
        nodes=nodes,
        declining=declines,
        declining_kinds=kind_declines(series, usual),
        levels=[_levels(each, usual.get((each.kind, each.component))) for each in series],
        days=_days([record for _, record in records]),
        reasons=_reasons(records),
        divided=[
            DividedFact(each.kind, each.fact, list(each.values), list(each.nodes))
            for each in baselines.divided()
        ],
        without_baseline=[
            UnreadableBaseline(kind, why) for kind, why in baselines.unreadable.items()
        ],
        waiting=[WaitingKind(kind, why) for kind, why in baselines.waiting().items()],
    )


def _declines(
    fleet: FleetState,
    series: Sequence[ComponentSeries],
    usual: Mapping[tuple[str, str], UsualLevel],
) -> list[NodeDecline]:
    """By both tests, which share the rate of false ones; of one component the larger change."""
    level = FALSE_DISCOVERIES / 2
    largest: dict[tuple[str, str], NodeDecline] = {}
    both = [*node_declines(series, level), *own_declines(fleet.nodes, series, usual, level)]
    for each in sorted(both, key=lambda decline: decline.change):
        largest.setdefault((each.host, each.component), each)
    return list(largest.values())


def _node(node: FleetNode, declines: Sequence[NodeDecline], utc: float) -> CheckedNode:
    state, since, times, text = _bad(node, declines, utc)
    return CheckedNode(
        host=node.host,
        kind=node.header.kind,
        state=state,
        since=since,
        times=times,
        text=text,
        healthy=node.header.healthy,
        unhealthy=node.header.unhealthy,
        undecided=node.header.undecided,
        last=node.records[-1].utc if node.records else None,
    )


def _bad(
    node: FleetNode, declines: Sequence[NodeDecline], utc: float
) -> tuple[NodeStateName, float | None, int, str]:
    """What is wrong with a node, since when, how often, and in words."""
    if node.unreadable:
        return "damaged", None, 1, node.unreadable
    failures = [record for record in node.decided if record.outcome == "unhealthy"]
    if failures and node.decided[-1].outcome == "unhealthy":
        lasting = _last_failures(node.decided)
        return "failing", lasting[0].utc, len(lasting), _reason(lasting[-1])
    if declines:
        text = "; ".join(decline_text(each) for each in declines)
        return "declining", declines[0].first, declines[0].checks, text
    last = node.records[-1].utc if node.records else node.header.since
    if utc - last > SILENT_AFTER:
        return "silent", last or None, 0, silence_text(utc - last if last else None)
    if node.damaged:
        return "damaged", None, node.damaged, "parts of its file are damaged"
    if failures:
        return "failed", failures[-1].utc, len(failures), _reason(failures[-1])
    return "", None, 0, ""


def _last_failures(decided: Sequence[CheckRecord]) -> list[CheckRecord]:
    """The failed checks after the last healthy one."""
    found: list[CheckRecord] = []
    for record in reversed(decided):
        if record.outcome != "unhealthy":
            break
        found.insert(0, record)
    return found


def _reason(record: CheckRecord) -> str:
    return record.reason.removeprefix(f"{record.outcome}:").strip()


def _levels(series: ComponentSeries, usual: UsualLevel | None) -> ComponentLevels:
    levels = series.levels()
    component = BY_NAME[series.component]
    sign = 1.0 if component.better == "more" else -1.0
    middle, low, high = (float(np.quantile(levels, q)) for q in (0.5, 0.05, 0.95))
    ends = sorted(math.exp(sign * end) for end in (low, high))
    worst = int(np.argmin(levels))
    return ComponentLevels(
        kind=series.kind,
        component=series.component,
        unit=component.unit,
        nodes=int(levels.size),
        median=math.exp(sign * middle),
        low=ends[0],
        high=ends[1],
        baseline=None if usual is None else usual.value,
        slowest=series.hosts[worst],
        slowest_change=math.expm1(float(levels[worst]) - middle),
    )


def _days(records: Sequence[CheckRecord]) -> list[CheckedDay]:
    counts: dict[float, Counter[str]] = defaultdict(Counter)
    for record in records:
        counts[record.utc // _DAY * _DAY][record.outcome] += 1
    return [
        CheckedDay(day, each["healthy"], each["unhealthy"], each["undecided"])
        for day, each in sorted(counts.items())
    ]


def _reasons(records: Sequence[tuple[str, CheckRecord]]) -> list[UndecidedReason]:
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for host, record in records:
        if record.outcome == "undecided":
            said = _reason(record)
            groups[_VARIABLE.sub("…", said)].append((host, said))
    found = [
        UndecidedReason(
            reason=reason or "no reason recorded",
            checks=len(each),
            nodes=len({host for host, _ in each}),
            example=each[-1][1],
            host=each[-1][0],
        )
        for reason, each in groups.items()
    ]
    return sorted(found, key=lambda each: (-each.checks, each.reason))
