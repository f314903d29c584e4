"""What an interconnect needs for each number of nodes: switches, cables, hops, bisection."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.design.parts import InterconnectPart, Switch
from assay.topologies.kinds import Dragonfly, FatTree, RowsColumns, Torus
from assay.topologies.loads import mean_links
from assay.units import counted

# Metres of a cable within a rack, and from one rack to the next; docs/methods/design.md.
_IN_RACK = 2.0
_PER_RACK = 1.2
# Latency that one switch or one node passed through adds, relative to the adapters' own: a message
# between neighbours passes one switch.
_PER_HOP = 0.15


@dataclass(frozen=True)
class Fabric:
    """Columns by number of nodes (index 0 to the most).

    ``switches``: how many of each switch, by name. ``cables`` and their mean length ``metres``.
    ``hops``: switches (or links of a torus) between two nodes, mean over the pairs of the whole
    topology (``topologies``), of which the last part may be empty. ``bisection``:
    links in one direction between two halves. ``fits``: whether it can be built.
    """

    switches: Mapping[str, NDArray[np.int64]]
    cables: NDArray[np.int64]
    metres: NDArray[np.float64]
    hops: NDArray[np.float64]
    bisection: NDArray[np.float64]
    fits: NDArray[np.bool_]

    def extent(self, network: InterconnectPart, nodes: int) -> str:
        """For people: the kind and its extent, such as ``torus 6 × 5 × 4``."""
        if nodes <= 1 or network.topology == "none":
            return "one node" if nodes <= 1 else "none"
        if network.topology.startswith("torus"):
            shape = network.dimensions or torus_shape(nodes, int(network.topology[-2]))
            return "torus " + " × ".join(map(str, shape))
        switches = sum(int(column[nodes]) for column in self.switches.values())
        if switches <= network.adapters:
            return counted(switches, "switch")
        if network.topology == "grid":
            side = math.ceil(math.sqrt(nodes))
            return f"grid {math.ceil(nodes / side)} × {side}, {counted(switches, 'switch')}"
        return f"{network.topology}, {counted(switches, 'switch')}"

    def latency_factor(self) -> NDArray[np.float64]:
        """Latency relative to that between neighbours."""
        return 1.0 + _PER_HOP * np.maximum(self.hops - 1.0, 0.0)


@dataclass(frozen=True)
class _Built:
    """The fabric of one number of nodes; ``count``: switches."""

    switch: Switch | None
    count: int
    cables: int
    hops: float
    bisection: float
    between_racks: bool = True


def fabric_of(
    network: InterconnectPart, switches: Mapping[str, Switch], most: int, per_rack: int
) -> Fabric:
    """The fabric for 0 to ``most`` nodes. ``per_rack``: nodes of a rack, for cable lengths.

    Of the interconnect's switches, the cheapest set of one kind is taken.
    """
    usable = [switches[name] for name in network.switches]
    counts = {name: np.zeros(most + 1, dtype=np.int64) for name in network.switches}
    cables = np.zeros(most + 1, dtype=np.int64)
    metres, hops, bisection = (np.zeros(most + 1) for _ in range(3))
    fits = np.zeros(most + 1, dtype=np.bool_)
    for nodes in range(1, most + 1):
        built = _built(network, usable, nodes)
        if built is None:
            continue
        fits[nodes] = True
        if built.switch is not None:
            counts[built.switch.name][nodes] = built.count
        cables[nodes], hops[nodes], bisection[nodes] = built.cables, built.hops, built.bisection
        racks = math.ceil(nodes / per_rack)
        metres[nodes] = _IN_RACK + _PER_RACK * racks / 3.0
    return Fabric(counts, cables, metres, hops, bisection, fits)


def _built(network: InterconnectPart, switches: list[Switch], nodes: int) -> _Built | None:
    if nodes == 1 or network.topology == "none":
        return _Built(None, 0, 0, 0.0, math.inf) if nodes == 1 else None
    if network.topology.startswith("torus"):
        return _torus(network, nodes)
    build = {"switch": _single, "grid": _grid, "fat-tree": _fat_tree, "dragonfly": _dragonfly}[
        network.topology
    ]
    found = [built for switch in switches if (built := build(network, switch, nodes)) is not None]
    return min(
        found,
        key=lambda built: built.count * (built.switch.price.value if built.switch else 0.0),
        default=None,
    )


def _single(network: InterconnectPart, switch: Switch, nodes: int) -> _Built | None:
    """A switch per adapter of a node."""
    if nodes > switch.ports:
        return None
    rails = network.adapters
    return _Built(switch, rails, rails * nodes, 1.0, rails * (nodes // 2))


def _grid(network: InterconnectPart, switch: Switch, nodes: int) -> _Built | None:
    """Rows and columns of nodes, a switch per row and one per column (Barczak et al. 2003, 2.2).

    A node has an adapter on both. A message to another row and column passes two switches and the
    node between them, or the column's switch of a third: three hops.
    """
    side = math.ceil(math.sqrt(nodes))
    if side > switch.ports - 1:  # a port of each connects to the other switches
        return None
    rows = math.ceil(nodes / side)
    # Half of the rows' links leave a half of the columns; columns stay within it.
    return _Built(
        switch,
        rows + side,
        2 * nodes + rows + side,
        mean_links(RowsColumns(rows, side)) - 1.0,
        rows * (side // 2),
    )


def torus_shape(nodes: int, dimensions: int) -> tuple[int, ...]:
    """The sides, as equal as they can be, whose product is at least ``nodes``; largest first."""
    side = max(round(nodes ** (1.0 / dimensions)), 1)
    sides = [side] * dimensions
    index = 0
    while math.prod(sides) < nodes:
        sides[index] += 1
        index = (index + 1) % dimensions
    for index in range(dimensions):
        while math.prod(sides) // sides[index] * (sides[index] - 1) >= nodes and sides[index] > 1:
            sides[index] -= 1
    return tuple(sorted(sides, reverse=True))


def _torus(network: InterconnectPart, nodes: int) -> _Built | None:
    """A ring per line of each dimension; nodes forward (Edmundsson et al. 2004, 2.2)."""
    shape = network.dimensions or torus_shape(nodes, int(network.topology[-2]))
    if math.prod(shape) < nodes:
        return None
    longest = max(shape)
    # Two links per line of the longest dimension cross the middle.
    crossing = 2.0 * math.prod(shape) / longest if longest > 2 else math.prod(shape) / longest
    cables = nodes * len([k for k in shape if k > 1])
    return _Built(None, 0, cables, mean_links(Torus(shape)), crossing)


def _fat_tree(network: InterconnectPart, switch: Switch, nodes: int) -> _Built | None:
    """One switch, or two or three levels of equal ones (Leiserson 1985), ``taper`` to one."""
    if nodes <= switch.ports:
        return _single(network, switch, nodes)
    rails, ports = network.adapters, switch.ports
    down = min(math.ceil(ports * network.taper / (1.0 + network.taper)), ports - 1)
    up = ports - down
    leaves = math.ceil(nodes / down)
    half = rails * leaves * up / 2.0
    if leaves <= ports:
        spines = math.ceil(leaves * up / ports)
        cables = nodes + leaves * up
        hops = mean_links(FatTree(leaves, spines, down)) - 1.0
        return _Built(switch, rails * (leaves + spines), rails * cables, hops, half)
    pod = ports // 2  # leaves of a pod
    pods = math.ceil(leaves / pod)
    if pods > ports:
        return None
    middle = pods * up
    top = math.ceil(middle * (ports // 2) / ports)
    cables = nodes + leaves * up + middle * (ports // 2)
    # Three levels are no kind of topology of their own: as two, of leaves and of pods.
    pairs_at_home, in_pod = (down - 1) / (nodes - 1), (pod * down - 1) / (nodes - 1)
    hops = pairs_at_home + 3.0 * (in_pod - pairs_at_home) + 5.0 * (1.0 - in_pod)
    return _Built(switch, rails * (leaves + middle + top), rails * cables, hops, half)


def _dragonfly(network: InterconnectPart, switch: Switch, nodes: int) -> _Built | None:
    """Groups of fully connected switches, each pair of groups connected (Kim et al. 2008).

    Balanced: a switch has p nodes, p links out of its group, and 2p switches form a group.
    """
    if nodes <= switch.ports:  # one switch is no dragonfly
        return None
    rails = network.adapters
    hosts = (switch.ports + 1) // 4  # p of ports = 4p − 1
    size = 2 * hosts
    groups = math.ceil(nodes / (hosts * size))
    if hosts < 1 or groups > size * hosts + 1:
        return None
    switches = math.ceil(nodes / hosts)
    local = switches * (size - 1) // 2
    spread = max(size * hosts // max(groups - 1, 1), 1)
    distant = groups * (groups - 1) // 2 * spread
    crossing = rails * (groups // 2) * math.ceil(groups / 2) * spread if groups > 1 else nodes / 2
    return _Built(
        switch,
        rails * switches,
        rails * (nodes + local + distant),
        mean_links(Dragonfly(groups, size, hosts)) - 1.0,
        max(crossing, 1.0),
    )
