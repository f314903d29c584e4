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
    """Cells of a plan that placement searches choose among.

    ``cells``: their ids. Cells with the same kernel, parameters, toolchain and number of nodes are
    candidates of one search. ``optional``: ids of cells that are measured only when the search
    requests them. ``within``: bound on the relative excess of the chosen cell's time over the best
    one's, held with ``probability``.
    """

    cells: tuple[str, ...]
    optional: tuple[str, ...]
    within: float = 0.02
    probability: float = 0.95


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A suite made concrete: its cells in the order written, its rules of replication, its seed.

    ``notes``: sentences on what the suite requests and this machine can't do. ``choices``:
    sentences on levels that were derived from the machine or are left to a search. ``search``: None
    if every cell is measured. ``fitted``: ids of the cells whose rank order was fitted to the
    traffic between ranks. ``between``: for cells with a communication matrix, by id, the share of
    the traffic that crosses nodes, 0 to 1. ``expected``: by id, the seconds of the shortest
    measurement, for cells whose messages need considerable time on this network's links.
    ``first``: ids of the cells that get their launches first where the budget is too small for all.
    ``demand``: of the measured command, from its profile; None: not profiled. ``forecasts``: the
    times that it predicts, by id. ``earlier``: by id, the seconds of the shortest measurement in
    earlier runs on the same machine; ``launch_time``: the seconds of their launches outside
    measurements, 0 if there are none. ``question``: the one that the plan says it asks (``ASKED``);
    empty if it follows from the plan's kernels.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    replication: Replication
    seed: int
    notes: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    search: Search | None = None
    fitted: tuple[str, ...] = ()
    between: dict[str, float] = {}
    expected: dict[str, float] = {}
    first: tuple[str, ...] = ()
    demand: ProgramDemand | None = None
    forecasts: dict[str, PlacementForecast] = {}
    earlier: dict[str, float] = {}
    launch_time: float = 0.0
    question: str = ""


@dataclass(frozen=True)
class PlanContext:
    """The machine that a plan is made for: cores per node, nodes, names of toolchains.

    ``crossed``: the toolchains that combine a compiler and an MPI of assay.toml, for comparison.
    ``unusable``: further toolchains by name, each with a sentence on the reason.
    ``memory``: bytes available on a node; None if unknown. ``numa``: usable cores by NUMA node;
    empty if unknown. ``caches``: bytes of a node's last-level caches. ``adapters``: names of a
    node's network adapters; None if unknown. ``notes``: sentences about the machine for readers of
    the results. ``hardware_threads``: usable ones per node; 0 if unknown. ``adapter_speed``: of a
    node's fastest adapter, B/s; ``slowest_link``: of any link between nodes, B/s; None if unknown.
    ``unlimited``: whether there are as many nodes as are requested (a fake machine).
    """

    cores: int
    nodes: int = 1
    default_toolchain: str = "embedded"
    toolchains: tuple[str, ...] = ("embedded",)
    crossed: tuple[str, ...] = ()
    unusable: Mapping[str, str] = field(default_factory=dict)
    memory: float | None = None
    numa: Mapping[int, int] = field(default_factory=dict)
    caches: int = ASSUMED_CACHES
    adapters: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    hardware_threads: int = 0
    adapter_speed: float | None = None
    slowest_link: float | None = None
    unlimited: bool = False

    @property
    def threads_per_core(self) -> int:
        """Hardware threads per core, rounded down; 1 if their number is unknown."""
        return max(self.hardware_threads // self.cores, 1)
