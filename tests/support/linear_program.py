"""The run time of an execution graph as a linear program, after LLAMP (arXiv 2404.14193, III).

A variable per node, a constraint per edge, and L and G between hosts as variables with a lower
bound; the least run time is the longest path, and the reduced costs of L and G are its slopes. With
the run time bounded instead, the largest L is the latency tolerance. `replay` gives the same
numbers much faster; the program is the independent check of it (SciPy's HiGHS).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from assay.errors import AssayError
from assay.models.program.graph import Edges, ProgramGraph
from assay.models.program.links import BETWEEN, LinkParameters, ProgramNetwork
from assay.models.program.replay import costs

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


@dataclass(frozen=True)
class LinearSolution:
    """``seconds``: run time; ``latency``, ``gap``: dT/dL and dT/dG between hosts."""

    seconds: float
    latency: float
    gap: float


def solve(graph: ProgramGraph, network: ProgramNetwork) -> LinearSolution:
    """The run time on a network and its slopes, by the linear program."""
    number = len(graph)
    target = np.zeros(number + 3)
    target[number + 2] = 1.0
    lows = np.full(number + 3, -np.inf)
    lows[number : number + 2] = network.between.latency, network.between.gap
    found = _run(graph, network, target, lows)
    slopes = found.lower.marginals[number : number + 2]
    return LinearSolution(float(found.fun), float(slopes[0]), float(slopes[1]))


def largest_latency(graph: ProgramGraph, network: ProgramNetwork, seconds: float) -> float:
    """The largest latency between hosts with which the run takes at most ``seconds``."""
    number = len(graph)
    target = np.zeros(number + 3)
    target[number] = -1.0
    lows = np.full(number + 3, -np.inf)
    highs = np.full(number + 3, np.inf)
    lows[number] = 0.0
    lows[number + 1] = highs[number + 1] = network.between.gap
    highs[number + 2] = seconds
    return float(-_run(graph, network, target, lows, highs).fun)


def _run(
    graph: ProgramGraph,
    network: ProgramNetwork,
    target: npt.NDArray[np.float64],
    lows: npt.NDArray[np.float64],
    highs: npt.NDArray[np.float64] | None = None,
) -> OptimizeResult:
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    number = len(graph)
    # L and G between hosts are variables, so their part leaves the constants.
    fixed = ProgramNetwork(network.within, LinkParameters(0.0, 0.0, network.between.overhead))
    rows: list[Any] = []
    columns: list[Any] = []
    values: list[Any] = []
    bounds: list[Any] = []
    count = 0
    for edges in (graph.along, graph.across):
        constant = costs(edges, fixed)
        nodes = np.flatnonzero(edges.source >= 0)
        if edges is graph.along:  # a node without any edge begins at its own cost
            nodes = np.arange(number)
        index = count + np.arange(len(nodes))
        count += len(nodes)
        source = edges.source[nodes]
        real = source >= 0
        rows += [index, index[real], index, index]
        columns += [nodes, source[real], np.full(len(nodes), number),
                    np.full(len(nodes), number + 1)]  # fmt: skip
        values += [
            -np.ones(len(nodes)), np.ones(int(real.sum())), *_slopes_of(edges, nodes),
        ]  # fmt: skip
        bounds.append(-constant[nodes])
    ends = graph.ends
    index = count + np.arange(len(ends))
    rows += [index, index]
    columns += [ends, np.full(len(ends), number + 2)]
    values += [np.ones(len(ends)), -np.ones(len(ends))]
    bounds.append(np.zeros(len(ends)))
    matrix = coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(count + len(ends), number + 3),
    )
    highest = np.full(number + 3, np.inf) if highs is None else highs
    found = linprog(
        target, A_ub=matrix.tocsr(), b_ub=np.concatenate(bounds),
        bounds=np.stack([lows, highest], axis=1), method="highs",
    )  # fmt: skip
    if found.status != 0:
        raise AssayError(
            f"The linear program of the run has no solution: {found.message}",
            fix="Trace a shorter run; if that fails too, report it with the trace.",
        )
    return found


def _slopes_of(
    edges: Edges, nodes: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Multiples of L and of G between hosts."""
    far = edges.link[nodes] == BETWEEN
    return (
        np.where(far, edges.latencies[nodes], 0).astype(float),
        np.where(far, edges.bytes[nodes], 0).astype(float),
    )
