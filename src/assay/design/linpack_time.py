"""The time of High-Performance Linpack in closed form, on arrays of machines, for the search.

``models.linpack.time`` is more exact, and takes a millisecond per machine.

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
# Share of the panel's factorisation that look-ahead does not hide.
_EXPOSED = 0.7
# Rate of the update relative to DGEMM: its inner dimension is NB, and the nodes' shares of the
# trailing matrix are not equal.
_UPDATE_RATE = 0.91
# Time of the transfers relative to that of the same bytes in a ping-pong: rows of U are exchanged
# in small pieces, by all nodes at once and both ways.
_TRANSFER = 2.2
# Messages in a row per column of a panel and level of the tree: pivot search and row exchange.
_PER_COLUMN = 2.0
# The last four were adjusted to the published rates of two clusters of 2002 (Seth at N = 116,100,
# 480.7 Gflop/s; Helix at N = 82,080, 234.8 Gflop/s): docs/methods/design.md.


@dataclass(frozen=True)
class LinpackParts:
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
    """The sides P ≤ Q of the grid, about square; Q is a real number."""
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
) -> LinpackParts:
    """The time of a problem of ``order`` unknowns (arrays that NumPy broadcasts).

    ``dgemm``: flop/s of a node. ``latency``: s. ``bandwidth``: B/s of a node's adapters.
    ``bisection``: B/s in one direction between two halves of the nodes.
    """
    rows, columns = grid(nodes)
    flops = (2.0 / 3.0) * order**3 + 1.5 * order**2
    update = flops / (nodes * dgemm * _UPDATE_RATE)
    alone = nodes <= 1
    # The panel is factorised by the P nodes of one column, the others wait unless they look ahead.
    panel_flops = order**2 * _BLOCK * (1.0 - _BLOCK / (3.0 * np.maximum(order, _BLOCK)))
    panel = panel_flops / (rows * dgemm * _PANEL_RATE)
    panel = np.where(alone, panel, panel * _EXPOSED)
    depth = np.log2(np.maximum(rows, 1.0))
    across = np.log2(np.maximum(columns, 1.0))
    messages = order * (_PER_COLUMN * depth + (rows + across) / _BLOCK)
    # With the pivot, each level exchanges the rows of the panel that change places.
    pivots = order * depth * _TRANSFER * 16.0 * _BLOCK / bandwidth
    items = order**2 * (3.0 * rows + columns) / (2.0 * rows * columns)
    transfer = np.where(alone, 0.0, _TRANSFER * 8.0 * items / bandwidth)
    # Rows of U and panels cross any halving of the nodes once per column of the grid.
    crossing = 8.0 * order**2 * 0.5 / bisection
    return LinpackParts(
        flops=flops,
        update=update,
        panel=panel,
        latency=np.where(alone, 0.0, messages * latency + pivots),
        transfer=transfer,
        bisection=np.where(alone, 0.0, np.maximum(crossing - transfer, 0.0)),
    )
