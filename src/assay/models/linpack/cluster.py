"""The closed form of Linpack's time on clusters of equal nodes, in arrays over many clusters.

The terms of ``time.py`` with a process per processor of a node, on a grid whose Q is a real number,
so that rates don't jump between numbers of nodes. docs/methods/design.md states the equations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from assay.arrays import Floats
from assay.models.linpack.time import (
    FILL,
    FittedCoefficients,
    ProcessFigures,
    fitted_coefficients,
    panel_parts,
)

# Number of columns of a panel, and number of computed panels.
_BLOCK, _STEPS = 128, 16


@dataclass(frozen=True)
class LinpackCluster:
    """Figures of clusters, as arrays that broadcast to one shape."""

    #: Number of nodes. Per node: ``processes``, ``dgemm`` (flop/s), ``bandwidth`` (of memory, B/s),
    #: ``memory`` (bytes), ``link`` (B/s of all adapters).
    nodes: Floats
    processes: Floats
    dgemm: Floats
    bandwidth: Floats
    memory: Floats
    link: Floats
    #: Latency of a message between two nodes including hops, s.
    latency: Floats
    #: Bandwidth in one direction of the links between two halves of the cluster, B/s.
    bisection: Floats
    #: Factor on the time of computing, if nodes wait for slower ones.
    slower: Floats


@dataclass(frozen=True)
class LinpackTimes:
    """Operations (flop) of one solution and its seconds by activity; nothing overlaps."""

    work: Floats
    compute: Floats
    latency: Floats
    link: Floats
    bisection: Floats

    @property
    def rate(self) -> Floats:
        """flop/s."""
        return self.work / (self.compute + self.latency + self.link + self.bisection)


def closed_form(cluster: LinpackCluster) -> LinpackTimes:
    """The times. Ranks fill nodes by columns of the grid or by rows, whichever is faster."""
    by_column, by_row = (_in_order(cluster, by_column=order) for order in (True, False))
    faster = by_column.rate >= by_row.rate

    def better(one: Floats, other: Floats) -> Floats:
        return np.where(faster, one, other)

    return LinpackTimes(
        work=better(by_column.work, by_row.work),
        compute=better(by_column.compute, by_row.compute),
        latency=better(by_column.latency, by_row.latency),
        link=better(by_column.link, by_row.link),
        bisection=better(by_column.bisection, by_row.bisection),
    )


def _in_order(cluster: LinpackCluster, *, by_column: bool) -> LinpackTimes:
    """Processes of a node share its adapters.

    Processes of a column (or row) are near each other: only a block of each row (or a quarter of
    the columns' exchange) crosses the middle of the machine.
    """
    values = _fitted().values
    each, nodes = cluster.processes, cluster.nodes
    processes, several = each * nodes, nodes > 1
    order = np.sqrt(FILL * nodes * cluster.memory / 8.0)
    rows = np.maximum(np.floor(np.sqrt(processes)), 1.0)
    columns = processes / rows
    link, bisection = (values.network * rate for rate in (cluster.link, cluster.bisection))
    # Within a node, as in models.linpack.time: a quarter of the latency, half of the memory's rate.
    within = 2.0 * each / cluster.bandwidth
    # The part of a process's messages within its column that stays on its own node.
    beside = (np.minimum(each, rows) - 1.0) / np.maximum(rows - 1.0, 1.0) if by_column else 0.0
    beside = np.where(several, beside, 1.0)
    along = (each if by_column else 1.0) / link
    at_adapter = each * (1.0 - beside) / link
    # Seconds per byte if the network between the nodes is not the limit, and if it is.
    near = (
        np.maximum(np.where(several, along, 0.0), within),
        np.maximum(at_adapter, beside * within),
    )
    across = np.where(several, (rows if by_column else processes / 4.0) / bisection, 0.0)
    far = (
        np.maximum(near[0], across if by_column else 0.0),
        np.maximum(near[1], 0.0 if by_column else across),
    )
    latency = np.where(several, cluster.latency, cluster.latency / 4.0)
    shape = np.broadcast(order, cluster.dgemm, latency, *far).shape
    order, rows, columns, latency = (
        np.broadcast_to(one, shape) for one in (order, rows, columns, latency)
    )
    figures = ProcessFigures(
        dgemm=np.broadcast_to(cluster.dgemm / each, shape),
        latency=latency,
        adapter=np.broadcast_to(link, shape),
        along=np.broadcast_to(far[0], shape),
        exchanged=np.broadcast_to(far[1], shape),
    )
    parts = panel_parts(
        n=order, nb=_BLOCK, p=rows, q=columns, of=figures, coefficients=values, steps=_STEPS
    )
    # Broadcasts and exchanges: the messages' fixed cost, and the time that the middle adds.
    depth = np.log2(rows)
    fixed = order / _BLOCK * (2.0 * (columns > 1) + (depth + rows - 1.0) * (rows > 1)) * latency
    sent = parts.broadcast + parts.swap
    fixed = np.minimum(fixed, sent)
    middle = parts.broadcast * (1.0 - near[0] / far[0])
    middle = middle + parts.swap * (1.0 - near[1] / np.maximum(far[1], 1e-300))
    middle = np.minimum(middle, sent - fixed)
    return LinpackTimes(
        work=2.0 * order**3 / 3.0 + 1.5 * order**2,
        compute=(parts.update + parts.panel) * cluster.slower,
        latency=fixed,
        link=sent - fixed - middle,
        bisection=np.where(several, middle, 0.0),
    )


@cache
def _fitted() -> FittedCoefficients:
    return fitted_coefficients()
