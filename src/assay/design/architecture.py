"""The parts of a cluster without its number of nodes, and all combinations that fit together."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

from assay.design.figures import PartFigure
from assay.design.parts.model import (
    Accelerator,
    Disk,
    InterconnectPart,
    MemoryKit,
    Node,
    StorageSystem,
)
from assay.design.spec.model import DesignSpec, Requirements
from assay.errors import AssayError


@dataclass(frozen=True)
class Architecture:
    """The parts of a cluster, without its number of nodes."""

    #: The node with its accelerators: its rates are theirs. ``host``: the node as in the catalogue.
    node: Node
    host: Node
    accelerator: Accelerator | None
    kit: MemoryKit | None
    disk: Disk | None
    network: InterconnectPart
    storage: StorageSystem | None = None
    #: Number of storage systems.
    storage_number: int = 0

    @property
    def accelerators(self) -> int:
        """Number of accelerators of a node that are parts of their own."""
        return self.host.slots if self.accelerator else 0

    @property
    def processes(self) -> int:
        """Number of processes of a node in Linpack: one per accelerator or processor."""
        return self.accelerators or self.node.sockets

    @property
    def rated(self) -> str:
        """Name of the part whose rates are the node's."""
        return self.accelerator.name if self.accelerator else self.host.name

    def rated_for(self, workload: str) -> str:
        """Name of the part whose rate of a workload is the node's."""
        own = self.accelerator is None or workload in self.accelerator.rates
        return self.rated if own else self.host.name

    @property
    def memory(self) -> float:
        """Memory of a node without its accelerators', bytes."""
        return self.node.memory.value + (self.kit.memory.value if self.kit else 0.0)

    @property
    def accelerator_memory(self) -> float:
        """Memory of the accelerators of a node, bytes."""
        return self.accelerators * self.accelerator.memory.value if self.accelerator else 0.0

    @property
    def working_memory(self) -> float:
        """Memory of a node that the data of Linpack and STREAM fill, bytes."""
        return self.accelerator_memory or self.memory

    @property
    def adapters(self) -> int:
        """Number of adapters of a node."""
        return self.accelerators * self.network.per_accelerator or self.network.adapters

    @property
    def bought_adapters(self) -> int:
        """Number of a node's adapters that are not on board."""
        if self.network.topology == "none" or self.network.name in self.node.networks:
            return 0
        return self.adapters

    @property
    def rails(self) -> int:
        """Adapters that one stream of messages can use at a time.

        On a grid the path decides which adapter a message takes, and on a torus one adapter
        serves all rings.
        """
        topology = self.network.topology
        return 1 if topology == "grid" or topology.startswith("torus") else self.adapters

    @property
    def link(self) -> float:
        """Bandwidth of a node's adapters in one direction (B/s), limited by its accelerators'."""
        outside = self.network.bandwidth.value * self.rails
        if self.accelerator is None:
            return outside
        return min(outside, self.accelerators * self.accelerator.link.value)

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
    def balanced(self) -> bool:
        """Whether the memory fills the channels of a node evenly, as far as it is stated."""
        host, kit = self.host, self.kit
        if not (host.channels and host.dimms):
            return True
        if kit is None or not kit.dimms:
            return host.dimms % host.channels == 0
        if host.dimms % host.channels == 0 and kit.dimms % host.channels == 0:
            return True
        sizes = host.memory.value / host.dimms, kit.memory.value / kit.dimms
        together = (host.dimms + kit.dimms) % host.channels == 0
        return together and math.isclose(*sizes, rel_tol=0.01)

    @property
    def name(self) -> str:
        """Readable name: ``node, + memory, disk, interconnect, storage``."""
        parts = [self.node.name]
        if self.kit:
            parts.append(f"+ {self.kit.name}")
        if self.disk:
            parts.append(self.disk.name)
        parts.append(self.network.name)
        if self.storage:
            parts.append(f"{self.storage_number} × {self.storage.name}")
        return ", ".join(parts)


def architectures(spec: DesignSpec) -> Iterator[Architecture]:
    """All combinations of the chosen parts that fit together.

    Raises AssayError if a node has slots and no accelerator fits.
    """
    catalogue = spec.catalogue
    kits: list[MemoryKit | None] = [None, *(catalogue.memory[name] for name in spec.memory)]
    disks: list[Disk | None] = [catalogue.disks[name] for name in spec.disks] or [None]
    stores: list[StorageSystem | None] = [catalogue.storage[name] for name in spec.storage]
    for host in (catalogue.nodes[name] for name in spec.nodes):
        for accelerator in _fitting(spec, host):
            node = equipped(host, accelerator)
            for kit in kits:
                if kit is not None and kit.nodes and host.name not in kit.nodes:
                    continue
                for disk in disks:
                    for name in spec.interconnects:
                        for store in stores or [None]:
                            yield Architecture(
                                node=node,
                                host=host,
                                accelerator=accelerator,
                                kit=kit,
                                disk=disk,
                                network=catalogue.interconnects[name],
                                storage=store,
                                storage_number=blocks_of(store, spec.require) if store else 0,
                            )


def equipped(host: Node, accelerator: Accelerator | None) -> Node:
    """The node with an accelerator in each of its slots, whose rates are then the node's."""
    if accelerator is None:
        return host
    number = host.slots

    def together(figure: PartFigure) -> PartFigure:
        return dataclasses.replace(figure, value=number * figure.value)

    rates = {name: together(rate) for name, rate in accelerator.rates.items()}
    power = host.power.value + number * accelerator.power.value
    return dataclasses.replace(
        host,
        name=f"{host.name} + {number} × {accelerator.name}",
        peak=together(accelerator.peak),
        dgemm=together(accelerator.dgemm),
        bandwidth=together(accelerator.bandwidth),
        power=dataclasses.replace(host.power, value=power),
        family=accelerator.family or host.family,
        rates={**host.rates, **rates},
    )


def blocks_of(store: StorageSystem, require: Requirements) -> int:
    """The number of storage systems that together meet the requirements."""
    needs = (
        require.capacity / store.capacity.value,
        require.bandwidth / store.rate.value,
        require.inodes / store.inodes.value,
    )
    return max(math.ceil(round(need, 9)) for need in needs)


def _fitting(spec: DesignSpec, host: Node) -> list[Accelerator | None]:
    if not host.slots:
        return [None]
    known = (spec.catalogue.accelerators[name] for name in spec.accelerators)
    fitting = [one for one in known if not one.nodes or host.name in one.nodes]
    if not fitting:
        raise AssayError(
            f"'{host.name}' has slots for {host.slots} accelerators, but no accelerator fits.",
            where=host.price.where,
            fix="Choose another node, or an [[accelerator]] of a catalogue that fits.",
        )
    return [*fitting]
