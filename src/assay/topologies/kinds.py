"""The kinds of networks, with their hosts and switches. The lab and the models share them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import get_args

import msgspec


class _Kind(msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    @property
    def kind(self) -> str:
        """Name of the kind in a spec."""
        return str(self.__struct_config__.tag)


class Single(_Kind, frozen=True, tag="single"):
    """Hosts on one switch per adapter."""

    hosts: int


class Switches(_Kind, frozen=True, tag="switches"):
    """A grid of switches, each connected to its neighbours by trunks, with hosts on each."""

    rows: int
    columns: int
    hosts_per_switch: int


class RowsColumns(_Kind, frozen=True, tag="rows-columns"):
    """A grid of hosts, each on its row's and its column's switch; a core connects the rows'.

    Barczak, Messom & Johnson (2003), figure 1.
    """

    rows: int
    columns: int


class Torus(_Kind, frozen=True, tag="torus"):
    """Hosts connected to their neighbours in each dimension, with wrap-around; they forward."""

    dimensions: tuple[int, ...]


class FatTree(_Kind, frozen=True, tag="fat-tree"):
    """Leaf switches with hosts, each leaf connected to every spine switch."""

    leaves: int
    spines: int
    hosts_per_leaf: int

    @property
    def oversubscription(self) -> float:
        """Hosts per uplink of a leaf; 1 is a full bisection if all links are equally fast."""
        return self.hosts_per_leaf / self.spines


class ThreeLevelTree(_Kind, frozen=True, tag="three-level-tree"):
    """Pods of leaf switches with hosts, each connected to every middle switch of its pod.

    The middle switches with the same number in all pods share ``cores_per_middle`` core switches
    (Al-Fares, Loukissas & Vahdat 2008; a k-ary fat tree with p pods has p² / 4 cores).
    """

    pods: int
    leaves_per_pod: int
    hosts_per_leaf: int
    middles_per_pod: int
    cores_per_middle: int


class Dragonfly(_Kind, frozen=True, tag="dragonfly"):
    """Groups of switches. All switches of a group are connected, and so are all groups.

    Kim, Dally, Scott & Abts (2008). Each pair of groups has one link; a group's links to others
    are spread over its switches in turn.
    """

    groups: int
    switches_per_group: int
    hosts_per_switch: int


Topology = Single | Switches | RowsColumns | Torus | FatTree | ThreeLevelTree | Dragonfly
KINDS: Mapping[str, type[Topology]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(Topology)
}


def hosts_of(topology: Topology) -> int:
    """Number of hosts."""
    match topology:
        case Single(hosts=hosts):
            return hosts
        case Switches(rows=rows, columns=columns, hosts_per_switch=each):
            return rows * columns * each
        case RowsColumns(rows=rows, columns=columns):
            return rows * columns
        case Torus(dimensions=dimensions):
            return prod(dimensions)
        case FatTree(leaves=leaves, hosts_per_leaf=each):
            return leaves * each
        case ThreeLevelTree(pods=pods, leaves_per_pod=leaves, hosts_per_leaf=each):
            return pods * leaves * each
        case Dragonfly(groups=groups, switches_per_group=switches, hosts_per_switch=each):
            return groups * switches * each


def switches_of(topology: Topology, rails: int = 1) -> int:
    """Number of switches; ``rails``: adapters per host of a single-switch network."""
    match topology:
        case Single():
            return rails
        case Switches(rows=rows, columns=columns):
            return rows * columns
        case RowsColumns(rows=rows, columns=columns):
            return rows + columns + 1
        case Torus():
            return 0
        case FatTree(leaves=leaves, spines=spines):
            return leaves + spines
        case ThreeLevelTree(pods=pods, leaves_per_pod=leaves, middles_per_pod=middles):
            return pods * (leaves + middles) + middles * topology.cores_per_middle
        case Dragonfly(groups=groups, switches_per_group=switches):
            return groups * switches
