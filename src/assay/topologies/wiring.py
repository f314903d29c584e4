"""The cabling of hosts and switches, and the path of a packet. Pure functions.

All routes are shortest paths, except that a dragonfly's cross at most one link between groups:

- grid of switches: along the row of switches first, then along the column (dimension order);
- torus: dimension after dimension, in each the shorter direction, forwards if both are equal
  (dimension order: Dally & Seitz 1987, there with virtual channels against deadlock, which networks
  that may drop packets don't need);
- rows and columns: by the row's switch to hosts of the same row, by the column's to those of the
  same column, and to all others by the row's switch, the core, and the other row's switch;
- fat tree: up to the spine whose number is the receiving host's, modulo the spines, and down
  (D-mod-K: Zahavi et al. 2010): traffic to a host uses one spine, and hosts are spread over the
  spines. With three levels the same rule holds: to the middle switch whose number is the host's,
  modulo those of a pod, and to the core whose number is the quotient, modulo those of a middle
  switch;
- dragonfly: to the switch of the own group with the link to the receiver's group, over it, and to
  the receiver's switch: at most three links between switches (minimal routing).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

from assay.topologies.kinds import (
    Dragonfly,
    FatTree,
    RowsColumns,
    Single,
    Switches,
    ThreeLevelTree,
    Topology,
    Torus,
)


@dataclass(frozen=True)
class Cable:
    """A link between two nodes."""

    one: str
    other: str
    #: Whether the link is between switches.
    trunk: bool = False
    #: Names of the nodes at both ends.
    adapters: tuple[str, str] | None = None


@dataclass(frozen=True)
class Wiring:
    """A network.

    ``towards(node, host)``: the next node on the way to a host; None if the node never gets packets
    for the host.
    """

    hosts: tuple[str, ...]
    switches: tuple[str, ...]
    cables: tuple[Cable, ...]
    #: Nodes that forward packets.
    forwarding: tuple[str, ...]
    towards: Callable[[str, str], str | None]

    def path(self, sender: str, receiver: str) -> Iterator[str]:
        """The nodes on a packet's path, both ends included. ValueError if it never arrives."""
        node: str | None = sender
        for _ in range(len(self.hosts) + len(self.switches) + 1):
            if node is None:
                break
            yield node
            if node == receiver:
                return
            node = self.towards(node, receiver)
        raise ValueError(f"packets from {sender} to {receiver} are lost")


def wiring_of(topology: Topology) -> Wiring:
    """The network of a topology, with one adapter per host on a single switch."""
    match topology:
        case Single(hosts=hosts):
            return _single(hosts)
        case Switches():
            return _grid_of_switches(topology)
        case RowsColumns():
            return _rows_and_columns(topology)
        case Torus(dimensions=dimensions):
            return _torus(dimensions)
        case FatTree():
            return _fat_tree(topology)
        case ThreeLevelTree():
            return _three_level_tree(topology)
        case Dragonfly():
            return _dragonfly(topology)


def _hosts(count: int) -> tuple[str, ...]:
    return tuple(f"node{number}" for number in range(1, count + 1))


class _Cabling:
    """Builds a network step by step."""

    def __init__(self, hosts: Sequence[str], switches: Sequence[str]) -> None:
        self.hosts, self.switches = tuple(hosts), tuple(switches)
        self.cables: list[Cable] = []

    def join(
        self,
        one: str,
        other: str,
        *,
        trunk: bool = False,
        adapters: tuple[str, str] | None = None,
    ) -> None:
        self.cables.append(Cable(one, other, trunk, adapters))

    def wiring(
        self, forwarding: Sequence[str], towards: Callable[[str, str], str | None]
    ) -> Wiring:
        return Wiring(self.hosts, self.switches, tuple(self.cables), tuple(forwarding), towards)


def _single(count: int) -> Wiring:
    hosts = _hosts(count)
    cabling = _Cabling(hosts, ("switch",))
    for host in hosts:
        cabling.join(host, "switch")
    return cabling.wiring(("switch",), lambda node, host: host if node == "switch" else "switch")


