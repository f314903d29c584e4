"""Counts of hpcg: grids, rows, nonzeros, flops and bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from assay.model.placement import Value

LEVELS = 4
# Bytes of a nonzero, a 64-bit number and its part of a 32-bit index of eight, and of an element of
# a vector.
_ENTRY, _WORD = 8.5, 8.0


@dataclass(frozen=True)
class GridSize:
    """Rows and nonzeros of the matrices of one grid, on all ranks."""

    rows: float
    nonzeros: float


def process_grid(ranks: int) -> tuple[int, int, int]:
    """The factors with the least surface between equal boxes, the largest first."""
    grids = [
        (ranks // z // y, y, z)
        for z in range(1, ranks + 1)
        if z**3 <= ranks and ranks % z == 0
        for y in range(z, ranks // z + 1)
        if y * y <= ranks // z and ranks // z % y == 0
    ]
    return min(grids, key=lambda grid: grid[0] * grid[1] + grid[1] * grid[2] + grid[0] * grid[2])


def grid_sizes(edges: tuple[int, int, int], ranks: int) -> list[GridSize]:
    """The grids of the multigrid, the finest first, for these edges of each rank's grid."""
    processes = process_grid(ranks)
    sizes = []
    for level in range(LEVELS):
        extents = [(edge >> level) * count for edge, count in zip(edges, processes, strict=True)]
        sizes.append(
            GridSize(
                float(math.prod(extents)), float(math.prod(3 * extent - 2 for extent in extents))
            )
        )
    return sizes


def edges_of(parameters: Mapping[str, Value]) -> tuple[int, int, int]:
    """Edges of a rank's grid; 0 in y and z means the edge in x."""
    first = int(parameters["nx"])
    return first, int(parameters["ny"]) or first, int(parameters["nz"]) or first


def cycle_flops(grids: list[GridSize]) -> float:
    """Flops of the preconditioner: two symmetric sweeps and a residual on each grid, one sweep on
    the coarsest. A sweep forward and back counts 4 flops per nonzero, a product 2.
    """
    return sum(10 * grid.nonzeros for grid in grids[:-1]) + 4 * grids[-1].nonzeros


def smoothing_flops(grids: list[GridSize]) -> float:
    """Flops of the sweeps in it."""
    return sum(8 * grid.nonzeros for grid in grids[:-1]) + 4 * grids[-1].nonzeros


def bytes_per_iteration(grids: list[GridSize]) -> float:
    """Bytes that an iteration must move, if each part of a matrix and each vector passes once per
    loop: as STREAM counts, without the reads before ordinary stores.

    Between sweeps the lower or the upper half of a matrix is needed again, not all of it: both
    smoothings use each entry once, the second one also those of the upper half in an eighth of the
    columns, where x was corrected. The residual is computed at an eighth of the rows. Eight entries
    have one index, the least that the fast form stores.
    """
    finest = grids[0]
    vectors = 16 * finest.rows  # three products of two vectors, three combinations
    product = _ENTRY * (finest.nonzeros - finest.rows) + _WORD * 3 * finest.rows
    cycle = 0.0
    for level, grid in enumerate(grids):
        half = _ENTRY * (grid.nonzeros - grid.rows) / 2
        # From 0, forward: r, the diagonal, D s and x; backward: D s, the diagonal and x.
        cycle += 2 * half + _WORD * 7 * grid.rows
        if level + 1 < len(grids):
            # The residual of an eighth of the rows; all lines of r, D s and x are read. Then the
            # correction, and forward: r, x, D s, the diagonal, w and x; backward: w, the diagonal
            # and x.
            cycle += half / 8 + _WORD * 3 * grid.rows
            cycle += (2 + 1 / 8) * half + _WORD * (2 + 9) * grid.rows
    return product + cycle + _WORD * vectors
