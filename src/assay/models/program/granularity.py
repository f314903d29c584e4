"""Granularity as a function: computation ÷ communication against ranks, problem size and network.

The paper calls a program fine-grained if communication takes at least as long as computation
(Pepper & Gupta 2005), and coarse-grained if computation takes much longer, here `COARSE` times.

In one run, computation is the mean computing time of the ranks, and communication is the time of
messages on the longest path. Waiting, because ranks compute unevenly or one after the other, is
neither. On other networks both follow from the execution graph. For other numbers of ranks P and
problem sizes n (in units of work) they are scaled by the kinds of communication on the longest
path:

- computation: n/P;
- messages between neighbours: their number stays the same, and their bytes grow as (n/P)^(2/3), the
  surface of a part of three dimensions. The stated range of the exponent is from 1/2 (two
  dimensions) to 1 (all data);
- trees and recursive doubling: rounds and bytes with log2 P;
- rings and pairwise exchange: rounds with P - 1, bytes as n (P - 1)/P^2 (each rank's share of an
  exchange of all data).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.models.program.adapters import with_adapters
from assay.models.program.graph import ProgramGraph
from assay.models.program.links import ProgramNetwork
from assay.models.program.prediction import ModelledRun
from assay.models.program.replay import Replay, replay
from assay.trace.calls import COLLECTIVES, blocking_form

FINE, COARSE = 1.0, 10.0
Grain = Literal["fine", "medium", "coarse"]
Pattern = Literal["neighbours", "tree", "exchange"]
PATTERNS: tuple[Pattern, ...] = ("neighbours", "tree", "exchange")
_EXCHANGES = frozenset(
    ("Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Reduce_scatter",
     "Reduce_scatter_block")
)  # fmt: skip
# Exponent of bytes between neighbours: the usual value and its range.
_SURFACE, _SURFACES = 2 / 3, (1.0, 1 / 2)
# Largest number of ranks for which crossings are searched, as a multiple of the run's.
_FARTHEST = 4096.0
# Relative accuracy of a crossing, as a factor.
_CLOSE = 1.001
# Largest factor of ranks or size for which the laws are still near the run.
NEAR = 4.0


@dataclass(frozen=True)
class GrainPoint:
    """Computation ÷ communication at one number of ranks and problem size."""

    #: Number of ranks.
    ranks: float
    #: Problem size as a multiple of the run's; inf: no communication.
    size: float
    #: Computation ÷ communication. ``low`` to ``high``: its range by the surface laws.
    ratio: float
    low: float
    high: float

    @property
    def grain(self) -> Grain:
        """The class of granularity that the ratio belongs to."""
        return grain_of(self.ratio)

    @property
    def sure(self) -> bool:
        """Whether the whole range belongs to the same class."""
        return grain_of(self.low) == grain_of(self.high)


@dataclass(frozen=True)
class GrainModel:
    """The parts of a run on a network that the laws scale, in s."""

    #: Number of ranks of the run.
    ranks: int
    #: Mean computing time of the ranks.
    computing: float
    #: The rest of the longest path: neither this computing nor messages. It is not communication.
    waiting: float
    #: ``rounds``, ``data``: time in latency and overhead, and time in bytes, by pattern.
    rounds: dict[Pattern, float]
    data: dict[Pattern, float]

    def at(self, ranks: float, size: float = 1.0) -> GrainPoint:
        """The point for a number of ranks and a problem size relative to the run's."""
        ratio = self._ratio(ranks, size, _SURFACE)
        ends = [self._ratio(ranks, size, exponent) for exponent in _SURFACES]
        return GrainPoint(ranks, size, ratio, min(ratio, *ends), max(ratio, *ends))

    def crossing(self, ratio: float, size: float = 1.0) -> float | None:
        """The number of ranks above which the ratio is below ``ratio``.

        None if it isn't below up to 4,096 times the run's ranks.
        """

        def below(ranks: float) -> bool:
            return self.at(ranks, size).ratio < ratio

        return _first(below, 2.0, self.ranks * _FARTHEST)

    def _ratio(self, ranks: float, size: float, surface: float) -> float:
        part = size / (ranks / self.ranks)
        communication = 0.0
        for pattern in PATTERNS:
            communication += self.rounds[pattern] * _more_rounds(pattern, ranks, self.ranks)
            communication += self.data[pattern] * _more_data(
                pattern, ranks, self.ranks, size, surface
            )
        if communication <= 0.0:
            return math.inf
        return self.computing * part / communication