def _grid_of_switches(grid: Switches) -> Wiring:
    places = list(product(range(grid.rows), range(grid.columns)))
    switches = {place: f"switch{n}" for n, place in enumerate(places, start=1)}
    place_of = {name: place for place, name in switches.items()}
    hosts = _hosts(len(places) * grid.hosts_per_switch)
    switch_of = {
        host: switches[places[index // grid.hosts_per_switch]] for index, host in enumerate(hosts)
    }
    cabling = _Cabling(hosts, tuple(switches.values()))
    for host in hosts:
        cabling.join(host, switch_of[host])
    for (row, column), switch in switches.items():
        for neighbour in ((row, column + 1), (row + 1, column)):
            if neighbour in switches:
                cabling.join(switch, switches[neighbour], trunk=True)

    def towards(node: str, host: str) -> str:
        if node in switch_of:
            return switch_of[node]
        (row, column), (to_row, to_column) = place_of[node], place_of[switch_of[host]]
        if column != to_column:
            return switches[row, column + _sign(to_column - column)]
        if row != to_row:
            return switches[row + _sign(to_row - row), column]
        return host

    return cabling.wiring(cabling.switches, towards)


def _rows_and_columns(grid: RowsColumns) -> Wiring:
    hosts = _hosts(grid.rows * grid.columns)
    place_of = {host: divmod(index, grid.columns) for index, host in enumerate(hosts)}
    rows = [f"row{row}" for row in range(1, grid.rows + 1)]
    columns = [f"column{column}" for column in range(1, grid.columns + 1)]
    cabling = _Cabling(hosts, (*rows, *columns, "core"))
    for host, (row, column) in place_of.items():
        cabling.join(host, rows[row])
        cabling.join(host, columns[column])
    for switch in rows:
        cabling.join(switch, "core", trunk=True)

    def towards(node: str, host: str) -> str | None:
        row, column = place_of[host]
        if node == "core":
            return rows[row]
        if node in place_of:
            same_column = place_of[node][1] == column and place_of[node][0] != row
            return columns[column] if same_column else rows[place_of[node][0]]
        if node in (rows[row], columns[column]):
            return host
        # The switch of a column receives only packets for hosts of its own column.
        return "core" if node in rows else None

    return cabling.wiring(cabling.switches, towards)


def _torus(dimensions: Sequence[int]) -> Wiring:
    # The first dimension varies fastest: node1 and node2 are neighbours in it.
    places = [tuple(reversed(place)) for place in product(*map(range, reversed(dimensions)))]
    hosts = _hosts(prod(dimensions))
    host_at = dict(zip(places, hosts, strict=True))
    place_of = dict(zip(hosts, places, strict=True))

    def neighbour(place: tuple[int, ...], axis: int, step: int) -> tuple[int, ...]:
        around = (place[axis] + step) % dimensions[axis]
        return (*place[:axis], around, *place[axis + 1 :])

    cabling = _Cabling(hosts, ())
    used = 0
    for axis, size in enumerate(dimensions):
        # In each dimension a host's first adapter leads forwards, its second backwards. A ring of
        # two hosts has one link, not two parallel ones.
        adapters = (f"eth{used}", f"eth{used + (size > 2)}")
        used += min(size - 1, 2)
        for place in places:
            if size > 2 or (size == 2 and place[axis] == 0):
                cabling.join(host_at[place], host_at[neighbour(place, axis, 1)], adapters=adapters)

    def towards(node: str, host: str) -> str:
        here, there = place_of[node], place_of[host]
        axis = next(a for a in range(len(dimensions)) if here[a] != there[a])
        ahead = (there[axis] - here[axis]) % dimensions[axis]
        return host_at[neighbour(here, axis, 1 if 2 * ahead <= dimensions[axis] else -1)]

    return cabling.wiring(hosts, towards)


def _fat_tree(tree: FatTree) -> Wiring:
    hosts = _hosts(tree.leaves * tree.hosts_per_leaf)
    leaves = [f"leaf{number}" for number in range(1, tree.leaves + 1)]
    spines = [f"spine{number}" for number in range(1, tree.spines + 1)]
    number_of = {host: number for number, host in enumerate(hosts)}
    leaf_of = {host: leaves[n // tree.hosts_per_leaf] for host, n in number_of.items()}
    cabling = _Cabling(hosts, (*leaves, *spines))
    for host in hosts:
        cabling.join(host, leaf_of[host])
    for leaf, spine in product(leaves, spines):
        cabling.join(leaf, spine, trunk=True)

    def towards(node: str, host: str) -> str:
        if node in leaf_of or node in spines:
            return leaf_of[node if node in leaf_of else host]
        return host if leaf_of[host] == node else spines[number_of[host] % tree.spines]

    return cabling.wiring(cabling.switches, towards)


def _three_level_tree(tree: ThreeLevelTree) -> Wiring:
    middles, cores = tree.middles_per_pod, tree.cores_per_middle
    hosts = _hosts(tree.pods * tree.leaves_per_pod * tree.hosts_per_leaf)
    number_of = {host: number for number, host in enumerate(hosts)}
    leaves = [f"leaf{n}" for n in range(1, tree.pods * tree.leaves_per_pod + 1)]
    middle = {
        (pod, n): f"middle{pod * middles + n + 1}"
        for pod in range(tree.pods)
        for n in range(middles)
    }
    core = {(n, c): f"core{n * cores + c + 1}" for n in range(middles) for c in range(cores)}
    leaf_of = {host: leaves[n // tree.hosts_per_leaf] for host, n in number_of.items()}
    pod_of = {leaf: n // tree.leaves_per_pod for n, leaf in enumerate(leaves)}
    pod_of |= {name: pod for (pod, _), name in middle.items()}
    cabling = _Cabling(hosts, (*leaves, *middle.values(), *core.values()))
    for host in hosts:
        cabling.join(host, leaf_of[host])
    for leaf, n in product(leaves, range(middles)):
        cabling.join(leaf, middle[pod_of[leaf], n], trunk=True)
    for (pod, n), c in product(middle, range(cores)):
        cabling.join(middle[pod, n], core[n, c], trunk=True)
    above = {name: n for (n, _), name in core.items()}
    spread = set(middle.values())

    def towards(node: str, host: str) -> str:
        leaf, number = leaf_of[host], number_of[host]
        pod, way = pod_of[leaf], number % middles
        if node in leaf_of:
            return leaf_of[node]
        if node == leaf:
            return host
        if node in above:
            return middle[pod, above[node]]
        if node in spread:
            return leaf if pod_of[node] == pod else core[way, number // middles % cores]
        return middle[pod_of[node], way]

    return cabling.wiring(cabling.switches, towards)


def _dragonfly(fly: Dragonfly) -> Wiring:
    per_group, each = fly.switches_per_group, fly.hosts_per_switch
    switches = [
        [f"switch{group * per_group + index + 1}" for index in range(per_group)]
        for group in range(fly.groups)
    ]
    group_of = {name: group for group, names in enumerate(switches) for name in names}
    hosts = _hosts(fly.groups * per_group * each)
    flat = [name for names in switches for name in names]
    switch_of = {host: flat[index // each] for index, host in enumerate(hosts)}
    cabling = _Cabling(hosts, flat)
    for host in hosts:
        cabling.join(host, switch_of[host])
    for names in switches:
        for one, other in combinations(names, 2):
            cabling.join(one, other, trunk=True)
    # The switch of a group with the link to another group.
    gate = {
        (here, there): switches[here][(there - (there > here)) % per_group]
        for here in range(fly.groups)
        for there in range(fly.groups)
        if here != there
    }
    for here, there in combinations(range(fly.groups), 2):
        cabling.join(gate[here, there], gate[there, here], trunk=True)

    def towards(node: str, host: str) -> str:
        if node in switch_of:
            return switch_of[node]
        target = switch_of[host]
        if node == target:
            return host
        here, there = group_of[node], group_of[target]
        if here == there:
            return target
        return gate[there, here] if node == gate[here, there] else gate[here, there]

    return cabling.wiring(cabling.switches, towards)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
