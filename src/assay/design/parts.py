"""The parts of a cluster, with the figures that a design needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from assay.design.figures import PartFigure
from assay.errors import AssayError
from assay.units import format_quantity

# Clock rates, and so peaks, are known to within a few percent.
_ABOVE_PEAK = 1.05
# Benchmarks whose operations are floating-point operations, which the peak limits.
_FLOATING = ("npb.bt.", "npb.cg.", "npb.ft.", "npb.lu.", "npb.mg.", "npb.sp.")

TopologyName = Literal["none", "switch", "grid", "torus-2d", "torus-3d", "fat-tree", "dragonfly"]


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


@dataclass(frozen=True)
class MemoryKit:
    """Memory in addition to a node's own memory."""

    name: str
    memory: PartFigure
    price: PartFigure
    power: PartFigure
    #: Nodes that the memory fits; empty if it fits all.
    nodes: tuple[str, ...] = ()


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
    #: Number of adapters of a node.
    adapters: int = 1
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
    room: Room


def check_figures(catalogue: Catalogue) -> None:
    """Raises AssayError, with file and line, for a part that can't exist.

    A node's DGEMM and floating-point benchmarks must not exceed its peak. Nodes and switches must
    fit in a rack.
    """
    for node in catalogue.nodes.values():
        _check_rate(node, "DGEMM rate", node.dgemm)
        for name, rate in node.rates.items():
            if name.startswith(_FLOATING):
                _check_rate(node, f"rate of {name}", rate)
    units = catalogue.room.rack_units
    tall: list[Node | Switch] = [*catalogue.nodes.values(), *catalogue.switches.values()]
    for part in tall:
        if part.units > units:
            raise AssayError(
                f"'{part.name}' is {part.units:g} units high, but a rack has {units:g}.",
                where=part.price.where,
                fix="Correct units of the part, or rack_units of [room].",
            )


def _check_rate(node: Node, what: str, rate: PartFigure) -> None:
    if rate.value > _ABOVE_PEAK * node.peak.value:
        raise AssayError(
            f"The {what} of '{node.name}' is {rate.value / node.peak.value:.2g} times its peak "
            f"({format_quantity(rate.value, 'op/s')} of "
            f"{format_quantity(node.peak.value, 'flop/s')}).",
            where=rate.where,
            fix="Correct one of the two; both are rates of the whole node.",
        )
