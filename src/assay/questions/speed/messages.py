"""Messages between ranks, as context for speed: latency, bandwidth, barrier.

A run that answers the question on the network reports them there instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.kernels.naming import placement_text
from assay.model.placement import Placement
from assay.questions.common.parts import Part
from assay.questions.common.question import Measured, Topic
from assay.questions.common.selection import Point, chosen_best, evidence, points
from assay.stats.core.model import CellSummary
from assay.units import counted, format_quantity, format_size

METHOD = (
    "Ping-pong: half a round trip between two ranks. A sample contains many round trips if one "
    "is too short for the clock."
)


@dataclass(frozen=True)
class MessageFindings:
    """Ping-pong of two ranks and the barrier, as context."""

    #: Fastest ping-pong at the smallest measured size; None if not measured.
    latency: Point | None
    #: Ping-pong at the size with the best bandwidth; None if not measured.
    bandwidth: Point | None
    #: Barrier over the most cores; None if not measured.
    barrier: Point | None


def find(measured: Measured) -> MessageFindings | None:
    """Findings if the question on the network isn't answered; None if nothing was measured."""
    cells = measured.without_candidates().own_cells().cells
    latencies = blocking(cells, "latency")
    least = min(map(_bytes, latencies), default=0)
    bandwidths = [point for point in blocking(cells, "bandwidth") if _bytes(point) > 0]
    found = MessageFindings(
        chosen_best([p for p in latencies if _bytes(p) == least]) if latencies else None,
        chosen_best(bandwidths) if bandwidths else None,
        find_barrier(cells),
    )
    return found if found.latency or found.bandwidth or found.barrier else None


def find_barrier(cells: Sequence[CellSummary]) -> Point | None:
    """The barrier over the most cores; None if no usable cell measured a barrier."""
    barriers = points(cells, "network.barrier", "time")
    most = max((point.cores for point in barriers), default=0)
    return chosen_best([p for p in barriers if p.cores == most]) if barriers else None


def part(found: MessageFindings) -> Part:
    """The part on ping-pong, at the smallest size and at the best bandwidth, and on the barrier."""
    part = Part()
    if found.latency is not None:
        size, where = _bytes(found.latency), _where(found.latency)
        label = f"Ping-pong latency, {size} B"
        part.evidence.append(evidence(label, found.latency, "latency", note=where))
        time = format_quantity(found.latency.metric.median, "s")
        part.remark = f"a message of {size} B takes {time} ({where})"
    if found.bandwidth is not None:
        label = f"Ping-pong bandwidth, {format_size(_bytes(found.bandwidth))}"
        note = _where(found.bandwidth)
        if found.bandwidth.among == 1:
            note = f"the best size; {note}"
        part.evidence.append(evidence(label, found.bandwidth, "bandwidth", note=note))
    if found.latency or found.bandwidth:
        part.method.append(METHOD)
    if found.barrier is not None:
        barrier = part_of_barrier(found.barrier)
        part.evidence += barrier.evidence
        part.method += barrier.method
    return part


def part_of_barrier(barrier: Point) -> Part:
    """The barrier as a part of an answer."""
    placement = barrier.summary.cell.placement
    label = f"Barrier, {counted(placement.ranks, 'rank')}"
    return Part(
        evidence=[evidence(label, barrier, "time", note=placement_text(placement))],
        method=["Barrier: consecutive calls of MPI_Barrier, timed on the slowest rank."],
    )


def blocking(cells: Sequence[CellSummary], metric: str) -> list[Point]:
    """Ping-pong by MPI_Send and MPI_Recv: a put or a get is not a message with a reply."""
    found = points(cells, "network.pingpong", metric)
    return [point for point in found if point.parameter("mode") in (None, "blocking")]


def _bytes(point: Point) -> int:
    value = point.parameter("bytes")
    return int(value) if isinstance(value, (int, float)) else 0


def _where(point: Point) -> str:
    placement: Placement = point.summary.cell.placement
    return "within a node" if placement.nodes == 1 else f"over {placement.nodes} nodes"


TOPIC = Topic(name="messages", find=find, part=part, kernels=("network.",))
