"""Hosts, switches, links and routes of a spec. Pure functions that do not change the system.

There are two kinds of networks. With **single switches** the hosts of a rail are one Ethernet, and
the switch is a bridge. **All other networks are routed**: each switch, and each host of a torus,
forwards by a table with every host. So there are no loops to break, each path is known beforehand,
and the TTL of a packet shows how many nodes have forwarded it. A host of a routed network has one
address for all its adapters.

All routes are shortest paths:

- grid of switches: along the row of switches first, then along the column (dimension order);
- torus: dimension after dimension, in each the shorter direction, forwards if both are equal
  (dimension order: Dally & Seitz 1987, there with virtual channels against deadlock, which networks
  that may drop packets don't need);
- rows and columns: by the row's switch to hosts of the same row, by the column's to those of the
  same column, and to all others by the row's switch, the core, and the other row's switch;
- fat tree: up to the spine whose number is the receiving host's, modulo the spines, and down
  (D-mod-K: Zahavi et al. 2010): traffic to a host uses one spine, and hosts are spread over the
  spines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from assay.lab.spec import FatTree, RowsColumns, Single, Spec, Switches, Torus, Wire

# Hosts are 10.87.0.0/24 (adapter eth0), 10.87.1.0/24 (eth1) …; forwarding switches 10.88.0.0/24:
# private (RFC 1918), and in separate namespaces, so they can't conflict with other networks.
_HOST = "10.87.{rail}.{number}"
_SWITCH = "10.88.0.{number}"
BRIDGES = "switch"  # the node that holds the bridges of all rails


@dataclass(frozen=True)
class End:
    """One end of a link: the node, its adapter, and its address there.

    ``bridge``: the bridge that the adapter is a port of, if it is one; a port has no address.
    """

    node: str
    adapter: str
    address: str = ""
    bridge: str = ""


@dataclass(frozen=True)
class Link:
    """A cable with the same limits (``wire``) in both directions."""

    one: End
    other: End
    wire: Wire


@dataclass(frozen=True)
class Route:
    """Packets to the address ``to`` leave by ``adapter`` towards the node ``via``."""

    to: str
    via: str
    adapter: str


@dataclass(frozen=True)
class ClusterShape:
    """A cluster to be built.

    ``addresses``: of each node; one per rail for hosts on bridges. ``forwarding``: the nodes that
    forward packets. ``routes``: of each node, to every host it can reach. ``prefix``: network bits
    of the addresses: 24 with bridges, 32 in routed networks.
    """

    hosts: tuple[str, ...]
    switches: tuple[str, ...]
    bridges: tuple[str, ...]
    links: tuple[Link, ...]
    addresses: Mapping[str, tuple[str, ...]]
    forwarding: frozenset[str]
    routes: Mapping[str, tuple[Route, ...]]
    prefix: int

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, each of which is a namespace: hosts, then switches."""
        return (*self.hosts, *self.switches)

    def adapters(self, node: str) -> list[tuple[End, End, Wire]]:
        """The node's end of each of its links, the other end, and the wire."""
        found = []
        for link in self.links:
            if link.one.node == node:
                found.append((link.one, link.other, link.wire))
            if link.other.node == node:
                found.append((link.other, link.one, link.wire))
        return found

    @cached_property
    def _next(self) -> dict[str, dict[str, str]]:
        return {
            node: {route.to: route.via for route in table} for node, table in self.routes.items()
        }

    def path(self, sender: str, receiver: str) -> list[str]:
        """The nodes on a packet's path, both ends included. ValueError if it never arrives."""
        if self.bridges:
            return [sender, BRIDGES, receiver] if sender != receiver else [sender]
        to = self.addresses[receiver][0]
        passed = [sender]
        while passed[-1] != receiver:
            via = self._next[passed[-1]].get(to)
            if via is None or len(passed) > len(self.nodes):
                raise ValueError(f"packets from {sender} to {receiver} are lost: {passed}")
            passed.append(via)
        return passed


def shape_of(spec: Spec) -> ClusterShape:
    """The cluster that a spec describes."""
    match spec.topology:
        case Single(hosts=hosts):
            return _single(hosts, spec.adapters)
        case Switches():
            return _grid_of_switches(spec.topology, spec.adapters[0], spec.trunk)
        case RowsColumns():
            return _rows_and_columns(spec.topology, spec.adapters[0], spec.trunk)
        case Torus(dimensions=dimensions):
            return _torus(dimensions, spec.adapters[0])
        case FatTree():
            return _fat_tree(spec.topology, spec.adapters[0], spec.trunk)


def _hosts(count: int) -> tuple[str, ...]:
    return tuple(f"node{number}" for number in range(1, count + 1))


def _single(count: int, rails: Sequence[Wire]) -> ClusterShape:
    hosts = _hosts(count)
    addresses = {
        host: tuple(_HOST.format(rail=rail, number=number) for rail in range(len(rails)))
        for number, host in enumerate(hosts, start=1)
    }
    links = tuple(
        Link(
            End(host, f"eth{rail}", addresses[host][rail]),
            End(BRIDGES, f"port{number}-{rail}", bridge=f"bridge{rail}"),
            wire,
        )
        for number, host in enumerate(hosts, start=1)
        for rail, wire in enumerate(rails)
    )
    bridges = tuple(f"bridge{rail}" for rail in range(len(rails)))
    return ClusterShape(hosts, (BRIDGES,), bridges, links, addresses, frozenset(), {}, 24)


