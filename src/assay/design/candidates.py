"""All clusters that the parts allow, as columns: their costs, and whether they meet the limits.

An **architecture** is a node with its memory, disk and interconnect; a **candidate** is an
architecture with a number of nodes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from assay.arrays import Floats
from assay.design.fabric import Fabric, fabric_of
from assay.design.parts import Catalogue, Disk, InterconnectPart, MemoryKit, Node
from assay.design.spec import DesignSpec
from assay.design.workload import LINPACK, MachineFigures
from assay.models.linpack.combined import DescribedNode, ListedCurve, listed_curve


@dataclass(frozen=True)
class Architecture:
    """The parts of a cluster, without its number of nodes."""

    node: Node
    kit: MemoryKit | None
    disk: Disk | None
    network: InterconnectPart

    @property
    def memory(self) -> float:
        """Memory of a node, bytes."""
        return self.node.memory.value + (self.kit.memory.value if self.kit else 0.0)

    @property
    def bought_adapters(self) -> int:
        """Number of a node's adapters that are not on board."""
        if self.network.topology == "none" or self.network.name in self.node.networks:
            return 0
        return self.network.adapters

    @property
    def power(self) -> float:
        """Power of a node, W."""
        parts = (self.kit, self.disk)
        return (
            self.node.power.value
            + sum(part.power.value for part in parts if part)
            + self.bought_adapters * self.network.power.value
        )

    @property
    def name(self) -> str:
        """Readable name: ``node, + memory, disk, interconnect``."""
        parts = [self.node.name]
        if self.kit:
            parts.append(f"+ {self.kit.name}")
        if self.disk:
            parts.append(self.disk.name)
        return ", ".join([*parts, self.network.name])


@dataclass(frozen=True)
class PriceFactors:
    """Factors on the catalogue's prices, all with the same shape; 1 keeps the price."""

    node: Floats
    kit: Floats
    disk: Floats
    network: Floats
    room: Floats

    @classmethod
    def as_quoted(cls) -> PriceFactors:
        """Factors that change no price."""
        one = np.ones(())
        return cls(one, one, one, one, one)


@dataclass(frozen=True)
class Bill:
    """Costs and requirements of clusters of one architecture, by number of nodes.

    ``price`` is the sum of ``nodes`` (including memory, disks and spares), ``network`` (adapters,
    switches, cables) and ``room`` (racks, power distribution, administration, assembly, servers).
    """

    nodes: Floats
    network: Floats
    room: Floats
    #: Power, W.
    power: Floats
    #: Number of racks.
    racks: Floats
    #: Floor space, m².
    floor: Floats

    @property
    def price(self) -> Floats:
        """The whole price."""
        return self.nodes + self.network + self.room


