"""How a box of points is cut into blocks for ranks: as ``native/npb/process_grid.cpp`` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import inf, prod


@dataclass(frozen=True)
class Cutting:
    """``extents`` in points along x, y, z; ``least``: points that a block keeps where it is cut.

    ``face_cost``: of a point on a face towards another block, in units of a point's own work;
    faces across x count twice.
    """

    extents: tuple[int, int, int]
    may_cut: tuple[bool, bool, bool]
    least: int = 1
    face_cost: float = 1.0


def block_cost(cutting: Cutting, blocks: Sequence[int]) -> float:
    """The greatest block's points, and what those on its faces towards others cost besides."""
    greatest = [-(-extent // n) for extent, n in zip(cutting.extents, blocks, strict=True)]
    points = float(prod(greatest))
    faces = [(4.0 if d == 0 else 2.0) * points / greatest[d] for d, n in enumerate(blocks) if n > 1]
    return points + cutting.face_cost * sum(faces)


@cache
def choose_grid(cutting: Cutting, ranks: int) -> tuple[int, int, int]:
    """Blocks along x, y, z: the grid of at most ``ranks`` of least cost.

    Of equal ones that with fewest cuts in x, then in y, then most in z.
    """
    most = [
        max(1, extent // max(1, cutting.least)) if may else 1
        for extent, may in zip(cutting.extents, cutting.may_cut, strict=True)
    ]
    best, least = (1, 1, 1), inf
    for x in range(1, min(ranks, most[0]) + 1):
        for y in range(1, min(ranks // x, most[1]) + 1):
            for z in (min(ranks // x // y, most[2]), 1):
                cost = block_cost(cutting, (x, y, z))
                if cost < least or (cost == least and (x, y) == best[:2] and z > best[2]):
                    best, least = (x, y, z), cost
    return best
