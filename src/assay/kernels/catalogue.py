"""The catalogue's vocabulary: what a kernel is called, takes, yields and costs.

One entry a kernel, in the module named after its family (``memory.py``, ``compute.py``, …). The
native tree holds the arithmetic; everything known about a kernel without running it stands here.
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
# Bytes of one operation from a rank to another, from parameters, ranks and threads.
Peers = Mapping[tuple[int, int], float]
PeersFormula = Callable[[Mapping[str, Value], int, int], Peers]
# A sentence on why these parameters can't be measured at this placement; None if they can.
Check = Callable[[Mapping[str, Value], Placement], str | None]


@dataclass(frozen=True)
class Parameter:
    """One parameter: ``choices`` for words, ``low`` and ``high`` for numbers.

    ``numa_node``: it is the number of a NUMA node, or negative; plans know which are there.
    ``tacit``: its default goes without saying where a cell is named.
    """

    name: str
    default: Value
    meaning: str
    unit: str = ""
    choices: tuple[Value, ...] = ()
    low: float | None = None
    high: float | None = None
    numa_node: bool = False
    tacit: bool = False


@dataclass(frozen=True)
class Metric:
    """One quantity that a kernel yields.

    A cost is a series of the stream as it is (``series``, seconds). A rate is the work named by
    ``quantity`` divided by that series; its median is therefore work / median(cost), and a mean
    over it would be harmonic. ``optional``: that its series is missing is no news. ``phase``: it is
    the time of a phase, and all phases make up the whole.
    """

    name: str
    unit: str
    better: Literal["more", "less"]
    meaning: str
    series: str = "time"
    quantity: str | None = None
    optional: bool = False
    phase: bool = False


@dataclass(frozen=True)
class Kernel:
    """One entry. ``work(parameters, ranks, threads)`` gives all ranks' work of one operation.

    ``formulas``: the same in words for people, by quantity. ``memory`` and ``check`` let a plan
    refuse, before anything is launched, what can't be measured. ``even``: the ranks do the same, so
    that one that takes longer is a slow one. ``once``: a search whose outcome settles what other
    cells leave open (their ``settled_by``): measured before all of them, and never again.
    ``peers``: what each rank sends to each other one by itself; None where all send equally,
    so that no rank order is better than another. ``outside``: a user's program, which assay doesn't
    build. ``pace``: operations that one core does in a
    second, within a factor of a few and with what comes before the timed part: plans choose sizes
    by it, and no result comes of it.
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
    even: bool = True
    headline: str = "time"
    notes: str = ""
    work_units: Mapping[str, str] = field(default_factory=dict)
    formulas: Mapping[str, str] = field(default_factory=dict)
    memory: MemoryFormula | None = None
    peers: PeersFormula | None = None
    check: Check | None = None
    once: bool = False
    settled_by: str | None = None
    outside: bool = False
    pace: float | None = None

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, or None."""
        return next((p for p in self.parameters if p.name == name), None)

    def metric(self, name: str) -> Metric | None:
        """The metric of that name, or None."""
        return next((m for m in self.metrics if m.name == name), None)


def phase(name: str, meaning: str) -> Metric:
    """The time of a phase; ranks differ in it, and what none spent time in is left out."""
    text = f"{meaning}, mean over ranks"
    return Metric(name, "s", "less", text, series=name, optional=True, phase=True)


def is_phase(metric: Metric) -> bool:
    """Whether a metric is the time of a phase."""
    return metric.phase