def grain_of(ratio: float) -> Grain:
    """Fine: at most 1; coarse: at least 10."""
    if ratio <= FINE:
        return "fine"
    return "coarse" if ratio >= COARSE else "medium"


def grain_model(run: ModelledRun, network: ProgramNetwork) -> GrainModel:
    """The model of a run on a network."""
    graph = with_adapters(run.graph, network)
    found = replay(graph, network)
    rounds, data = _parts(run, graph, found, network)
    rest = run.on(found) - run.computing - sum(rounds.values()) - sum(data.values())
    return GrainModel(len(run.matched.trace.ranks), run.computing, max(rest, 0.0), rounds, data)


def _parts(
    run: ModelledRun, graph: ProgramGraph, found: Replay, network: ProgramNetwork
) -> tuple[dict[Pattern, float], dict[Pattern, float]]:
    """Seconds of the longest path in latency and overhead, and in bytes, by pattern."""
    flat = run.matched.flat
    names = [_pattern_of(name) for name in flat.trace.functions]
    codes = np.array([PATTERNS.index(name) for name in names], dtype=np.int64)
    event = graph.event[found.path]
    # A message belongs to the call that it arrives in, which is the next call on the path.
    known = np.where(event >= 0, np.arange(len(event)), len(event))
    behind = np.minimum.accumulate(known[::-1])[::-1]
    event = np.append(event, -1)[behind]
    pattern = np.where(event >= 0, codes[flat.function[event]], 0)
    links = (network.within, network.between)
    latency, gap, overhead = (
        np.array([getattr(link, name) for link in links]) for name in ("latency", "gap", "overhead")
    )
    rounds, data = np.zeros(len(PATTERNS)), np.zeros(len(PATTERNS))
    for edges, here in ((graph.along, ~found.by_message), (graph.across, found.by_message)):
        nodes, which = found.path[here], pattern[here]
        link = edges.link[nodes]
        spent = edges.latencies[nodes] * latency[link] + edges.overheads[nodes] * overhead[link]
        np.add.at(rounds, which, spent)
        np.add.at(data, which, edges.bytes[nodes] * gap[link])
    return (
        {name: run.factor * float(rounds[i]) for i, name in enumerate(PATTERNS)},
        {name: run.factor * float(data[i]) for i, name in enumerate(PATTERNS)},
    )


def _pattern_of(function: str) -> Pattern:
    if function not in COLLECTIVES:
        return "neighbours"
    return "exchange" if blocking_form(function) in _EXCHANGES else "tree"


def _more_rounds(pattern: Pattern, ranks: float, before: float) -> float:
    """Rounds relative to the run's."""
    if pattern == "tree":
        return math.log2(max(ranks, 2.0)) / math.log2(max(before, 2.0))
    if pattern == "exchange":
        return max(ranks - 1.0, 1.0) / max(before - 1.0, 1.0)
    return 1.0


def _more_data(pattern: Pattern, ranks: float, before: float, size: float, surface: float) -> float:
    """Bytes relative to the run's."""
    if pattern == "tree":
        return _more_rounds(pattern, ranks, before)
    part = size / (ranks / before)
    if pattern == "exchange":
        return part * (1.0 - 1.0 / max(ranks, 2.0)) / (1.0 - 1.0 / max(before, 2.0))
    return float(part**surface)


def _first(holds: Callable[[float], bool], low: float, high: float) -> float | None:
    """The least number from ``low`` on for which a condition holds that stays true for larger
    numbers."""
    if holds(low):
        return low
    if not holds(high):
        return None
    while high / low > _CLOSE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
