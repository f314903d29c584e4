"""A plan made concrete for a machine: its cells, its rules of replication, and the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from assay.model.cell import Cell
from assay.model.demand import PlacementForecast, ProgramDemand
from assay.model.replication import Replication

# Bytes of a node's last-level caches if the system reports none. The kernels assume the same value.
ASSUMED_CACHES = 64 << 20

# The questions that a plan can name as the one that it asks.
ASKED = ("speed", "network", "steadiness", "placement")


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Cells of a plan that placement searches choose among."""

    #: Ids of the cells. Cells with the same kernel, parameters, toolchain and number of nodes are
    #: candidates of one search.
    cells: tuple[str, ...]
    #: Ids of cells that are measured only when the search requests them.
    optional: tuple[str, ...]
    #: Bound on the excess of the chosen cell's time over the best cell's time, relative, held with
    #: ``probability``.
    within: float = 0.02
    probability: float = 0.95


class MeasuredContract(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contract that a plan measures (``assay accept --measure``)."""

    #: The contract's file as it was named, and its text.
    file: str
    text: str
    #: The commitments that are measured: for the system, for nodes, or both.
    per: tuple[Literal["system", "node"], ...]
    #: Launches of each cell; commitments for the system may need fewer.
    launches: int


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A suite made concrete: its cells in the order written, its rules of replication, its seed."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    replication: Replication
    seed: int
    #: Sentences on requests of the suite that this machine can't fulfil.
    notes: tuple[str, ...] = ()
    #: Sentences on levels that were derived from the machine or are left to a search.
    choices: tuple[str, ...] = ()
    #: Placement searches; None if every cell is measured.
    search: Search | None = None
    #: Ids of the cells whose rank order was fitted to the traffic between ranks.
    fitted: tuple[str, ...] = ()
    #: For cells with a communication matrix, by id: the share of the traffic that crosses nodes, 0
    #: to 1.
    between: dict[str, float] = {}
    #: Seconds of the shortest measurement by id, for cells whose messages need considerable time on
    #: this network's links.
    expected: dict[str, float] = {}
    #: Ids of the cells that are launched first if the budget is too small for all.
    first: tuple[str, ...] = ()
    #: Demand of the measured command, from its profile; None: not profiled.
    demand: ProgramDemand | None = None
    #: Times that the demand predicts by id, s.
    forecasts: dict[str, PlacementForecast] = {}
    #: Seconds of the shortest measurement in earlier runs on the same machine, by id.
    earlier: dict[str, float] = {}
    #: Seconds of the cells' launches outside measurements; 0 if there are none.
    launch_time: float = 0.0
    #: The question that the plan says it asks (``ASKED``); empty if it follows from the plan's
    #: kernels.
    question: str = ""
    #: The contract that is measured; None for other plans.
    contract: MeasuredContract | None = None


@dataclass(frozen=True)
class UsableDevices:
    """The devices (accelerators) of a node that its kernels can use."""

    #: Backend that finds them: cuda, hip or opencl; "" if unknown.
    backend: str
    count: int
    #: Name of the first one; "" if unknown.
    name: str = ""


def _unknown_devices() -> UsableDevices | None:
    """The devices of a machine on which they were not sought."""
    return None


@dataclass(frozen=True)
class PlanContext:
    """The machine that a plan is made for: cores per node, nodes, names of toolchains."""

    cores: int
    nodes: int = 1
    default_toolchain: str = "embedded"
    toolchains: tuple[str, ...] = ("embedded",)
    #: Toolchains that combine a compiler and an MPI of assay.toml, for comparison.
    crossed: tuple[str, ...] = ()
    #: Further toolchains by name, each with a sentence on the reason.
    unusable: Mapping[str, str] = field(default_factory=dict)
    #: Toolchains whose MPI library is known to lack the operations of MPI 4, by name, each with the
    #: library.
    older_mpi: Mapping[str, str] = field(default_factory=dict)
    #: Bytes available on a node; None if unknown.
    memory: float | None = None
    #: Usable cores by NUMA node; empty if unknown.
    numa: Mapping[int, int] = field(default_factory=dict)
    #: Bytes of a node's last-level caches.
    caches: int = ASSUMED_CACHES
    #: Names of a node's network adapters; None if unknown.
    adapters: tuple[str, ...] | None = None
    #: Sentences about the machine for readers of the results.
    notes: tuple[str, ...] = ()
    #: Number of usable hardware threads per node; 0 if unknown.
    hardware_threads: int = 0
    #: Rate of a node's fastest adapter, B/s.
    adapter_speed: float | None = None
    #: Rate of any link between nodes, B/s; None if unknown.
    slowest_link: float | None = None
    #: Whether the machine has any requested number of nodes (a fake machine).
    unlimited: bool = False
    #: Finds a node's devices: only plans that measure devices call it. None if they are unknown.
    find_devices: Callable[[], UsableDevices | None] = _unknown_devices

    @property
    def threads_per_core(self) -> int:
        """Hardware threads per core, rounded down; 1 if their number is unknown."""
        return max(self.hardware_threads // self.cores, 1)
