"""A machine: nodes, an interconnect and a topology. Units are SI; rates are per node unless said.

Every figure states whether it was measured, quoted or assumed, with its uncertainty. ``draw``
returns the machine with all figures drawn from their distributions, which is how uncertainty is
propagated: a prediction is a function of a machine, and is computed for each of many draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from assay.topologies.kinds import Topology, hosts_of
from described.figure import MachineFigure


@dataclass(frozen=True)
class MachineNode:
    """One node.

    ``processors``: ranks that it runs, one per core. ``peak``: flop/s of the node; ``dgemm``:
    flop/s of all its ranks in matrix multiplication at once. ``memory``: B. ``stream``: B/s of all
    ranks (Triad); ``stream_one``: of one rank alone. ``message_copy``: B/s of messages within the
    node. ``storage``: B/s of its disks.
    """

    processors: int
    peak: MachineFigure
    dgemm: MachineFigure
    memory: MachineFigure
    stream: MachineFigure
    stream_one: MachineFigure
    message_copy: MachineFigure | None = None
    storage: MachineFigure | None = None

    def __post_init__(self) -> None:
        if self.processors < 1:
            raise ValueError(f"a node has at least one processor, not {self.processors}")

    def bandwidth(self, active: int) -> float:
        """B/s of all of ``active`` ranks: linear until the memory saturates (STREAM)."""
        return min(active * self.stream_one.value, max(self.stream.value, self.stream_one.value))


@dataclass(frozen=True)
class Interconnect:
    """The network between nodes, by LogGP (Alexandrov et al. 1995).

    ``latency``: L + 2o of the smallest message between neighbours, s. ``rate``: 1/G of one adapter,
    B/s in each direction. ``adapters``: of each node that carry messages at the same time.
    ``hop``: additional latency per further switch or host on the path, s. ``overhead``: o, the
    processor's time per message, s. ``trunk``: B/s of a link between switches, None is ``rate``.
    """

    name: str
    latency: MachineFigure
    rate: MachineFigure
    adapters: int = 1
    hop: MachineFigure | None = None
    overhead: MachineFigure | None = None
    trunk: MachineFigure | None = None

    def __post_init__(self) -> None:
        if self.adapters < 1:
            raise ValueError(f"a node has at least one adapter, not {self.adapters}")


@dataclass(frozen=True)
class DescribedMachine:
    """``topology``: one host per node."""

    name: str
    node: MachineNode
    interconnect: Interconnect
    topology: Topology

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return hosts_of(self.topology)

    @property
    def processors(self) -> int:
        """Ranks of the whole machine."""
        return self.nodes * self.node.processors

    @property
    def peak(self) -> float:
        """flop/s of the whole machine."""
        return self.nodes * self.node.peak.value

    def figures(self) -> Iterator[tuple[str, MachineFigure]]:
        """All figures by name (``node.dgemm``, ``interconnect.rate``)."""
        for part in ("node", "interconnect"):
            holder = getattr(self, part)
            for entry in fields(holder):
                figure = getattr(holder, entry.name)
                if isinstance(figure, MachineFigure):
                    yield f"{part}.{entry.name}", figure

    def with_values(self, values: dict[str, float]) -> DescribedMachine:
        """The machine with figures replaced by these values, by their names in ``figures``."""
        parts: dict[str, dict[str, MachineFigure]] = {"node": {}, "interconnect": {}}
        for name, value in values.items():
            part, _, entry = name.partition(".")
            old: MachineFigure = getattr(getattr(self, part), entry)
            parts[part][entry] = replace(old, value=value)
        node = replace(self.node, **parts["node"])  # type: ignore[arg-type]
        interconnect = replace(self.interconnect, **parts["interconnect"])  # type: ignore[arg-type]
        return replace(self, node=node, interconnect=interconnect)

    def draw(self, random: np.random.Generator) -> DescribedMachine:
        """The machine with every figure drawn from a log-normal distribution about its value."""
        return self.with_values(
            {
                name: figure.value * math.exp(figure.deviation * random.standard_normal())
                for name, figure in self.figures()
            }
        )

    def assumptions(self) -> list[tuple[str, MachineFigure]]:
        """Figures that were not measured: what a prediction rests on."""
        return [(name, figure) for name, figure in self.figures() if figure.origin != "measured"]
