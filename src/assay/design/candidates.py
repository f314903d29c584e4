"""Candidates as columns: what clusters of one architecture cost, need and deliver."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields, replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from assay.arrays import Floats
from assay.design.architecture import Architecture
from assay.design.fabric import Fabric, fabric_of
from assay.design.parts.model import Catalogue, InterconnectPart
from assay.design.spec.model import DesignSpec
from assay.design.workload import LINPACK, MachineFigures
from assay.models.linpack.combined import DescribedNode, ListedCurve, listed_curve


@dataclass(frozen=True)
class PriceFactors:
    """Factors on the catalogue's prices, all with the same shape; 1 keeps the price."""

    node: Floats
    accelerator: Floats
    kit: Floats
    disk: Floats
    network: Floats
    storage: Floats
    room: Floats
    #: Factor on the price of a kWh.
    energy: Floats

    @classmethod
    def as_quoted(cls) -> PriceFactors:
        """Factors that change no price."""
        return cls(**{field.name: np.ones(()) for field in fields(cls)})


@dataclass(frozen=True)
class Bill:
    """Costs and requirements of clusters of one architecture, by number of nodes.

    ``price`` is the sum of ``nodes`` (including accelerators, memory, disks and spares),
    ``network`` (adapters, switches, cables), ``storage``, and ``room`` (racks, power distribution,
    administration, assembly, servers).
    """

    nodes: Floats
    network: Floats
    storage: Floats
    room: Floats
    #: Power, W.
    power: Floats
    #: Number of racks.
    racks: Floats
    #: Floor space, m².
    floor: Floats
    #: ``yearly``: costs of a year of use. ``total``: price and costs of all years.
    yearly: Floats
    total: Floats

    @property
    def price(self) -> Floats:
        """The price of the purchase."""
        return self.nodes + self.network + self.storage + self.room


class Builder:
    """Bills of architectures from one catalogue; fabrics are computed once per interconnect."""

    def __init__(self, spec: DesignSpec) -> None:
        self._spec = spec
        self._catalogue: Catalogue = spec.catalogue
        self._fabrics: dict[tuple[str, int, int], Fabric] = {}
        self._listed: dict[DescribedNode, ListedCurve] = {}

    def fabric(self, architecture: Architecture) -> Fabric:
        """The fabric of an architecture for all numbers of nodes up to the maximum."""
        per_rack = max(self.nodes_per_rack(architecture), 1)
        key = (architecture.network.name, architecture.adapters, per_rack)
        if key not in self._fabrics:
            # With accelerators, their number decides the number of adapters.
            network = replace(architecture.network, adapters=architecture.adapters)
            self._fabrics[key] = fabric_of(
                network, self._catalogue.switches, self._spec.limits.most, per_rack
            )
        return self._fabrics[key]

    def nodes_per_rack(self, one: Architecture) -> int:
        """Maximum number of nodes in a rack, by height, power and cooling; 0 if none may be."""
        room = self._catalogue.room
        number = int(room.rack_units // one.node.units)
        limit = room.rack_limit(one.host.cooling)
        if math.isfinite(limit) and one.power > 0.0:
            number = min(number, int(limit / one.power + 1e-9))
        return number

    def cools(self, one: Architecture) -> bool:
        """Whether the room has the cooling that the node needs."""
        return self._catalogue.room.rack_limit(one.host.cooling) > 0.0

    def bill(self, one: Architecture, count: NDArray[np.int64], prices: PriceFactors) -> Bill:
        """The cost of ``count`` nodes (an array; ``prices`` broadcast against it)."""
        room, fabric = self._catalogue.room, self.fabric(one)
        bought = self._spec.bought(count.astype(float))
        each = one.host.price.value * prices.node
        if one.kit:
            each = each + one.kit.price.value * prices.kit
        if one.disk:
            each = each + one.disk.price.value * prices.disk
        nodes = bought * each
        if one.accelerator:
            devices = self._spec.bought_accelerators(bought * one.accelerators)
            nodes = nodes + devices * one.accelerator.price.value * prices.accelerator
        adapters = bought * one.bought_adapters * one.network.adapter.value
        equipment, drawn, units = self._switches(one.network, fabric, count)
        cable = self._catalogue.cables.get(one.network.cable)
        if cable is not None:
            length = np.minimum(fabric.metres[count], cable.longest)
            equipment = equipment + fabric.cables[count] * (
                cable.price.value + cable.per_metre.value * length
            )
        storage = np.zeros(count.shape)
        power = count * one.power + drawn
        if one.storage:
            storage = storage + one.storage_number * one.storage.price.value
            power = power + one.storage_number * one.storage.power.value
            units = units + one.storage_number * one.storage.units
        racks = self._racks(one, count, power, units)
        units_of_power = np.maximum(np.ceil(power / room.pdu_power.value), racks)
        around = (
            racks * room.rack.value
            + units_of_power * room.pdu.value
            + count * room.management.value
            + bought * room.assembly.value * room.wage.value
            + room.server.value
        )
        network = (adapters + equipment) * prices.network
        storage, around = storage * prices.storage, around * prices.room
        price = nodes + network + storage + around
        yearly, total = np.zeros(()), price
        if (costs := self._spec.costs) is not None:
            yearly = costs.per_year(price, power, prices.energy)
            total = price + costs.worth * yearly
        return Bill(
            nodes=nodes,
            network=network,
            storage=storage,
            room=around,
            power=power,
            racks=racks,
            floor=racks * room.rack_floor,
            yearly=yearly + np.zeros_like(price),
            total=total,
        )

    def _racks(
        self, one: Architecture, count: NDArray[np.int64], power: Floats, units: Floats
    ) -> Floats:
        """Racks by height, and by the power of the nodes and of everything in them.

        ``units``: height of everything except the nodes.
        """
        room = self._catalogue.room
        racks = np.ceil((count * one.node.units + units) / room.rack_units)
        limit = room.rack_limit(one.host.cooling)
        if not 0.0 < limit < math.inf:  # without a limit, or a room that can't cool such nodes
            return np.asarray(racks)
        by_node = np.ceil(count / max(self.nodes_per_rack(one), 1))
        by_power = np.ceil(power / limit - 1e-9)
        return np.asarray(np.maximum(np.maximum(racks, by_node), by_power))

    def io(self, one: Architecture, count: NDArray[np.int64]) -> Floats:
        """Bandwidth of the storage that all nodes share (B/s): its own, or the nodes' adapters'."""
        if one.storage is None:
            return np.zeros(count.shape)
        outside = count * one.network.bandwidth.value * one.rails
        return np.asarray(np.minimum(outside, one.storage_number * one.storage.rate.value))

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
            memory=np.full(count.shape, one.working_memory),
            rate=np.full(count.shape, rate.value if rate else math.nan),
            link=np.full(count.shape, one.link),
            latency=one.network.latency.value * fabric.latency_factor()[count],
            bisection=link * np.maximum(fabric.bisection[count], 1e-9),
            processes=np.full(count.shape, float(one.processes)),
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
            memory=one.working_memory,
            year=int(year[0]) if year else date.today().year,
            network=f"{network.name} {network.family}",
            rate=one.link,
            latency=network.latency.value,
        )
        if described not in self._listed:
            self._listed[described] = listed_curve(described, self._spec.limits.most)
        return self._listed[described]
