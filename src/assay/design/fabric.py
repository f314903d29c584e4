"""The needs of an interconnect by number of nodes: switches, cables, hops, bisection.

``assay.topologies.sizing`` counts them; this module chooses the cheapest switches and makes
columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.design.parts.model import InterconnectPart, Switch
from assay.topologies import sizing
from assay.topologies.sizing import Sized
from assay.units import counted

# Length of a cable (m) within a rack, and from one rack to the next; see docs/methods/design.md.
_IN_RACK = 2.0
_PER_RACK = 1.2
# Latency that each switch or node on the path adds, relative to the latency of the adapters. A
# message between neighbours passes one switch.
_PER_HOP = 0.15


@dataclass(frozen=True)
class Fabric:
    """Columns by number of nodes (index 0 to the maximum)."""

    #: Number of each switch, by name. ``cables``: number of cables; ``metres``: their mean length.
    switches: Mapping[str, NDArray[np.int64]]
    cables: NDArray[np.int64]
    metres: NDArray[np.float64]
    #: Mean number of switches (or links of a torus) between two nodes, over all pairs of the whole
    #: topology (``topologies``). Its last part may be empty.
    hops: NDArray[np.float64]
    #: Number of links between two halves, in one direction.
    bisection: NDArray[np.float64]
    #: Whether the network can be built.
    fits: NDArray[np.bool_]

    def extent(self, network: InterconnectPart, nodes: int) -> str:
        """Readable name: kind and size, such as ``torus 6 × 5 × 4``."""
        if nodes <= 1 or network.topology == "none":
            return "one node" if nodes <= 1 else "none"
        if network.topology.startswith("torus"):
            return "torus " + " × ".join(map(str, torus_of(network, nodes)))
        switches = sum(int(column[nodes]) for column in self.switches.values())
        if switches <= network.adapters:
            return counted(switches, "switch")
        if network.topology == "grid":
            side = math.ceil(math.sqrt(nodes))
            return f"grid {math.ceil(nodes / side)} × {side}, {counted(switches, 'switch')}"
        return f"{network.topology}, {counted(switches, 'switch')}"

    def latency_factor(self) -> NDArray[np.float64]:
        """Latency relative to the latency between neighbours."""
        return 1.0 + _PER_HOP * np.maximum(self.hops - 1.0, 0.0)


def fabric_of(
    network: InterconnectPart, switches: Mapping[str, Switch], most: int, per_rack: int
) -> Fabric:
    """The fabric for 0 to ``most`` nodes.

    ``per_rack``: number of nodes of a rack, for cable lengths. The cheapest set of switches of one
    kind is used.
    """
    usable = [switches[name] for name in network.switches]
    counts = {name: np.zeros(most + 1, dtype=np.int64) for name in network.switches}
    cables = np.zeros(most + 1, dtype=np.int64)
    metres, hops, bisection = (np.zeros(most + 1) for _ in range(3))
    fits = np.zeros(most + 1, dtype=np.bool_)
    if most >= 1:  # one node needs no network
        fits[1], bisection[1] = True, math.inf
    for nodes in range(1, most + 1):
        if nodes > 1:
            chosen = _cheapest(network, usable, nodes)
            if chosen is None:
                continue
            switch, sized = chosen
            fits[nodes] = True
            rails = _rails(network)
            if switch is not None and rails > 1 and rails * nodes <= switch.ports:
                # One switch has the ports for all adapters of all nodes.
                counts[switch.name][nodes] = 1
            elif switch is not None:
                counts[switch.name][nodes] = rails * sized.switches
            cables[nodes], bisection[nodes] = rails * sized.cables, rails * sized.bisection
            hops[nodes] = sized.hops
        racks = math.ceil(nodes / per_rack)
        metres[nodes] = _IN_RACK + _PER_RACK * racks / 3.0
    return Fabric(
        switches=counts, cables=cables, metres=metres, hops=hops, bisection=bisection, fits=fits
    )


def _rails(network: InterconnectPart) -> int:
    """Number of parallel networks; a torus or a grid has all adapters of a node in one network."""
    return network.adapters if network.topology in ("switch", "fat-tree", "dragonfly") else 1


def _cheapest(
    network: InterconnectPart, switches: Sequence[Switch], nodes: int
) -> tuple[Switch | None, Sized] | None:
    """The network and its kind of switch; None if no network is large enough.

    The kind is None for a network without switches.
    """
    if network.topology == "none":
        return None
    if network.topology.startswith("torus"):
        sized = sizing.torus(nodes, torus_of(network, nodes))
        return None if sized is None else (None, sized)
    found = [
        (switch, sized)
        for switch in switches
        if (sized := _of_switches(network, switch, nodes)) is not None
    ]
    return min(found, key=lambda one: one[1].switches * one[0].price.value, default=None)


def _of_switches(network: InterconnectPart, switch: Switch, nodes: int) -> Sized | None:
    match network.topology:
        case "grid":
            return sizing.rows_and_columns(nodes, switch.ports)
        case "fat-tree":
            return sizing.fat_tree(nodes, switch.ports, network.taper)
        case "dragonfly":
            return sizing.dragonfly(nodes, switch.ports)
        case _:
            return sizing.single(nodes, switch.ports)


def torus_of(network: InterconnectPart, nodes: int) -> tuple[int, ...]:
    """The sides of a torus: as given, otherwise as equal as possible."""
    return network.dimensions or sizing.torus_shape(nodes, int(network.topology[-2]))
