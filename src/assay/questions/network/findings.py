"""What the network is judged from, found once."""

from __future__ import annotations

from dataclasses import dataclass

from assay.questions.common.confidence import is_broken
from assay.questions.common.question import Measured
from assay.questions.common.selection import Point
from assay.questions.network.collectives import findings as collectives
from assay.questions.network.concurrency import findings as concurrency
from assay.questions.network.fabric import findings as fabric
from assay.questions.network.messages import findings as messages
from assay.questions.network.messages.sweeps import KERNEL as PINGPONG
from assay.questions.speed.messages import find_barrier
from assay.stats.core.model import CellSummary


@dataclass(frozen=True)
class NetworkFindings:
    """The network of a run; a side that was not measured is None.

    ``messages``: ping-pong of two ranks. ``concurrency``: pairs, senders and windows of messages at
    once. ``collectives``: collective operations. ``fabric``: every pair, rings, bisections.
    ``barrier``: the barrier, which is context. ``broken``: cells of the network without usable
    numbers. ``complete``: whether the run is. ``pingpong_nodes``: nodes that the placements of
    ping-pong span.
    """

    messages: messages.PingpongFindings | None
    concurrency: concurrency.ConcurrencyFindings | None
    collectives: collectives.CollectiveFindings | None
    fabric: fabric.FabricFindings | None
    barrier: Point | None
    broken: tuple[CellSummary, ...]
    complete: bool
    pingpong_nodes: tuple[int, ...]


def find(measured: Measured) -> NetworkFindings:
    """Each side once."""
    measured = measured.without_candidates()
    cells = measured.cells
    return NetworkFindings(
        messages=messages.find(measured),
        concurrency=concurrency.find(measured),
        collectives=collectives.find(measured),
        fabric=fabric.find(measured),
        barrier=find_barrier(cells),
        broken=tuple(
            cell for cell in cells if cell.kernel.startswith("network.") and is_broken(cell)
        ),
        complete=measured.run.complete,
        pingpong_nodes=tuple(
            sorted(
                {
                    cell.cell.placement.nodes
                    for cell in cells
                    if cell.kernel == PINGPONG and cell.status == "ok"
                }
            )
        ),
    )
