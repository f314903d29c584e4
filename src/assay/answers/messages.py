"""Messages between ranks, as context for speed: latency, bandwidth, barrier.

Where a run answers the question of the network they stand there instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.select import Part, Point, best, evidence, placement_text, points
from assay.plans.model import Placement
from assay.stats.model import CellSummary
from assay.units import counted, format_quantity, format_size

METHOD = (
    "Ping-pong: half a round trip between two ranks, many trips a sample where one is too short "
    "for the clock."
)


def messages_part(cells: Sequence[CellSummary]) -> Part | None:
    """Ping-pong at its smallest size and at its best bandwidth, and the barrier; None if neither.

    This is context: what two ranks or one barrier cost says little about a network.
    """
    part = Part()
    latencies = blocking(cells, "latency")
    if latencies:
        size = min(_bytes(point) for point in latencies)
        fastest = best([point for point in latencies if _bytes(point) == size])
        part.evidence.append(
            evidence(
                f"Ping-pong latency, {size} B",
                fastest,
                "latency",
                note=_where(fastest.summary.cell.placement),
            )
        )
        part.remark = (
            f"a message of {size} B takes {format_quantity(fastest.metric.median, 's')} "
            f"({_where(fastest.summary.cell.placement)})"
        )
    bandwidths = [p for p in blocking(cells, "bandwidth") if _bytes(p) > 0]
    if bandwidths:
        widest = best(bandwidths)
        part.evidence.append(
            evidence(
                f"Ping-pong bandwidth, {format_size(_bytes(widest))}",
                widest,
                "bandwidth",
                note=f"the best size; {_where(widest.summary.cell.placement)}",
            )
        )
    barrier = barrier_part(cells)
    part.evidence += barrier.evidence if barrier else []
    if not part.evidence:
        return None
    if latencies or bandwidths:
        part.method.append(METHOD)
    part.method += barrier.method if barrier else []
    return part


def barrier_part(cells: Sequence[CellSummary]) -> Part | None:
    """The barrier over the most cores; None if no usable cell measured one."""
    barriers = points(cells, "network.barrier", "time")
    if not barriers:
        return None
    most = max(point.cores for point in barriers)
    barrier = best([point for point in barriers if point.cores == most])
    ranks = counted(barrier.summary.cell.placement.ranks, "rank")
    where = placement_text(barrier.summary.cell.placement)
    return Part(
        evidence=[evidence(f"Barrier, {ranks}", barrier, "time", note=where)],
        method=["Barrier: a row of MPI_Barrier, timed on the slowest rank."],
    )


def blocking(cells: Sequence[CellSummary], metric: str) -> list[Point]:
    """Ping-pong by MPI_Send and MPI_Recv: a put or a get is no message that is answered."""
    found = points(cells, "network.pingpong", metric)
    return [point for point in found if point.parameter("mode") in (None, "blocking")]


def _bytes(point: Point) -> int:
    value = point.parameter("bytes")
    return int(value) if isinstance(value, (int, float)) else 0


def _where(placement: Placement) -> str:
    return "within a node" if placement.nodes == 1 else f"over {placement.nodes} nodes"
