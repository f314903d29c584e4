"""The run time of a traced program in parts that add up to it.

The parts follow the efficiencies of the POP Centre of Excellence, in seconds instead of ratios, by
replays of the execution graph. From the run time to the mean computing time: without what the node
takes, without the time of messages, without waiting for other ranks. Each step is the difference of
two run times, so that no second counts twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.models.program.adapters import with_adapters
from assay.models.program.efficiency import computing_times
from assay.models.program.graph import ProgramGraph
from assay.models.program.links import IDEAL, LinkParameters, ProgramNetwork
from assay.models.program.prediction import ModelledRun
from assay.models.program.replay import replay
from assay.trace.matching import MatchedTrace


@dataclass(frozen=True)
class TimeParts:
    """Parts of a run time, s. They add up to ``seconds``."""

    #: Run time.
    seconds: float
    #: Mean computing time of the ranks, without what their nodes take.
    computing: float
    #: What the run would save if no node took time from its ranks.
    node: float
    #: Waiting for other ranks.
    waiting: float
    #: Time of messages: the part that falls with latency and overhead, and the part that falls with
    #: the time per byte.
    latency: float
    bandwidth: float
    #: Time of messages that a network doesn't explain on which all take as long as most do.
    unexplained: float


def time_parts(matched: MatchedTrace, run: ModelledRun | None, lost: Sequence[float]) -> TimeParts:
    """The parts of a run.

    ``run``: its model; None: it couldn't be modelled, and ``unexplained`` has all time of messages.
    ``lost``: computing time that each rank (position) lost to its node, s.
    """
    trace = matched.trace
    seconds = trace.end - trace.begin
    computing = computing_times(trace)
    healthy = np.maximum(computing - np.asarray(lost), 0.0)
    mean = float(healthy.mean())
    if run is None:
        node = float(computing.max() - healthy.max())
        waiting = float(healthy.max()) - mean
        rest = max(seconds - node - waiting - mean, 0.0)
        return TimeParts(
            seconds=seconds,
            computing=mean,
            node=node,
            waiting=waiting,
            latency=0.0,
            bandwidth=0.0,
            unexplained=rest,
        )
    factors = np.where(computing > 0.0, healthy / np.maximum(computing, 1e-12), 1.0)
    graph = _with_computing(run, factors)
    network = run.calibrated.network
    modelled = _on(run, graph, network)
    node = min(max(run.on(run.modelled) - modelled, 0.0), seconds - mean)
    ideal = min(max(_on(run, graph, IDEAL), float(healthy.max())), seconds - node)
    transfer = seconds - node - ideal
    quiet = run.calibrated.quiet
    without = modelled if quiet == network else _on(run, graph, quiet)
    latency = max(without - _on(run, graph, _changed(quiet, latency=False)), 0.0)
    bandwidth = max(without - _on(run, graph, _changed(quiet, gap=False)), 0.0)
    # Removing one cost at a time leaves out what only both together save.
    known = min(max(without - ideal, 0.0), transfer)
    both = latency + bandwidth
    if both > 0.0:
        latency, bandwidth = known * latency / both, known * bandwidth / both
    return TimeParts(
        seconds=seconds,
        computing=mean,
        node=node,
        waiting=max(ideal - mean, 0.0),
        latency=latency,
        bandwidth=bandwidth,
        unexplained=transfer - latency - bandwidth,
    )


def _with_computing(run: ModelledRun, factors: np.ndarray) -> ProgramGraph:
    """The graph with each rank's computing multiplied."""
    if np.all(factors == 1.0):
        return run.graph
    flat, graph = run.matched.flat, run.graph
    nodes = np.flatnonzero(graph.begins)
    seconds = graph.along.seconds.copy()
    seconds[nodes] *= factors[flat.rank[graph.event[nodes]]]
    return replace(graph, along=replace(graph.along, seconds=seconds))


def _on(run: ModelledRun, graph: ProgramGraph, network: ProgramNetwork) -> float:
    """The time of the run if its part takes the time of a replay, s."""
    return run.on(replay(with_adapters(graph, network), network))


def _changed(network: ProgramNetwork, *, latency: bool = True, gap: bool = True) -> ProgramNetwork:
    """A network without its latency and overhead, or without its time per byte."""

    def link(of: LinkParameters) -> LinkParameters:
        return LinkParameters(
            of.latency if latency else 0.0, of.gap if gap else 0.0, of.overhead if latency else 0.0
        )

    return ProgramNetwork(link(network.within), link(network.between))
