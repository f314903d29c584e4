"""The parts that a cluster is built of, with the figures that a design needs of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from assay.design.figures import PartFigure

TopologyName = Literal["none", "switch", "grid", "torus-2d", "torus-3d", "fat-tree", "dragonfly"]


@dataclass(frozen=True)
class Node:
    """A compute node as it is bought: processors, memory and on-board adapters included.

    ``peak``, ``dgemm``: flop/s of all cores, accelerators included. ``bandwidth``: sustained
    memory bandwidth of all cores, B/s. ``memory``: bytes. ``rates``: by workload, op/s of the whole
    node. ``networks``: interconnects whose adapter is on board. ``units``: rack units.
    ``between_nodes``, ``over_time``: standard deviations of the logarithm of speed, from node to
    node and of a node from step to step.
    """

    name: str
    sockets: int
    cores: int
    peak: PartFigure
    dgemm: PartFigure
    bandwidth: PartFigure
    memory: PartFigure
    price: PartFigure
    power: PartFigure
    units: float
    family: str = ""
    rates: Mapping[str, PartFigure] = field(default_factory=dict)
    networks: tuple[str, ...] = ()
    between_nodes: float = 0.0
    over_time: float = 0.0


@dataclass(frozen=True)
class MemoryKit:
    """Memory in addition to what a node is sold with. ``nodes``: those it fits; empty: all."""

    name: str
    memory: PartFigure
    price: PartFigure
    power: PartFigure
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Disk:
    """A disk per node. ``rate``: B/s of large accesses."""

    name: str
    capacity: PartFigure
    rate: PartFigure
    price: PartFigure
    power: PartFigure


@dataclass(frozen=True)
class Switch:
    """A switch with ``ports``; ``units``: rack units."""

    name: str
    ports: int
    price: PartFigure
    power: PartFigure
    units: float


@dataclass(frozen=True)
class CablePart:
    """``price`` of a cable and of each of its metres; ``longest``: m."""

    name: str
    price: PartFigure
    per_metre: PartFigure
    longest: float


@dataclass(frozen=True)
class InterconnectPart:
    """How nodes are connected.

    ``latency``: of a short message between neighbours, s. ``bandwidth``: of one adapter, B/s.
    ``adapter``, ``power``: price and power of an adapter that isn't on board. ``adapters``: how
    many of them a node has. ``switches``: those that may be used, by name. ``taper``: of a fat
    tree, links down ÷ links up. ``dimensions``: of a torus whose shape is given.
    """

    name: str
    topology: TopologyName
    latency: PartFigure
    bandwidth: PartFigure
    adapter: PartFigure
    power: PartFigure
    adapters: int = 1
    switches: tuple[str, ...] = ()
    cable: str = ""
    taper: float = 1.0
    dimensions: tuple[int, ...] = ()
    family: str = ""


@dataclass(frozen=True)
class Room:
    """What a cluster needs beside nodes and interconnect.

    ``rack``: price of a rack with ``rack_units`` and ``rack_floor`` m². ``pdu``: price of a power
    distribution unit that carries ``pdu_power`` W. ``management``: price per node of the network
    for administration. ``assembly``: hours of work per node, at ``wage`` per hour. ``server``:
    price of the servers for login, storage and administration, once.
    """

    rack: PartFigure
    rack_units: float
    rack_floor: float
    pdu: PartFigure
    pdu_power: PartFigure
    management: PartFigure
    assembly: PartFigure
    wage: PartFigure
    server: PartFigure


@dataclass(frozen=True)
class Catalogue:
    """All parts, by kind and name; ``currency`` of all prices."""

    currency: str
    nodes: Mapping[str, Node]
    memory: Mapping[str, MemoryKit]
    disks: Mapping[str, Disk]
    switches: Mapping[str, Switch]
    cables: Mapping[str, CablePart]
    interconnects: Mapping[str, InterconnectPart]
    room: Room
