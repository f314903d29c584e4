"""Sentences on the checks of a fleet."""

from __future__ import annotations

from assay.check.components import BY_NAME
from assay.check.fleet.decline import NodeDecline
from assay.subjects.checks.model import BadState, ChecksFindings
from assay.units import counted, format_change, format_duration, format_minute, listed

STATES: dict[BadState, str] = {
    "failing": "fails its checks",
    "declining": "becomes slower",
    "silent": "has not been checked for long",
    "damaged": "has a damaged file",
    "failed": "failed earlier and is healthy now",
}
# Plural verbs for the same states.
_PLURAL: dict[BadState, str] = {
    "failing": "fail their checks",
    "declining": "become slower",
    "silent": "have not been checked for long",
    "damaged": "have a damaged file",
    "failed": "failed earlier and are healthy now",
}
_MOST_NAMED = 8


def title_of(component: str) -> str:
    """A component's name in sentences."""
    return BY_NAME[component].title


def decline_text(decline: NodeDecline) -> str:
    """``memory bandwidth −3.1% over 20 checks``."""
    change = format_change(decline.change)
    return f"{title_of(decline.component)} {change} over {counted(decline.checks, 'check')}"


def silence_text(seconds: float | None) -> str:
    """``no check for 3 d``."""
    return "no check yet" if seconds is None else f"no check for {format_duration(seconds)}"


def kind_text(kind: str) -> str:
    """A kind of nodes as it is shown."""
    return kind or "no baseline yet"


def state_text(state: BadState, number: int) -> str:
    """``3 nodes fail their checks``."""
    return f"{counted(number, 'node')} {STATES[state] if number == 1 else _PLURAL[state]}"


def named(hosts: list[str]) -> str:
    """Names of nodes; of many only the first."""
    if len(hosts) <= _MOST_NAMED:
        return listed(hosts)
    return f"{', '.join(hosts[:_MOST_NAMED])} and {len(hosts) - _MOST_NAMED} more"


def verdict_of(found: ChecksFindings) -> str:
    """The verdict on the fleet."""
    total = len(found.nodes)
    if not total:
        return "No node has been checked yet."
    parts = []
    states: tuple[BadState, ...] = ("failing", "declining", "silent", "damaged")
    for state in states:
        nodes = found.of(state)
        if nodes:
            hosts = named([node.host for node in nodes])
            parts.append(f"{state_text(state, len(nodes))} ({hosts})")
    parts += [
        f"all {counted(kind.nodes, 'node')} of kind {kind.kind} together are slower in "
        f"{title_of(kind.component)} than their baseline "
        f"({format_change(kind.change, kind.interval)})"
        for kind in found.declining_kinds
    ]
    if not parts:
        return f"Nothing is wrong with the {counted(total, 'node')} of this fleet."
    return f"Of {counted(total, 'node')}: {'; '.join(parts)}."


def summary_line(found: ChecksFindings) -> str:
    """The fleet in one line."""
    if not found.nodes or found.since is None:
        return counted(len(found.nodes), "node")
    checks = found.healthy + found.unhealthy + found.undecided
    outcomes = f"{found.unhealthy:,} unhealthy, {found.undecided:,} undecided"
    since = f"since {format_minute(found.since)} UTC"
    nodes = counted(len(found.nodes), "node")
    return f"{nodes}, {counted(checks, 'check')} {since} ({outcomes})"