class _Cabling:
    """Builder for the links of a routed network."""

    def __init__(self, hosts: Sequence[str], switches: Sequence[str]) -> None:
        self.hosts, self.switches = tuple(hosts), tuple(switches)
        self.addresses = {
            **{h: (_HOST.format(rail=0, number=n),) for n, h in enumerate(hosts, start=1)},
            **{s: (_SWITCH.format(number=n),) for n, s in enumerate(switches, start=1)},
        }
        self.links: list[Link] = []
        self._adapters: defaultdict[str, dict[str, str]] = defaultdict(dict)

    def join(
        self, one: str, other: str, wire: Wire, adapters: tuple[str, str] | None = None
    ) -> None:
        """Add a link between two nodes that have none; ``adapters`` replaces numbered names."""
        counted = tuple(
            # A host's adapters are eth0, eth1 … in the order of their links; a switch has ports.
            f"{'eth' if node in self.hosts else 'port'}{len(self._adapters[node])}"
            for node in (one, other)
        )
        ends = []
        for node, peer, name in zip((one, other), (other, one), adapters or counted, strict=True):
            self._adapters[node][peer] = name
            ends.append(End(node, name, self.addresses[node][0]))
        self.links.append(Link(ends[0], ends[1], wire))

    def shape(
        self, forwarding: Sequence[str], towards: Callable[[str, str], str | None]
    ) -> ClusterShape:
        """The finished cluster. ``towards(node, host)``: the next node to a host, None if none."""
        routes = {}
        for node in (*self.hosts, *self.switches):
            table = []
            for host in self.hosts:
                via = towards(node, host) if host != node else None
                if via is not None:
                    table.append(Route(self.addresses[host][0], via, self._adapters[node][via]))
            routes[node] = tuple(table)
        return ClusterShape(
            self.hosts,
            self.switches,
            (),
            tuple(self.links),
            self.addresses,
            frozenset(forwarding),
            routes,
            32,
        )


def _grid_of_switches(grid: Switches, adapter: Wire, trunk: Wire) -> ClusterShape:
    places = list(product(range(grid.rows), range(grid.columns)))
    switches = {place: f"switch{n}" for n, place in enumerate(places, start=1)}
    place_of = {name: place for place, name in switches.items()}
    hosts = _hosts(len(places) * grid.hosts_per_switch)
    switch_of = {
        host: switches[places[index // grid.hosts_per_switch]] for index, host in enumerate(hosts)
    }
    cabling = _Cabling(hosts, tuple(switches.values()))
    for host in hosts:
        cabling.join(host, switch_of[host], adapter)
    for (row, column), switch in switches.items():
        for neighbour in ((row, column + 1), (row + 1, column)):
            if neighbour in switches:
                cabling.join(switch, switches[neighbour], trunk)

    def towards(node: str, host: str) -> str:
        if node in switch_of:
            return switch_of[node]
        (row, column), (to_row, to_column) = place_of[node], place_of[switch_of[host]]
        if column != to_column:
            return switches[row, column + _sign(to_column - column)]
        if row != to_row:
            return switches[row + _sign(to_row - row), column]
        return host

    return cabling.shape(cabling.switches, towards)


def _rows_and_columns(grid: RowsColumns, adapter: Wire, trunk: Wire) -> ClusterShape:
    hosts = _hosts(grid.rows * grid.columns)
    place_of = {host: divmod(index, grid.columns) for index, host in enumerate(hosts)}
    rows = [f"row{row}" for row in range(1, grid.rows + 1)]
    columns = [f"column{column}" for column in range(1, grid.columns + 1)]
    cabling = _Cabling(hosts, (*rows, *columns, "core"))
    for host, (row, column) in place_of.items():
        cabling.join(host, rows[row], adapter)
        cabling.join(host, columns[column], adapter)
    for switch in rows:
        cabling.join(switch, "core", trunk)

    def towards(node: str, host: str) -> str | None:
        row, column = place_of[host]
        if node == "core":
            return rows[row]
        if node in place_of:
            same_column = place_of[node][1] == column and place_of[node][0] != row
            return columns[column] if same_column else rows[place_of[node][0]]
        if node in (rows[row], columns[column]):
            return host
        # A column's switch gets only packets to hosts of its own column.
        return "core" if node in rows else None

    return cabling.shape(cabling.switches, towards)


def _torus(dimensions: Sequence[int], wire: Wire) -> ClusterShape:
    # The first dimension counts fastest: node1 and node2 are neighbours in it.
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
                cabling.join(host_at[place], host_at[neighbour(place, axis, 1)], wire, adapters)

    def towards(node: str, host: str) -> str:
        here, there = place_of[node], place_of[host]
        axis = next(a for a in range(len(dimensions)) if here[a] != there[a])
        ahead = (there[axis] - here[axis]) % dimensions[axis]
        return host_at[neighbour(here, axis, 1 if 2 * ahead <= dimensions[axis] else -1)]

    return cabling.shape(hosts, towards)


def _fat_tree(tree: FatTree, adapter: Wire, trunk: Wire) -> ClusterShape:
    hosts = _hosts(tree.leaves * tree.hosts_per_leaf)
    leaves = [f"leaf{number}" for number in range(1, tree.leaves + 1)]
    spines = [f"spine{number}" for number in range(1, tree.spines + 1)]
    number_of = {host: number for number, host in enumerate(hosts)}
    leaf_of = {host: leaves[n // tree.hosts_per_leaf] for host, n in number_of.items()}
    cabling = _Cabling(hosts, (*leaves, *spines))
    for host in hosts:
        cabling.join(host, leaf_of[host], adapter)
    for leaf, spine in product(leaves, spines):
        cabling.join(leaf, spine, trunk)

    def towards(node: str, host: str) -> str:
        if node in leaf_of or node in spines:
            return leaf_of[node if node in leaf_of else host]
        return host if leaf_of[host] == node else spines[number_of[host] % tree.spines]

    return cabling.shape(cabling.switches, towards)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
