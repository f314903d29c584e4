"""Networks of a kind with room for a number of hosts: switches, cables, bisection.

All switches have the same number of ports. Hosts fill a network from its beginning: switches
without hosts are left out if the kind allows it, and parallel links between two switches use
remaining ports. Counts are per rail, one adapter of each host.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.topologies.kinds import (
    Dragonfly,
    FatTree,
    RowsColumns,
    Single,
    ThreeLevelTree,
    Topology,
    Torus,
)
from assay.topologies.loads import mean_links

# A torus without empty places may have a longest side of this many times its shortest side.
_MOST_UNEQUAL = 2


@dataclass(frozen=True)
class Sized:
    """A network for a number of hosts."""

    #: The complete topology, whose last part may be empty.
    topology: Topology
    #: ``switches``, ``cables``: numbers of them that are needed.
    switches: int
    cables: int
    #: Number of links in one direction between two halves of the hosts.
    bisection: float

    @property
    def hops(self) -> float:
        """Mean number of switches between two hosts (in a torus, of links) over the whole
        topology."""
        passed = 0.0 if isinstance(self.topology, Torus) else 1.0
        return mean_links(self.topology) - passed


def single(hosts: int, ports: int) -> Sized | None:
    """One switch; None if it has too few ports."""
    if hosts > ports:
        return None
    return Sized(Single(hosts), 1, hosts, float(hosts // 2))


def rows_and_columns(hosts: int, ports: int) -> Sized | None:
    """One switch per row and per column of a square of hosts (Barczak et al. 2003, 2.2).

    A host has an adapter on both. A message to another row and column passes two switches and the
    host between them, or the column's switch of a third: three hops. A port of each switch connects
    the switches to each other. None if a row has too many hosts.
    """
    side = math.ceil(math.sqrt(hosts))
    if side > ports - 1:
        return None
    rows = math.ceil(hosts / side)
    # Half of the rows' links leave one half of the columns; columns stay within it.
    return Sized(
        RowsColumns(rows, side), rows + side, 2 * hosts + rows + side, float(rows * (side // 2))
    )


def torus_shape(hosts: int, dimensions: int) -> tuple[int, ...]:
    """The sides of a torus with room for ``hosts``; largest first.

    A shape without empty places is preferred if its longest side is at most twice its shortest
    side. Otherwise the sides are the most equal ones.
    """
    full = _full_shape(hosts, dimensions)
    if full is not None:
        return full
    side = max(round(hosts ** (1.0 / dimensions)), 1)
    sides = [side] * dimensions
    index = 0
    while math.prod(sides) < hosts:
        sides[index] += 1
        index = (index + 1) % dimensions
    for index in range(dimensions):
        while math.prod(sides) // sides[index] * (sides[index] - 1) >= hosts and sides[index] > 1:
            sides[index] -= 1
    return tuple(sorted(sides, reverse=True))


def _full_shape(places: int, dimensions: int) -> tuple[int, ...] | None:
    """The most equal sides with this product, largest first; None if they are too unequal.

    The shortest side is tried first from its largest possible value.
    """
    if dimensions == 1:
        return (places,)
    for side in range(math.floor(places ** (1.0 / dimensions) + 1e-9), 0, -1):
        if side**dimensions * _MOST_UNEQUAL ** (dimensions - 1) < places:
            return None
        if places % side == 0:
            rest = _full_shape(places // side, dimensions - 1)
            if rest is not None and rest[-1] >= side and rest[0] <= _MOST_UNEQUAL * side:
                return (*rest, side)
    return None


def torus(hosts: int, shape: tuple[int, ...]) -> Sized | None:
    """One ring per line of each dimension. Hosts forward packets. None if the shape has too little
    room."""
    if math.prod(shape) < hosts:
        return None
    longest = max(shape)
    # Two links per line of the longest dimension cross the middle.
    crossing = (2.0 if longest > 2 else 1.0) * math.prod(shape) / longest
    return Sized(Torus(shape), 0, hosts * sum(size > 1 for size in shape), crossing)


def fat_tree(hosts: int, ports: int, taper: float = 1.0) -> Sized | None:
    """One switch, or two or three levels of equal switches (Leiserson 1985).

    ``taper``: hosts per uplink of a leaf. None if three levels are too few.
    """
    if hosts <= ports:
        return single(hosts, ports)
    down = min(math.ceil(ports * taper / (1.0 + taper)), ports - 1)
    up = ports - down
    leaves = math.ceil(hosts / down)
    half = leaves * up / 2.0
    if leaves <= ports:
        spines = math.ceil(leaves * up / ports)
        return Sized(FatTree(leaves, spines, down), leaves + spines, hosts + leaves * up, half)
    of_pod, further = ports // 2, ports // 2  # leaves of a pod, uplinks of a middle switch
    pods = math.ceil(leaves / of_pod)
    if pods > ports:
        return None
    middles = pods * up
    cores = math.ceil(middles * further / ports)
    return Sized(
        ThreeLevelTree(pods, of_pod, down, up, math.ceil(cores / up)),
        leaves + middles + cores,
        hosts + leaves * up + middles * further,
        half,
    )


def dragonfly(hosts: int, ports: int) -> Sized | None:
    """Groups of fully connected switches, each pair of groups connected (Kim et al. 2008).

    Balanced: a switch has p hosts, p links out of its group, and 2p switches form a group. None if
    one switch is enough, so that the network isn't a dragonfly, or if there are too few groups.
    """
    if hosts <= ports:
        return None
    each = (ports + 1) // 4  # p of ports = 4p − 1
    size = 2 * each
    if each < 1:
        return None
    groups = math.ceil(hosts / (each * size))
    if groups > size * each + 1:
        return None
    switches = math.ceil(hosts / each)
    local = switches * (size - 1) // 2
    spread = max(size * each // max(groups - 1, 1), 1)
    distant = groups * (groups - 1) // 2 * spread
    crossing = (groups // 2) * math.ceil(groups / 2) * spread if groups > 1 else hosts / 2
    return Sized(
        Dragonfly(groups, size, each), switches, hosts + local + distant, max(crossing, 1.0)
    )