class Builder:
    """Bills of architectures from one catalogue; fabrics are computed once per interconnect."""

    def __init__(self, spec: DesignSpec) -> None:
        self._spec = spec
        self._catalogue: Catalogue = spec.catalogue
        self._fabrics: dict[tuple[str, int], Fabric] = {}
        self._listed: dict[DescribedNode, ListedCurve] = {}

    def fabric(self, architecture: Architecture) -> Fabric:
        """The fabric of an architecture for all numbers of nodes up to the maximum."""
        per_rack = max(int(self._catalogue.room.rack_units // architecture.node.units), 1)
        key = (architecture.network.name, per_rack)
        if key not in self._fabrics:
            self._fabrics[key] = fabric_of(
                architecture.network, self._catalogue.switches, self._spec.limits.most, per_rack
            )
        return self._fabrics[key]

    def bill(self, one: Architecture, count: NDArray[np.int64], prices: PriceFactors) -> Bill:
        """The cost of ``count`` nodes (an array; ``prices`` broadcast against it)."""
        room, fabric = self._catalogue.room, self.fabric(one)
        bought = self._spec.bought(count.astype(float))
        each = one.node.price.value * prices.node
        if one.kit:
            each = each + one.kit.price.value * prices.kit
        if one.disk:
            each = each + one.disk.price.value * prices.disk
        adapters = bought * one.bought_adapters * one.network.adapter.value
        equipment, drawn, units = self._switches(one.network, fabric, count)
        cable = self._catalogue.cables.get(one.network.cable)
        if cable is not None:
            length = np.minimum(fabric.metres[count], cable.longest)
            equipment = equipment + fabric.cables[count] * (
                cable.price.value + cable.per_metre.value * length
            )
        power = count * one.power + drawn
        racks = np.ceil((count * one.node.units + units) / room.rack_units)
        units_of_power = np.maximum(np.ceil(power / room.pdu_power.value), racks)
        around = (
            racks * room.rack.value
            + units_of_power * room.pdu.value
            + count * room.management.value
            + bought * room.assembly.value * room.wage.value
            + room.server.value
        )
        return Bill(
            nodes=bought * each,
            network=(adapters + equipment) * prices.network,
            room=around * prices.room,
            power=power,
            racks=racks,
            floor=racks * room.rack_floor,
        )

    def _switches(
        self, network: InterconnectPart, fabric: Fabric, count: NDArray[np.int64]
    ) -> tuple[Floats, Floats, Floats]:
        """Price, power and rack units of the switches."""
        price, power, units = (np.zeros(count.shape) for _ in range(3))
        for name, column in fabric.switches.items():
            switch = self._catalogue.switches[name]
            price = price + column[count] * switch.price.value
            power = power + column[count] * switch.power.value
            units = units + column[count] * switch.units
        return price, power, units

    def machines(
        self, one: Architecture, count: NDArray[np.int64], workload: str
    ) -> MachineFigures:
        """The catalogue's figures of clusters of ``count`` nodes for a workload."""
        fabric = self.fabric(one)
        rate = one.node.rates.get(workload)
        link = one.network.bandwidth.value
        return MachineFigures(
            nodes=count.astype(float),
            dgemm=np.full(count.shape, one.node.dgemm.value),
            bandwidth=np.full(count.shape, one.node.bandwidth.value),
            memory=np.full(count.shape, one.memory),
            rate=np.full(count.shape, rate.value if rate else math.nan),
            link=np.full(count.shape, link * self._rails(one.network)),
            latency=one.network.latency.value * fabric.latency_factor()[count],
            bisection=link * np.maximum(fabric.bisection[count], 1e-9),
            processes=np.full(count.shape, float(one.node.sockets)),
            cores=np.full(count.shape, float(one.node.cores)),
            program=self._spec.programs.get(workload),
            jobs=self._spec.jobs.get(workload),
            between_nodes=one.node.between_nodes,
            over_time=one.node.over_time,
            listed=self._listed_curve(one) if workload == LINPACK else None,
            peak=one.node.peak.value,
        )

    def _listed_curve(self, one: Architecture) -> ListedCurve:
        """What listed systems like clusters of this architecture reached in Linpack."""
        node, network = one.node, one.network
        year = re.match(r"\d{4}", node.peak.date)
        described = DescribedNode(
            sockets=node.sockets,
            cores=node.cores,
            peak=node.peak.value,
            memory=one.memory,
            year=int(year[0]) if year else date.today().year,
            network=f"{network.name} {network.family}",
            rate=network.bandwidth.value * self._rails(network),
            latency=network.latency.value,
        )
        if described not in self._listed:
            self._listed[described] = listed_curve(described, self._spec.limits.most)
        return self._listed[described]

    @staticmethod
    def _rails(network: InterconnectPart) -> int:
        """Adapters that one stream of messages can use at a time.

        On a grid the path decides which adapter a message takes, and on a torus one adapter
        serves all rings.
        """
        return (
            1
            if network.topology == "grid" or network.topology.startswith("torus")
            else (network.adapters)
        )


def architectures(spec: DesignSpec) -> Iterator[Architecture]:
    """All combinations of the chosen parts that fit together."""
    catalogue = spec.catalogue
    kits: list[MemoryKit | None] = [None, *(catalogue.memory[name] for name in spec.memory)]
    disks: list[Disk | None] = [catalogue.disks[name] for name in spec.disks] or [None]
    for node in (catalogue.nodes[name] for name in spec.nodes):
        for kit in kits:
            if kit is not None and kit.nodes and node.name not in kit.nodes:
                continue
            for disk in disks:
                for name in spec.interconnects:
                    yield Architecture(node, kit, disk, catalogue.interconnects[name])
