"""Types of the catalogue: a kernel's name, parameters, metrics, work and memory.

Each kernel has one entry, in the module of its family (``memory.py``, ``compute.py``, …). The
implementation is in the native tree; the entry has the facts that are known without running the
kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from assay.model.placement import Placement, Value

Work = Mapping[str, float]
WorkFormula = Callable[[Mapping[str, Value], int, int], Work]
# Bytes that one rank allocates, from its parameters, ranks and threads.
MemoryFormula = Callable[[Mapping[str, Value], int, int], float]
# Bytes that one rank sends to another in one operation, from parameters, ranks and threads.
Peers = Mapping[tuple[int, int], float]
PeersFormula = Callable[[Mapping[str, Value], int, int], Peers]
# Bytes that must pass through the busiest adapter in the shortest measurement (set-up, one sample
# and the check), from parameters, nodes (two or more) and ranks per node.
LinkBytesFormula = Callable[[Mapping[str, Value], int, int], float]
# A sentence on why these parameters can't be measured at this placement; None if they can.
Check = Callable[[Mapping[str, Value], Placement], str | None]
# The parameter that needs an MPI library with MPI 4, as text; None if any library has it.
NeedsMpi4 = Callable[[Mapping[str, Value]], str | None]


@dataclass(frozen=True)
class Parameter:
    """One parameter: ``choices`` for words, ``low`` and ``high`` for numbers."""

    name: str
    default: Value
    meaning: str
    unit: str = ""
    choices: tuple[Value, ...] = ()
    low: float | None = None
    high: float | None = None
    #: Whether its value is the number of a NUMA node, or negative; plans check the number.
    numa_node: bool = False
    #: Whether names of cells omit the default.
    tacit: bool = False
    #: Whether cells omit it, so that the ids of cells stay the same as before the parameter
    #: existed.
    omitted: bool = False


@dataclass(frozen=True)
class Metric:
    """One quantity that a kernel yields.

    A cost is a series of the stream, unchanged (``series``, seconds). A rate is the work named by
    ``quantity`` divided by that series; its median is therefore work / median(cost), and its mean
    must be the harmonic mean.
    """

    name: str
    unit: str
    better: Literal["more", "less"]
    meaning: str
    series: str = "time"
    quantity: str | None = None
    #: Whether the series may be missing.
    optional: bool = False
    #: Whether it is the time of a phase; the phases add up to the total time.
    phase: bool = False


@dataclass(frozen=True)
class Kernel:
    """An entry of the catalogue. ``work(parameters, ranks, threads)`` is the work of all ranks in
    one operation.
    """

    name: str
    title: str
    parameters: tuple[Parameter, ...]
    metrics: tuple[Metric, ...]
    work: WorkFormula
    source: str
    min_ranks: int = 1
    max_ranks: int | None = None
    threaded: bool = False
    #: Devices (accelerators) that a node must have; 0 for a kernel of the processor. Ranks of a
    #: node use a device each.
    min_devices: int = 0
    #: Whether the threads of a rank call MPI at the same time (MPI_THREAD_MULTIPLE); a launch of
    #: such a cell with several threads is its own.
    thread_multiple: bool = False
    #: Whether all ranks do equal work, so that a rank that takes longer is slow.
    even: bool = True
    headline: str = "time"
    notes: str = ""
    work_units: Mapping[str, str] = field(default_factory=dict)
    #: The work formulas as text, by quantity. ``memory`` and ``check`` let a plan refuse cells that
    #: can't be measured before any launch.
    formulas: Mapping[str, str] = field(default_factory=dict)
    memory: MemoryFormula | None = None
    #: Bytes that each rank sends to each other rank; None if all pairs exchange equally, so that no
    #: rank order is better than another.
    peers: PeersFormula | None = None
    check: Check | None = None
    needs_mpi_4: NeedsMpi4 | None = None
    #: Whether it is a search that sets parameters that other cells leave open (their
    #: ``settled_by``); it is measured once, before those cells.
    once: bool = False
    settled_by: str | None = None
    #: Whether it is a user's program, which assay doesn't build.
    outside: bool = False
    #: Bytes that the shortest measurement sends between nodes, for kernels that stop in time or can
    #: be left out; else None.
    link_bytes: LinkBytesFormula | None = None
    #: Operations per second of one core, within a factor of a few, with set-up included; plans use
    #: both to choose sizes, and no result depends on them.
    pace: float | None = None

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, or None."""
        return next((p for p in self.parameters if p.name == name), None)

    def metric(self, name: str) -> Metric | None:
        """The metric of that name, or None."""
        return next((m for m in self.metrics if m.name == name), None)


def phase(name: str, meaning: str) -> Metric:
    """The time of a phase, mean over ranks; optional: absent if no rank spent time in it."""
    text = f"{meaning}, mean over ranks"
    return Metric(name, "s", "less", text, series=name, optional=True, phase=True)


def is_phase(metric: Metric) -> bool:
    """Whether a metric is the time of a phase."""
    return metric.phase
