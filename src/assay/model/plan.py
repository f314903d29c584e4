"""A plan made concrete for a machine: its cells, its rules of replication, and that machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from assay.model.cell import Cell
from assay.model.demand import PlacementForecast, ProgramDemand
from assay.model.replication import Replication

# Bytes of a node's last-level caches where the system reports none; the kernels assume the same.
ASSUMED_CACHES = 64 << 20

# The questions that a plan can name as the one it asks.
ASKED = ("speed", "network", "steadiness", "placement")


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Cells of a plan that placement searches choose among."""

    #: Their ids. Cells with the same kernel, parameters, toolchain and number of nodes are
    #: candidates of one search.
    cells: tuple[str, ...]
    #: Ids of cells that are measured only when the search requests them.
    optional: tuple[str, ...]
    #: Bound on the relative excess of the chosen cell's time over the best one's, held with
    #: ``probability``.
    within: float = 0.02
    probability: float = 0.95


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A suite made concrete: its cells in the order written, its rules of replication, its seed."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    replication: Replication
    seed: int
    #: Sentences on what the suite requests and this machine can't do.
    notes: tuple[str, ...] = ()
    #: Sentences on levels that were derived from the machine or are left to a search.
    choices: tuple[str, ...] = ()
    #: None if every cell is measured.
    search: Search | None = None
    #: Ids of the cells whose rank order was fitted to the traffic between ranks.
    fitted: tuple[str, ...] = ()
    #: For cells with a communication matrix, by id, the share of the traffic that crosses nodes, 0
    #: to 1.
    between: dict[str, float] = {}
    #: By id, the seconds of the shortest measurement, for cells whose messages need considerable
    #: time on this network's links.
    expected: dict[str, float] = {}
    #: Ids of the cells that get their launches first where the budget is too small for all.
    first: tuple[str, ...] = ()
    #: Of the measured command, from its profile; None: not profiled.
    demand: ProgramDemand | None = None
    #: The times that it predicts, by id.
    forecasts: dict[str, PlacementForecast] = {}
    #: By id, the seconds of the shortest measurement in earlier runs on the same machine.
    earlier: dict[str, float] = {}
    #: The seconds of their launches outside measurements, 0 if there are none.
    launch_time: float = 0.0
    #: The one that the plan says it asks (``ASKED``); empty if it follows from the plan's kernels.
    question: str = ""


@dataclass(frozen=True)
class PlanContext:
    """The machine that a plan is made for: cores per node, nodes, names of toolchains."""

    cores: int
    nodes: int = 1
    default_toolchain: str = "embedded"
    toolchains: tuple[str, ...] = ("embedded",)
    #: The toolchains that combine a compiler and an MPI of assay.toml, for comparison.
    crossed: tuple[str, ...] = ()
    #: Further toolchains by name, each with a sentence on the reason.
    unusable: Mapping[str, str] = field(default_factory=dict)
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
    #: Usable ones per node; 0 if unknown.
    hardware_threads: int = 0
    #: Of a node's fastest adapter, B/s.
    adapter_speed: float | None = None
    #: Of any link between nodes, B/s; None if unknown.
    slowest_link: float | None = None
    #: Whether there are as many nodes as are requested (a fake machine).
    unlimited: bool = False

    @property
    def threads_per_core(self) -> int:
        """Hardware threads per core, rounded down; 1 if their number is unknown."""
        return max(self.hardware_threads // self.cores, 1)
