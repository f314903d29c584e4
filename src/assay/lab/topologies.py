"""Hosts, switches, links and routes of a spec. Pure functions that do not change the system.

There are two kinds of networks. With **single switches** the hosts of a rail are one Ethernet, and
the switch is a bridge. **All other networks are routed**: each switch, and each host of a torus,
forwards by a table with every host. So there are no loops to break, each path is known beforehand,
and the TTL of a packet shows how many nodes have forwarded it. A host of a routed network has one
address for all its adapters.

``topologies/wiring.py`` defines wiring and routes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from assay.lab.spec import Spec, Wire
from assay.topologies.kinds import Single
from assay.topologies.wiring import Wiring, wiring_of

# Hosts are 10.87.0.0/24 (adapter eth0), 10.87.1.0/24 (eth1) …; forwarding switches 10.88.0.0/24:
# private (RFC 1918), and in separate namespaces, so they can't conflict with other networks.
_HOST = "10.87.{rail}.{number}"
_SWITCH = "10.88.0.{number}"
BRIDGES = "switch"  # the node that holds the bridges of all rails


@dataclass(frozen=True)
class End:
    """One end of a link: the node, its adapter, and its address there."""

    node: str
    adapter: str
    address: str = ""
    #: Bridge of which the adapter is a port, if it is one; a port has no address.
    bridge: str = ""


@dataclass(frozen=True)
class Link:
    """A cable with the same limits (``wire``) in both directions."""

    one: End
    other: End
    wire: Wire


@dataclass(frozen=True)
class Route:
    """Packets to the address ``to`` leave through ``adapter`` towards the node ``via``."""

    to: str
    via: str
    adapter: str


@dataclass(frozen=True)
class ClusterShape:
    """A cluster to be built."""

    hosts: tuple[str, ...]
    switches: tuple[str, ...]
    bridges: tuple[str, ...]
    links: tuple[Link, ...]
    #: Addresses of each node; one per rail for hosts on bridges.
    addresses: Mapping[str, tuple[str, ...]]
    #: Nodes that forward packets.
    forwarding: frozenset[str]
    #: Routes of each node, to every host that it can reach.
    routes: Mapping[str, tuple[Route, ...]]
    #: Network bits of the addresses: 24 with bridges, 32 in routed networks.
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
    if isinstance(spec.topology, Single):
        return _single(spec.topology.hosts, spec.adapters)
    return _routed(wiring_of(spec.topology), spec.adapters[0], spec.trunk)


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
    return ClusterShape(
        hosts=hosts,
        switches=(BRIDGES,),
        bridges=bridges,
        links=links,
        addresses=addresses,
        forwarding=frozenset(),
        routes={},
        prefix=24,
    )


def _routed(wiring: Wiring, adapter: Wire, trunk: Wire) -> ClusterShape:
    """A network in which each node that forwards has a table with every host."""
    addresses = {
        **{h: (_HOST.format(rail=0, number=n),) for n, h in enumerate(wiring.hosts, start=1)},
        **{s: (_SWITCH.format(number=n),) for n, s in enumerate(wiring.switches, start=1)},
    }
    adapters: defaultdict[str, dict[str, str]] = defaultdict(dict)
    links = []
    for cable in wiring.cables:
        ends = []
        # If the wiring states no name, adapters are numbered: a host has eth0, eth1 … in the order
        # of its links, and a switch has ports.
        counted = tuple(
            f"{'eth' if node in wiring.hosts else 'port'}{len(adapters[node])}"
            for node in (cable.one, cable.other)
        )
        names = cable.adapters or counted
        for node, peer, name in zip(
            (cable.one, cable.other), (cable.other, cable.one), names, strict=True
        ):
            adapters[node][peer] = name
            ends.append(End(node, name, addresses[node][0]))
        links.append(Link(ends[0], ends[1], trunk if cable.trunk else adapter))
    routes = {}
    for node in (*wiring.hosts, *wiring.switches):
        table = []
        for host in wiring.hosts:
            via = wiring.towards(node, host) if host != node else None
            if via is not None:
                table.append(Route(addresses[host][0], via, adapters[node][via]))
        routes[node] = tuple(table)
    return ClusterShape(
        hosts=wiring.hosts,
        switches=wiring.switches,
        bridges=(),
        links=tuple(links),
        addresses=addresses,
        forwarding=frozenset(wiring.forwarding),
        routes=routes,
        prefix=32,
    )
