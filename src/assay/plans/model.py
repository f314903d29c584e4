"""What a plan comes down to: cells. A cell is what is measured; a replicate is once more."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal

import msgspec

Value = int | float | str
# The fields of a placement that make a cell's id whatever they are.
_FIRST_FIELDS = ("nodes", "ppn", "threads", "order", "binding", "adapter")
# Bytes, taken for a node's last-level caches where the system doesn't tell, as the kernels do.
ASSUMED_CACHES = 64 << 20
# What stands for a toolchain where a program brings its own.
OWN_TOOLCHAIN = "own"
BINDINGS = ("compact", "spread", "per-numa", "none")
# One of BINDINGS, or "numa:1": only the CPUs of that NUMA node.
Binding = Annotated[str, msgspec.Meta(pattern=r"^(compact|spread|per-numa|none|numa:[0-9]{1,4})$")]

# Whether ranks and threads share cores, by the cores' hardware threads.
SMT = ("off", "on")
Smt = Literal["off", "on"]


class Placement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where and how a cell runs.

    ``order``: how ranks are numbered over nodes, a word of ``plans.order.ORDERS`` or the seat of
    each rank ("0,2,1,3"). ``adapter``: the network adapter to send over, or several ("eth0,eth1");
    None is the MPI library's own choice. ``node_set``: which of the hosts, where there are more
    than it takes: 0 the first ones, k the k-th random draw of so many. ``smt``: off is a core for
    each thread, on is as many threads to a core as it has hardware threads.
    """

    nodes: int = 1
    ppn: int = 1
    threads: int = 1
    order: str = "block"
    binding: Binding = "compact"
    adapter: str | None = None
    node_set: int = 0
    smt: Smt = "off"

    @property
    def ranks(self) -> int:
        """MPI processes in all."""
        return self.nodes * self.ppn

    def content(self, always: Collection[str]) -> dict[str, object]:
        """Its fields by name: those of ``always``, and of the others what isn't at its default."""
        plain = Placement()
        return {
            name: value
            for name in self.__struct_fields__
            if (value := getattr(self, name)) != getattr(plain, name) or name in always
        }

    @property
    def numa_node(self) -> int | None:
        """The NUMA node that ranks are bound to; None where the binding names none."""
        kind, _, number = self.binding.partition(":")
        return int(number) if kind == "numa" else None


class Cell(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One kernel with one set of parameters at one placement with one toolchain.

    ``dict`` holds the id once it was asked for, and is no part of the content.
    """

    kernel: str
    parameters: dict[str, Value]
    placement: Placement
    toolchain: str

    @cached_property
    def id(self) -> str:
        """Twelve hexadecimal digits that depend on the content alone.

        Of the placement's later fields only those count that are not at their defaults, so that a
        new field changes no id of what was measured before there was one.
        """
        content = msgspec.to_builtins(self)
        content["parameters"] = dict(sorted(self.parameters.items()))
        content["placement"] = self.placement.content(_FIRST_FIELDS)
        text = msgspec.json.encode(content)
        return hashlib.sha256(text).hexdigest()[:12]


class Replication(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When enough has been measured.

    ``precision``: relative half-width of the ``confidence`` interval at which sampling stops, both
    within a launch and across launches. ``budget``: seconds for the whole plan. ``launches``:
    fewest and most launches of a cell; six is the fewest that can carry a 95% interval of a median
    (1 - 2 * 0.5**6 = 0.969). ``cell_budget``: seconds a single measurement may take, None for a
    fair share of the budget.

    ``every``: seconds between the beginnings of sessions, ``sessions`` how many there are;
    ``duration`` says it in seconds. Each session is measured by all of the above, with a budget of
    its own. A ``duration`` without ``every`` is one session that goes on for so long, however
    precise it is by then (``unbroken``).
    """

    precision: float = 0.01
    confidence: float = 0.95
    budget: float = 100.0
    min_launches: int = 6
    max_launches: int = 30
    min_samples: int = 5
    max_samples: int = 4000
    cell_budget: float | None = None
    duration: float | None = None
    every: float | None = None
    sessions: int | None = None

    @property
    def planned(self) -> int:
        """How many sessions there are to be."""
        if self.every is None:
            return 1
        if self.sessions is not None:
            return self.sessions
        # A session begins at every multiple of ``every`` below the duration.
        return max(math.ceil((self.duration or 0.0) / self.every - 1e-9), 1)

    @property
    def repeated(self) -> bool:
        """Whether there are several sessions, and time passes between them."""
        return self.planned > 1

    @property
    def unbroken(self) -> bool:
        """Whether measuring goes on until its time is over, precise or not."""
        return self.duration is not None and self.every is None


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
    aren't known. ``notes``: sentences about the machine that whoever reads the numbers should know.
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
