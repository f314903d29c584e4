"""What a specification asks for."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.arrays import Floats
from assay.design.costs.ownership import Ownership
from assay.design.parts.model import Catalogue
from assay.design.program import DesignProgram
from assay.toml import TomlDocument

if TYPE_CHECKING:
    from assay.design.jobs import DesignJobs

Objective = Literal["rate", "rate per cost"]


@dataclass(frozen=True)
class DesignLimits:
    """Limits of a cluster; infinite if there is no limit."""

    #: Maximum price. ``total_cost``: maximum of the price and the costs of all years.
    budget: float
    total_cost: float
    #: Maximum power (W), including interconnect and spares.
    power: float
    #: Maximum floor space of the racks, m².
    floor: float
    racks: float
    #: Minimum memory per rank (bytes), with one rank per core.
    memory_per_rank: float
    #: ``memory``, ``accelerator_memory``: minimum memory of the cluster, bytes.
    memory: float
    accelerator_memory: float
    #: ``least``, ``most``: minimum and maximum number of nodes.
    least: int
    most: int


@dataclass(frozen=True)
class Requirements:
    """What the storage of a cluster must meet; 0 if nothing is required."""

    #: ``capacity`` (bytes), ``bandwidth`` (B/s, of all nodes together), ``inodes``: of the storage
    #: that all nodes share.
    capacity: float = 0.0
    bandwidth: float = 0.0
    inodes: float = 0.0
    #: ``scratch`` (bytes), ``scratch_bandwidth`` (B/s): of the disk of each node.
    scratch: float = 0.0
    scratch_bandwidth: float = 0.0

    @property
    def shared(self) -> bool:
        """Whether the cluster needs storage that all nodes share."""
        return max(self.capacity, self.bandwidth, self.inodes) > 0.0


@dataclass(frozen=True)
class LaterLot:
    """A second lot, bought ``after`` years at changed prices and rates."""

    after: float
    #: Prices and rates of the second lot relative to those of the first.
    prices: float
    rates: float
    #: Years after which both lots go.
    years: float


@dataclass(frozen=True)
class DesignSpec:
    """A requested design."""

    document: TomlDocument
    title: str
    catalogue: Catalogue
    limits: DesignLimits
    nodes: tuple[str, ...]
    memory: tuple[str, ...]
    disks: tuple[str, ...]
    interconnects: tuple[str, ...]
    accelerators: tuple[str, ...]
    storage: tuple[str, ...]
    cloud: tuple[str, ...]
    #: ``spares``, ``spare_accelerators``: spare parts, as a share of the working ones.
    spares: float
    spare_accelerators: float
    #: Whether memory may fill the channels of a node unevenly.
    unbalanced: bool
    require: Requirements
    #: None if only the purchase counts.
    costs: Ownership | None
    #: None if everything is bought at once.
    later: LaterLot | None
    objective: Objective
    #: The day of the choice, on which offers must be valid.
    day: datetime.date
    #: Weight of each workload.
    workload: Mapping[str, float]
    #: Profiled programs, by workload.
    programs: Mapping[str, DesignProgram]
    #: Mixes of jobs, by workload.
    jobs: Mapping[str, DesignJobs]
    #: Number of random draws of the uncertain figures.
    draws: int
    seed: int
    step: int
    best: int

    def bought(self, nodes: Floats) -> Floats:
        """Number of nodes to buy for this number of working nodes: spares are rounded to whole
        nodes, half a node up.

        2% of two nodes is zero nodes: rounding up would leave a third of such a cluster idle.
        """
        return nodes + _whole(nodes * self.spares)

    def bought_accelerators(self, accelerators: Floats) -> Floats:
        """Number of accelerators to buy for this number in the nodes, rounded in the same way."""
        return accelerators + _whole(accelerators * self.spare_accelerators)


def _whole(number: Floats) -> Floats:
    return np.floor(number + 0.5 + 1e-9)
