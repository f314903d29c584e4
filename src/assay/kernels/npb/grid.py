"""Process grids: ranks as a grid of blocks.

The cost of a grid and the rules for cutting are in ``native/npb/**/*.def`` (``shared.py``). The
search repeats the search of ``native/npb/common/process_grid.cpp``;
``tests/native/npb/test_grid.py`` compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from assay.kernels.npb.shared import formula

Blocks = tuple[int, int, int]
"""Numbers of blocks in x, y and z."""


@dataclass(frozen=True)
class Cutting:
    """Rules for cutting a box of ``extents``: which dimensions may be cut, the least extent of a
    block, and the cost of a point on a cut face in units of a point's work.
    """

    extents: tuple[int, int, int]
    may_cut: tuple[bool, bool, bool]
    least: int = 1
    face_cost: float = 1.0


def block_cost(cutting: Cutting, blocks: Blocks) -> float:
    """The points of the largest block, plus ``face_cost`` per point on a face to a neighbour."""
    (nx, ny, nz), (x, y, z) = cutting.extents, blocks
    model = formula("common/grid_cost.def")
    return model(nx=nx, ny=ny, nz=nz, x=x, y=y, z=z, face_cost=cutting.face_cost)["cost"]


def cutting_of(rule: Mapping[str, Any], extents: tuple[int, int, int]) -> Cutting:
    """The rules of a constant of native code, for a box of ``extents``."""
    return Cutting(extents, **rule)


def _fewest(extent: int, most: int) -> Iterator[int]:
    """The fewest blocks, up to ``most``, for each extent of the largest block.

    More blocks with the same largest extent cost as much and leave fewer ranks to other cuts.
    """
    found = 1
    while found <= most:
        yield found
        largest = -(-extent // found)
        found = most + 1 if largest <= 1 else -(-extent // (largest - 1))


@cache
def choose_grid(cutting: Cutting, ranks: int) -> Blocks:
    """The cheapest grid of at most ``ranks`` blocks; ties: fewest blocks in x, then in y."""
    most = [
        max(1, n // cutting.least) if may else 1
        for n, may in zip(cutting.extents, cutting.may_cut, strict=True)
    ]
    best, least = (1, 1, 1), block_cost(cutting, (1, 1, 1))
    for x in _fewest(cutting.extents[0], min(ranks, most[0])):
        for y in _fewest(cutting.extents[1], min(ranks // x, most[1])):
            # Once z is cut, further cuts never enlarge the largest block or its faces.
            for z in {min(ranks // x // y, most[2]): None, 1: None}:
                cost = block_cost(cutting, (x, y, z))
                if cost < least or (cost == least and (x, y) == best[:2] and z > best[2]):
                    best, least = (x, y, z), cost
    return best


def share_of(size: int, part: int, parts: int) -> range:
    """Share ``part`` of ``parts`` of 0..size; sizes of shares differ by at most one."""
    limits = [size // parts * p + size % parts * p // parts for p in (part, part + 1)]
    return range(*limits)


def inner(size: int, part: int, parts: int) -> int:
    """Points of a share without the end points of the whole."""
    return len(share_of(size, part, parts)) - (part == 0) - (part == parts - 1)


def block_pairs(
    blocks: Blocks, *, periodic: bool = False
) -> Iterator[tuple[int, int, int, tuple[int, int, int]]]:
    """Each pair of neighbouring blocks: both ranks, the dimension, the coordinates of the first.

    Blocks are numbered along x first, then y, then z. ``periodic``: the last block of a dimension
    is also paired with the first.
    """

    def rank(at: tuple[int, int, int]) -> int:
        return at[0] + blocks[0] * (at[1] + blocks[1] * at[2])

    for z, y, x in product(*map(range, reversed(blocks))):
        at = (x, y, z)
        for dimension in range(3):
            beyond = list(at)
            beyond[dimension] += 1
            if beyond[dimension] == blocks[dimension]:
                if not periodic or blocks[dimension] == 1:
                    continue
                beyond[dimension] = 0
            yield rank(at), rank((beyond[0], beyond[1], beyond[2])), dimension, at
