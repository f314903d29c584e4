"""The time of High-Performance Linpack in closed form, on arrays of machines.

From the scalability analysis of HPL (A. Petitet, R. C. Whaley, J. Dongarra, A. Cleary, netlib,
2004): a P × Q grid of nodes, panels of NB columns, each panel broadcast along a row, rows of U
exchanged along a column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FILL = 0.80  # share of memory that the matrix takes
_BLOCK = 192  # NB: columns of a panel
# Rate of a panel's factorisation relative to DGEMM: it is bound by memory and by short loops.
_PANEL_RATE = 0.35
# Share of the panel's factorisation and broadcast that look-ahead does not hide.
_EXPOSED = 0.5


@dataclass(frozen=True)
class LinpackTime:
    """Seconds by part, and the operations. ``bisection``: what crosses the middle of the network
    beyond what the adapters already take.
    """

    flops: Array
    update: Array
    panel: Array
    latency: Array
    transfer: Array
    bisection: Array


def grid(nodes: Array) -> tuple[Array, Array]:
    """The sides P ≤ Q of the grid, as real numbers: Q = 2 P at most 2 nodes, else about square."""
    rows = np.maximum(np.floor(np.sqrt(nodes)), 1.0)
    return rows, nodes / rows


def linpack_time(
    order: Array,
    nodes: Array,
    dgemm: Array,
    *,
    latency: Array,
    bandwidth: Array,
    bisection: Array,
) -> LinpackTime:
    """The time of a problem of ``order`` unknowns (arrays that NumPy broadcasts).

    ``dgemm``: flop/s of a node. ``latency``: s. ``bandwidth``: B/s of a node's adapters.
    ``bisection``: B/s in one direction between two halves of the nodes.
    """
    rows, columns = grid(nodes)
    flops = (2.0 / 3.0) * order**3 + 1.5 * order**2
    update = flops / (nodes * dgemm)
    alone = nodes <= 1
    # The panel is factorised by the P nodes of one column, the others wait unless they look ahead.
    panel_flops = order**2 * _BLOCK * (1.0 - _BLOCK / (3.0 * np.maximum(order, _BLOCK)))
    panel = panel_flops / (rows * dgemm * _PANEL_RATE)
    panel = np.where(alone, panel, panel * _EXPOSED)
    depth = np.log2(np.maximum(rows, 1.0))
    messages = order * ((_BLOCK + 1.0) * depth + rows + np.log2(np.maximum(columns, 1.0))) / _BLOCK
    items = order**2 * (3.0 * rows + columns) / (2.0 * rows * columns)
    transfer = np.where(alone, 0.0, 8.0 * items / bandwidth)
    # Rows of U and panels cross any halving of the nodes once per column of the grid.
    crossing = 8.0 * order**2 * 0.5 / bisection
    return LinpackTime(
        flops=flops,
        update=update,
        panel=panel,
        latency=np.where(alone, 0.0, messages * latency),
        transfer=transfer,
        bisection=np.where(alone, 0.0, np.maximum(crossing - transfer, 0.0)),
    )
