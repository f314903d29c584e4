"""Run time of an execution graph on a network: its longest path.

The run time is a convex, piecewise linear function of L and G (LLAMP, arXiv 2404.14193, section
II): the maximum over paths of computing + λ L + β G. One pass over the nodes gives its value, and
the longest path the slopes λ = dT/dL and β = dT/dG.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.models.program.graph import Edges, ProgramGraph
from assay.models.program.links import BETWEEN, WITHIN, ProgramNetwork
from assay.trace.native import longest_path, replay_times

_MOST_STEPS = 200
# Relative difference of run times at which the search ends. Sums over 10^5 calls are rounded to
# about 1e-11, and the search must not go to and fro for less.
_EXACT = 1e-9
# First value of the search if nothing grows, and its last value, s and s/B.
_LEAST, _ENDLESS = 1e-9, 1e6
NetworkParameter = Literal["latency", "gap"]


@dataclass(frozen=True)
class Slopes:
    """Parts of the longest path: ``computing`` in s (calls that keep their measured time
    included), and multiples of each link's L, G (bytes) and o."""

    computing: float
    latencies: tuple[float, float]
    bytes: tuple[float, float]
    overheads: tuple[float, float]

    def seconds(self, network: ProgramNetwork) -> float:
        """The time of this path on a network."""
        links = (network.within, network.between)
        return self.computing + sum(
            self.latencies[i] * links[i].latency
            + self.bytes[i] * links[i].gap
            + self.overheads[i] * links[i].overhead
            for i in (WITHIN, BETWEEN)
        )


@dataclass(frozen=True)
class Replay:
    """The replay of a run on a network."""

    #: Run time, s.
    seconds: float
    #: Time of each node, s.
    times: Floats
    #: Nodes of the longest path, from its begin.
    path: Ints
    #: Whether the path reaches each node by an edge between ranks.
    by_message: npt.NDArray[np.bool_]
    #: Parts of the longest path.
    slopes: Slopes


def costs(edges: Edges, network: ProgramNetwork) -> Floats:
    """The cost of each edge on a network, s."""
    links = (network.within, network.between)
    latency, gap, overhead = (
        np.array([getattr(link, name) for link in links])[edges.link]
        for name in ("latency", "gap", "overhead")
    )
    return np.asarray(
        edges.seconds + edges.latencies * latency + edges.bytes * gap + edges.overheads * overhead
    )


def replay(graph: ProgramGraph, network: ProgramNetwork) -> Replay:
    """The run on a network."""
    along, across = costs(graph.along, network), costs(graph.across, network)
    one, other = graph.along.source, graph.across.source
    times = replay_times(one, other, along, across)
    last = int(graph.ends[np.argmax(times[graph.ends])])
    path, by_message = longest_path(one, other, across, times, last)
    return Replay(float(times[last]), times, path, by_message, _slopes(graph, path, by_message))


def _slopes(graph: ProgramGraph, path: Ints, by_message: npt.NDArray[np.bool_]) -> Slopes:
    def total(name: str, link: int | None) -> float:
        found = 0.0
        for edges, part in ((graph.along, path[~by_message]), (graph.across, path[by_message])):
            values = getattr(edges, name)[part]
            found += float(values.sum() if link is None else values[edges.link[part] == link].sum())
        return found

    return Slopes(
        total("seconds", None),
        *((total(name, WITHIN), total(name, BETWEEN)) for name in
          ("latencies", "bytes", "overheads")),
    )  # fmt: skip


def largest(
    graph: ProgramGraph, network: ProgramNetwork, name: NetworkParameter, seconds: float
) -> float | None:
    """The value of a parameter between hosts with which the run takes ``seconds``; None if none
    does.

    Newton's method, which ends after finitely many steps on a convex piecewise linear function: a
    tangent is never above the function, so steps from the left go too far, and steps from the right
    come back without crossing the solution.
    """
    value = getattr(network.between, name)
    for _ in range(_MOST_STEPS):
        found = replay(graph, network.changed(**{name: value}))
        if abs(found.seconds - seconds) <= _EXACT * seconds:
            break
        slope = _slope(found, name)
        if slope > 0.0:
            value += (seconds - found.seconds) / slope
        elif value > _ENDLESS:
            return None
        else:  # the path that is longest here doesn't grow: search further up
            value = max(value * 10.0, _LEAST)
    return float(value)


def _slope(found: Replay, name: str) -> float:
    parts = found.slopes.latencies if name == "latency" else found.slopes.bytes
    return parts[BETWEEN]
