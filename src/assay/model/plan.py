"""A plan made concrete: its cells, how to replicate them, and the machine that it is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from assay.model.cell import Cell
from assay.model.replication import Replication

# Bytes, taken for a node's last-level caches where the system doesn't tell, as the kernels do.
ASSUMED_CACHES = 64 << 20


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Cells of a plan among which the best is searched for.

    ``cells``: their ids. Those of the same kernel with the same parameters and toolchain on as many
    nodes are candidates of one search. ``optional``: of them those that are measured only when the
    search asks for them. ``within``: the chosen one takes at most so much longer than the best,
    relatively, with ``probability``.
    """

    cells: tuple[str, ...]
    optional: tuple[str, ...]
    within: float = 0.02
    probability: float = 0.95


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A suite made concrete: its cells in the order written, how to replicate, and the seed.

    ``notes``: sentences about what the suite asked for and this machine can't do. ``choices``:
    sentences about what was chosen by the machine, or is left to a search. ``search``: None where
    every cell is measured. ``fitted``: ids of the cells whose rank order was fitted to what ranks
    send each other. ``between``: by id of cells of which a communication matrix was given, the
    share of it that goes from node to node, 0 to 1.
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


@dataclass(frozen=True)
class PlanContext:
    """The machine a plan is made for: cores of a node, nodes, and the toolchains by name.

    ``crossed``: of them those that are made of a compiler and an MPI of several, to be compared.
    ``unusable``: further toolchains by name, with a sentence each on why they can't be used.
    ``memory``: bytes available on a node; None where that isn't known. ``numa``: cores that may be
    used of each NUMA node, by its number; empty where that isn't known. ``caches``: bytes of a
    node's last-level caches. ``adapters``: the names of a node's network adapters; None where they
    aren't known. ``notes``: sentences about the machine that a reader of the numbers should know.
    ``hardware_threads``: of a node, that may be used; 0 where that isn't known.
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

    @property
    def threads_per_core(self) -> int:
        """Hardware threads that every core has at least; 1 where cores have no others."""
        return max(self.hardware_threads // self.cores, 1)
