"""Ranks as a grid of blocks.

What a grid costs and what may be cut stands in ``native/npb/**/*.def`` (``shared.py``). The search
is that of ``native/npb/common/process_grid.cpp``; ``tests/native/npb/test_grid.py`` compares the
two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from assay.kernels.npb.shared import formula

Blocks = tuple[int, int, int]
"""How many in x, y and z."""


@dataclass(frozen=True)
class Cutting:
    """What of a box may be cut; what a point on a cut face costs, in units of a point's work."""

    extents: tuple[int, int, int]
    may_cut: tuple[bool, bool, bool]
    least: int = 1
    face_cost: float = 1.0


def block_cost(cutting: Cutting, blocks: Blocks) -> float:
    """The greatest block's points, and ``face_cost`` for those on faces towards others."""
    (nx, ny, nz), (x, y, z) = cutting.extents, blocks
    model = formula("common/grid_cost.def")
    return model(nx=nx, ny=ny, nz=nz, x=x, y=y, z=z, face_cost=cutting.face_cost)["cost"]


def cutting_of(rule: Mapping[str, Any], extents: tuple[int, int, int]) -> Cutting:
    """By a constant of native code, for a box of so many points."""
    return Cutting(extents, **rule)


@cache
def choose_grid(cutting: Cutting, ranks: int) -> Blocks:
    """The grid of at most ``ranks`` blocks with the least cost; of equals fewest cuts in x, y."""
    most = [
        max(1, n // cutting.least) if may else 1
        for n, may in zip(cutting.extents, cutting.may_cut, strict=True)
    ]
    best, least = (1, 1, 1), block_cost(cutting, (1, 1, 1))
    for x in range(1, min(ranks, most[0]) + 1):
        for y in range(1, min(ranks // x, most[1]) + 1):
            # Once z is cut, more cuts never make the greatest block or its faces larger.
            for z in (min(ranks // x // y, most[2]), 1):
                cost = block_cost(cutting, (x, y, z))
                if cost < least or (cost == least and (x, y) == best[:2] and z > best[2]):
                    best, least = (x, y, z), cost
    return best


def share_of(size: int, part: int, parts: int) -> range:
    """Share ``part`` of ``parts`` of 0..size: they differ by one at most."""
    limits = [size // parts * p + size % parts * p // parts for p in (part, part + 1)]
    return range(*limits)


def inner(size: int, part: int, parts: int) -> int:
    """Points of a share that are on neither end of the whole."""
    return len(share_of(size, part, parts)) - (part == 0) - (part == parts - 1)


def block_pairs(
    blocks: Blocks, *, periodic: bool = False
) -> Iterator[tuple[int, int, int, tuple[int, int, int]]]:
    """Each block with its next one in each dimension: both ranks, the dimension, where it is.

    Blocks are numbered along x first, then y, then z. ``periodic``: the first is next to the last.
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
