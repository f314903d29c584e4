"""The parts that a cluster is built of, with the figures that a design needs of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from assay.design.figures import PartFigure

TopologyName = Literal["none", "switch", "grid", "torus-2d", "torus-3d", "fat-tree", "dragonfly"]


@dataclass(frozen=True)
class Node:
    """A compute node as it is bought: processors, memory and on-board adapters included."""

    name: str
    sockets: int
    cores: int
    #: ``peak``, ``dgemm``: flop/s of all cores, accelerators included.
    peak: PartFigure
    dgemm: PartFigure
    #: Sustained memory bandwidth of all cores, B/s.
    bandwidth: PartFigure
    #: Bytes.
    memory: PartFigure
    price: PartFigure
    power: PartFigure
    #: Rack units.
    units: float
    family: str = ""
    #: By workload, op/s of the whole node.
    rates: Mapping[str, PartFigure] = field(default_factory=dict)
    #: Interconnects whose adapter is on board.
    networks: tuple[str, ...] = ()
    #: ``between_nodes``, ``over_time``: standard deviations of the logarithm of speed, from node to
    #: node and of a node from step to step.
    between_nodes: float = 0.0
    over_time: float = 0.0


@dataclass(frozen=True)
class MemoryKit:
    """Memory in addition to what a node is sold with."""

    name: str
    memory: PartFigure
    price: PartFigure
    power: PartFigure
    #: Those it fits; empty: all.
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Disk:
    """A disk per node."""

    name: str
    capacity: PartFigure
    #: B/s of large accesses.
    rate: PartFigure
    price: PartFigure
    power: PartFigure


@dataclass(frozen=True)
class Switch:
    """A switch with ``ports``;"""

    name: str
    ports: int
    price: PartFigure
    power: PartFigure
    #: Rack units.
    units: float


@dataclass(frozen=True)
class CablePart:
    """``price`` of a cable and of each of its metres;"""

    name: str
    price: PartFigure
    per_metre: PartFigure
    #: m.
    longest: float


@dataclass(frozen=True)
class InterconnectPart:
    """How nodes are connected."""

    name: str
    topology: TopologyName
    #: Of a short message between neighbours, s.
    latency: PartFigure
    #: Of one adapter, B/s.
    bandwidth: PartFigure
    #: ``adapter``, ``power``: price and power of an adapter that isn't on board.
    adapter: PartFigure
    power: PartFigure
    #: How many of them a node has.
    adapters: int = 1
    #: Those that may be used, by name.
    switches: tuple[str, ...] = ()
    cable: str = ""
    #: Of a fat tree, links down ÷ links up.
    taper: float = 1.0
    #: Of a torus whose shape is given.
    dimensions: tuple[int, ...] = ()
    family: str = ""


@dataclass(frozen=True)
class Room:
    """What a cluster needs beside nodes and interconnect."""

    #: Price of a rack with ``rack_units`` and ``rack_floor`` m².
    rack: PartFigure
    rack_units: float
    rack_floor: float
    #: Price of a power distribution unit that carries ``pdu_power`` W.
    pdu: PartFigure
    pdu_power: PartFigure
    #: Price per node of the network for administration.
    management: PartFigure
    #: Hours of work per node, at ``wage`` per hour.
    assembly: PartFigure
    wage: PartFigure
    #: Price of the servers for login, storage and administration, once.
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
