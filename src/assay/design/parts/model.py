"""The parts of a cluster, with the figures that a design needs."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from assay.design.figures import PartFigure

TopologyName = Literal["none", "switch", "grid", "torus-2d", "torus-3d", "fat-tree", "dragonfly"]
Cooling = Literal["air", "liquid"]


@dataclass(frozen=True)
class Node:
    """A compute node as bought, including processors, memory and on-board adapters."""

    name: str
    sockets: int
    cores: int
    #: ``peak``, ``dgemm``: rate of all cores including accelerators, flop/s.
    peak: PartFigure
    dgemm: PartFigure
    #: Sustained memory bandwidth of all cores, B/s.
    bandwidth: PartFigure
    #: Memory, bytes.
    memory: PartFigure
    price: PartFigure
    power: PartFigure
    #: Height, rack units.
    units: float
    family: str = ""
    #: Rates of the whole node by workload, op/s.
    rates: Mapping[str, PartFigure] = field(default_factory=dict)
    #: Interconnects with an adapter on board.
    networks: tuple[str, ...] = ()
    #: ``between_nodes``, ``over_time``: standard deviations of the logarithm of speed, between
    #: nodes and between the steps of a node.
    between_nodes: float = 0.0
    over_time: float = 0.0
    #: Number of accelerators with which the node is bought; 0 if it takes none.
    slots: int = 0
    #: Number of memory channels, and of the memory modules that are installed; 0 if not stated.
    channels: int = 0
    dimms: int = 0
    cooling: Cooling = "air"


@dataclass(frozen=True)
class Accelerator:
    """An accelerator; nodes with ``slots`` are bought with this number of them."""

    name: str
    #: Memory, bytes.
    memory: PartFigure
    #: ``peak``, ``dgemm``: rates in 64 bit, flop/s.
    peak: PartFigure
    dgemm: PartFigure
    #: Sustained bandwidth of its memory, B/s.
    bandwidth: PartFigure
    #: Bandwidth between the accelerator and the node's adapters in one direction, B/s.
    link: PartFigure
    price: PartFigure
    power: PartFigure
    family: str = ""
    #: Rates by workload, which may be a precision such as ``bf16``, op/s.
    rates: Mapping[str, PartFigure] = field(default_factory=dict)
    #: Nodes that it fits; empty if it fits all with slots.
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class MemoryKit:
    """Memory in addition to a node's own memory."""

    name: str
    memory: PartFigure
    price: PartFigure
    power: PartFigure
    #: Nodes that the memory fits; empty if it fits all.
    nodes: tuple[str, ...] = ()
    #: Number of memory modules; 0 if not stated.
    dimms: int = 0


@dataclass(frozen=True)
class Disk:
    """A disk per node."""

    name: str
    capacity: PartFigure
    #: Bandwidth of large accesses, B/s.
    rate: PartFigure
    price: PartFigure
    power: PartFigure


@dataclass(frozen=True)
class StorageSystem:
    """A building block of the storage that all nodes share, as bought, with its connection."""

    name: str
    #: Usable capacity, bytes.
    capacity: PartFigure
    #: Bandwidth of large accesses by many nodes, B/s.
    rate: PartFigure
    #: Number of files and directories that fit.
    inodes: PartFigure
    price: PartFigure
    power: PartFigure
    #: Height, rack units.
    units: float


@dataclass(frozen=True)
class CloudInstance:
    """A rented node, as fast as ``node`` of a catalogue with the interconnect ``network``."""

    name: str
    node: str
    network: str
    #: Price of an instance per hour.
    hour: PartFigure
    #: Price per month of what does not depend on the hours: storage, transfers, support.
    month: PartFigure | None = None
    #: Maximum number of instances that can be rented at once.
    most: int = 1000


@dataclass(frozen=True)
class Switch:
    """A switch with its ports and its price."""

    name: str
    ports: int
    price: PartFigure
    power: PartFigure
    #: Height, rack units.
    units: float


@dataclass(frozen=True)
class CablePart:
    """A cable with its price and its price per metre."""

    name: str
    price: PartFigure
    per_metre: PartFigure
    #: Maximum length, m.
    longest: float


@dataclass(frozen=True)
class InterconnectPart:
    """An interconnect between nodes."""

    name: str
    topology: TopologyName
    #: Latency of a short message between neighbours, s.
    latency: PartFigure
    #: Bandwidth of one adapter, B/s.
    bandwidth: PartFigure
    #: ``adapter``, ``power``: price and power of an adapter that isn't on board.
    adapter: PartFigure
    power: PartFigure
    #: Number of adapters of a node, if it has no accelerators or ``per_accelerator`` is 0.
    adapters: int = 1
    #: Number of adapters for each accelerator of a node.
    per_accelerator: int = 0
    #: Switches that may be used, by name.
    switches: tuple[str, ...] = ()
    cable: str = ""
    #: Oversubscription of a fat tree: links down ÷ links up.
    taper: float = 1.0
    #: Shape of a torus, if it is fixed.
    dimensions: tuple[int, ...] = ()
    family: str = ""


@dataclass(frozen=True)
class Room:
    """What a cluster needs in addition to nodes and interconnect."""

    #: Price of a rack with ``rack_units`` and ``rack_floor`` m².
    rack: PartFigure
    rack_units: float
    rack_floor: float
    #: Price of a power distribution unit that carries ``pdu_power`` W.
    pdu: PartFigure
    pdu_power: PartFigure
    #: Price per node of the network for administration.
    management: PartFigure
    #: Work per node (hours), paid at ``wage`` per hour.
    assembly: PartFigure
    wage: PartFigure
    #: Price of all servers for login, storage and administration.
    server: PartFigure
    #: Maximum power of a rack (W): ``rack_power`` by its supply, ``air`` by cooling with air,
    #: ``liquid`` by cooling with liquid. None if not limited; no liquid if only air is stated.
    rack_power: PartFigure | None = None
    air: PartFigure | None = None
    liquid: PartFigure | None = None

    def rack_limit(self, cooling: Cooling) -> float:
        """Maximum power of a rack of such nodes, W; 0 if the room can't cool them."""
        if cooling == "air":
            cooled = self.air.value if self.air else math.inf
        elif self.liquid is not None:
            cooled = self.liquid.value
        else:
            cooled = math.inf if self.air is None else 0.0
        return min(cooled, self.rack_power.value if self.rack_power else math.inf)


@dataclass(frozen=True)
class Offer:
    """A catalogue that is valid up to a day."""

    vendor: str
    #: Last day on which the prices hold.
    expires: datetime.date
    #: File and line that state this day.
    where: str


@dataclass(frozen=True)
class Catalogue:
    """All parts by kind and name, and the ``currency`` of all prices."""

    currency: str
    nodes: Mapping[str, Node]
    memory: Mapping[str, MemoryKit]
    disks: Mapping[str, Disk]
    switches: Mapping[str, Switch]
    cables: Mapping[str, CablePart]
    interconnects: Mapping[str, InterconnectPart]
    accelerators: Mapping[str, Accelerator]
    storage: Mapping[str, StorageSystem]
    cloud: Mapping[str, CloudInstance]
    room: Room
    #: Offers with a last day of validity, the first to expire first.
    offers: tuple[Offer, ...] = ()
