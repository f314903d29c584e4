"""Limits of message bandwidth: the link between nodes, and copies through memory within a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.questions.common.answer import Bound
from assay.questions.common.selection import best, points
from assay.questions.network.messages.sweeps import MessageSweep
from assay.records.model import RunData
from assay.reference.messages import published_messages
from assay.stats.core.model import CellSummary
from assay.system.model import Adapter, System
from assay.units import counted, format_quantity

_UP = ("up", "active")


@dataclass(frozen=True)
class LinkLimit:
    """A limit of the bandwidth of messages."""

    #: Bandwidth, in B/s.
    bandwidth: float
    #: Source of the limit, as text.
    source: str
    #: Name of the limit in a sentence.
    short: str
    #: Whether no message can exceed the limit, since it is the speed of the only usable link.
    strict: bool = False
    #: Kind of the limit: reported for the speed of a link; empty for a copy through memory, which
    #: messages in a cache can exceed.
    bound: Bound = ""


def message_limit(
    sweep: MessageSweep, cells: Sequence[CellSummary], run: RunData
) -> LinkLimit | None:
    """The limit of a sweep's bandwidth; None if none is known."""
    return _link(sweep, run) if sweep.reach == "between nodes" else _copying(cells)


def _link(sweep: MessageSweep, run: RunData) -> LinkLimit | None:
    """The link speed of the adapter in use, as the run's manifest reports it."""
    system = System.known(run.manifest.system)
    adapters = [
        adapter for adapter in (system.adapters if system else []) if adapter.speed is not None
    ]
    named = sweep.placement.adapter
    if named is not None:
        chosen = [a for a in adapters if a.name == named or a.name.partition(":")[0] == named]
        note = ""
    else:
        up = [a for a in adapters if a.state in _UP and a.kind != "loopback"]
        # If there are physical devices, a bridge or a tunnel uses one of their links.
        chosen = [a for a in up if a.physical is not False] or up
        note = ", the fastest adapter that is up; it is unknown which adapter the MPI library used"
    if not chosen:
        return None
    fastest = max(chosen, key=lambda adapter: adapter.speed or 0.0)
    only = len({adapter.speed for adapter in chosen}) == 1
    return _of_link(fastest, "" if only else note)


def _of_link(adapter: Adapter, note: str) -> LinkLimit:
    """The adapter's link speed, or the bandwidth of its bus if that is lower.

    In Barczak, Messom & Johnson (2003), table 1, Gigabit Ethernet reached 600 to 920 Mbit/s,
    depending on the bus.
    """
    speed = adapter.speed or 0.0
    rate = format_quantity(speed, "B/s")
    if adapter.bus is not None and adapter.bus < speed:
        carried = format_quantity(adapter.bus, "B/s")
        lanes = counted(adapter.bus_width or 0, "lane")
        return LinkLimit(
            adapter.bus,
            f"bus of {adapter.name}: PCI Express, {lanes} at {(adapter.bus_rate or 0.0) / 1e9:g} "
            f"GT/s, carries at most {carried} each way, less than its link of {rate}{note}",
            f"{adapter.name}'s bus",
            strict=not note,
            bound="reported",
        )
    return LinkLimit(
        speed,
        f"link speed of {adapter.name}, {rate} each way{note}",
        f"{adapter.name}'s link speed",
        strict=not note,
        bound="reported",
    )


def _copying(cells: Sequence[CellSummary]) -> LinkLimit | None:
    """Half of STREAM copy on one core: STREAM counts a copied byte as read and as written."""
    copies = [
        point
        for point in points(cells, "memory.stream", "bandwidth")
        if point.parameter("op") == "copy" and point.cores == 1
    ]
    if not copies:
        return None
    return LinkLimit(
        best(copies).metric.median / 2,
        "one copy through memory by one core (half of STREAM copy's bandwidth); messages that stay "
        "in a cache can exceed it",
        "the bandwidth of one copy through memory",
    )


def published_text() -> str:
    """Published ping-pong results of clusters, as one sentence."""
    clauses = []
    for entry in published_messages():
        latency = f"{format_quantity(entry.latency, 's')} and " if entry.latency else ""
        rate = format_quantity(entry.bandwidth, "B/s")
        clauses.append(f"{entry.system} ({entry.network}) {latency}{rate}, {entry.source}")
    return f"Published ping-pong results between two nodes: {'; '.join(clauses)}."
