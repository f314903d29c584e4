"""Findings on the network, by topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.questions.common.confidence import is_broken
from assay.questions.common.question import Measured, Topic
from assay.questions.common.selection import Point
from assay.questions.common.topics import find_topics, plan_order
from assay.questions.network.collectives import findings as collectives
from assay.questions.network.collectives.topic import TOPIC as COLLECTIVES
from assay.questions.network.concurrency import findings as concurrency
from assay.questions.network.concurrency.topic import TOPIC as CONCURRENCY
from assay.questions.network.congestion import findings as congestion
from assay.questions.network.congestion.topic import TOPIC as CONGESTION
from assay.questions.network.devices import findings as devices
from assay.questions.network.devices.topic import TOPIC as DEVICES
from assay.questions.network.fabric import findings as fabric
from assay.questions.network.fabric.topic import TOPIC as FABRIC
from assay.questions.network.messages import findings as messages
from assay.questions.network.messages.sweeps import KERNEL as PINGPONG
from assay.questions.network.messages.topic import TOPIC as MESSAGES
from assay.questions.network.missing import Shortage, shortage
from assay.questions.network.neighbours import findings as neighbours
from assay.questions.network.neighbours.topic import TOPIC as NEIGHBOURS
from assay.questions.network.onesided import findings as onesided
from assay.questions.network.onesided.topic import TOPIC as ONE_SIDED
from assay.questions.network.overlap import findings as overlap
from assay.questions.network.overlap.topic import TOPIC as OVERLAP
from assay.questions.network.rates import findings as rates
from assay.questions.network.rates.topic import TOPIC as RATES
from assay.questions.speed.messages import find_barrier
from assay.stats.core.model import CellSummary

# Topics in the order of the answer, unless the plan determines another order.
TOPICS: tuple[Topic[Any], ...] = (
    MESSAGES,
    ONE_SIDED,
    CONCURRENCY,
    RATES,
    OVERLAP,
    COLLECTIVES,
    NEIGHBOURS,
    FABRIC,
    CONGESTION,
    DEVICES,
)

# Kernels of this question.
_KERNELS = ("network.", *devices.KERNELS)


@dataclass(frozen=True)
class NetworkFindings:
    """The network of a run; a topic that was not measured is None."""

    #: Messages: ping-pong of two ranks.
    messages: messages.PingpongFindings | None
    #: One-sided communication.
    onesided: onesided.OneSidedFindings | None
    #: Concurrent pairs, concurrent senders and windows of messages.
    concurrency: concurrency.ConcurrencyFindings | None
    #: Message rates of many ranks and threads.
    rates: rates.RateFindings | None
    #: Overlap of computation with non-blocking operations.
    overlap: overlap.OverlapFindings | None
    #: Collective operations.
    collectives: collectives.CollectiveFindings | None
    #: Exchange between neighbours in a grid.
    neighbours: neighbours.NeighbourFindings | None
    #: Fabric: pairs, rings and bisections.
    fabric: fabric.FabricFindings | None
    #: The network under load: victims beside aggressors.
    congestion: congestion.CongestionFindings | None
    #: Devices of a node: copies between them, and their collectives.
    devices: devices.DeviceNetworkFindings | None
    #: Barrier, as context.
    barrier: Point | None
    #: Network cells without usable numbers.
    broken: tuple[CellSummary, ...]
    #: Whether the run is complete.
    complete: bool
    #: Numbers of nodes of ping-pong's placements, ascending.
    pingpong_nodes: tuple[int, ...]
    #: Methods that the run has too few data for, with the command that measures them; None if all
    #: methods have enough data.
    shortage: Shortage | None = None
    #: Names of the topics in the order in which the plan lists their kernels.
    order: tuple[str, ...] = ()
    #: Names of the network kernels with a result.
    kernels: tuple[str, ...] = ()


def find(measured: Measured) -> NetworkFindings:
    """All findings on the network, without candidates of a placement search."""
    measured = measured.without_candidates()
    cells = measured.cells
    sides = find_topics(TOPICS, measured)
    missing = [
        lack for side in sides.values() if side is not None for lack in getattr(side, "missing", ())
    ]
    return NetworkFindings(
        **sides,
        barrier=find_barrier(cells),
        broken=tuple(
            cell for cell in cells if cell.kernel.startswith(_KERNELS) and is_broken(cell)
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
        shortage=shortage(missing, measured.run),
        order=plan_order(TOPICS, measured.run.manifest.plan),
        kernels=tuple(
            dict.fromkeys(
                cell.kernel
                for cell in cells
                if cell.kernel.startswith(_KERNELS) and cell.status == "ok"
            )
        ),
    )
