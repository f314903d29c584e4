"""npb.mg in the catalogue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from assay.kernels.catalogue import Kernel, Peers, Work, phase
from assay.kernels.npb.common import (
    COMPUTE_SPREAD,
    MONITOR,
    RATE,
    TIME,
    WORK_UNITS,
    class_parameter,
    listed,
)
from assay.kernels.npb.grid import Blocks, block_pairs, choose_grid, cutting_of, share_of
from assay.kernels.npb.shared import class_table, constants, formula
from assay.model.placement import Value

# class: log2 of the cube's extent, V-cycles
MG_SIZES = class_table("mg", "log2_extent", "cycles")

_CONSTANTS = constants("mg")
_U_GHOSTS: int = _CONSTANTS["kMgUGhosts"]
_RIGHT_GHOSTS: int = _CONSTANTS["kMgRightGhosts"]
_DOUBLE = 8


@dataclass(frozen=True)
class GridLevels:
    """Levels 1 (2 points per side) to ``finest``; every rank has the whole of levels up to
    ``whole``.
    """

    finest: int
    whole: int
    blocks: Blocks

    @property
    def working(self) -> int:
        """Ranks that have a block."""
        return self.blocks[1] * self.blocks[2]

    def own(self, level: int, dimension: int, coordinate: int) -> int:
        """Points of a block in y (1) or z (2)."""
        share = share_of(1 << self.finest, coordinate, self.blocks[dimension])
        return (share.stop >> (self.finest - level)) - (share.start >> (self.finest - level))

    def overlap(self, level: int) -> int:
        """Layers beyond its block in which a rank computes the correction."""
        return 2 if level == self.finest - 1 else 3

    def stored(self, level: int, dimension: int, coordinate: int, ghosts: int) -> int:
        """Points that a block stores in a dimension, ghosts included."""
        if level <= self.whole or self.blocks[dimension] == 1:
            return 1 << level
        return self.own(level, dimension, coordinate) + 2 * ghosts

    def exchanged(self, level: int, ghosts: int) -> Iterator[tuple[int, int, int]]:
        """The messages of one exchange of a level's ghosts: sender, receiver, bytes."""
        corners = 2 * ghosts * (self.blocks[1] > 1)
        for one, other, dimension, (_, y, z) in block_pairs(self.blocks, periodic=True):
            lines = self.own(level, 2, z) if dimension == 1 else self.own(level, 1, y) + corners
            yield one, other, ghosts * lines * (_DOUBLE << level)
            yield other, one, ghosts * lines * (_DOUBLE << level)


@cache
def levels_of(name: str, ranks: int) -> GridLevels:
    """How a class's levels are distributed over ``ranks``."""
    finest = MG_SIZES[name][0]
    extent = 1 << finest
    blocks = choose_grid(cutting_of(_CONSTANTS["kMgCutting"], (extent, extent, extent)), ranks)
    working = blocks[1] * blocks[2]
    if working == 1:
        return GridLevels(finest, finest, blocks)
    whole = finest - 1
    cheap = max(_CONSTANTS["kMgFewPoints"], extent**3 // working // _CONSTANTS["kMgFinerPoints"])

    def too_thin(level: int) -> bool:
        levels = GridLevels(finest, whole, blocks)
        return any(
            levels.own(level, d, c) < levels.overlap(level) + 1
            for d in (1, 2)
            if blocks[d] > 1
            for c in range(blocks[d])
        )

    while whole > 1 and 8**whole > cheap and not too_thin(whole):
        whole -= 1
    return GridLevels(finest, whole, blocks)


def _mg_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    name = str(parameters["class"])
    finest, cycles = MG_SIZES[name]
    levels = levels_of(name, ranks)
    points = 8.0**finest
    coarse = sum(8.0**level for level in range(2, finest))
    messages = sent = 0.0
    if levels.working > 1:
        messages, sent = _ghosts_sent(levels, cycles)
        messages += (cycles + 2) * levels.working
        sent += cycles * 8.0**levels.whole * _DOUBLE + 2 * 2 * _DOUBLE * levels.working
    return {
        # The official Mop/s counts 58 per point of the finest level and cycle.
        "operations": 58.0 * cycles * points,
        "flops": _mg_flops(finest, cycles),
        # Each level: three fields of its points read and written, two of an eighth of them.
        "traffic": 26.0 * cycles * (points + coarse) + 17.0 * points,
        "messages": messages,
        "sent": sent,
    }


def _mg_flops(finest: int, cycles: int) -> float:
    """Floating-point operations done on one rank and thread.

    A sweep works on blocks of rows that fit into a cache (``native/npb/mg/scratch.def``), and its
    stages overlap at the edges of blocks: the points there are computed for both. Flops per point:
    interpolation 3, and 1 to add it; residual 14; smoother 16; restriction 22 per coarse point and
    two planes; norm 2. Before the cycles: a residual, its norm and its restriction; after the last
    one a norm replaces the restriction.
    """

    def restriction(extent: int, rows: int) -> float:
        return 11.0 * (extent + 1) * (rows / 2) * (extent / 2)

    def residual(extent: int, rows: int) -> float:
        return 14.0 * extent * (extent + 1) * (rows + 1)

    top = 1 << finest
    cycle = once = 0.0
    for rows in _blocks(top):
        cycle += top * sum(
            flops * (top + wider) * (rows + wider) for flops, wider in ((4, 7), (14, 5), (16, 3))
        )
        cycle += residual(top, rows) + restriction(top, rows)
        once += residual(top, rows) + restriction(top, rows)
    for level in range(2, finest):
        extent = 1 << level
        cycle += restriction(extent, extent)
        for rows in _blocks(extent):
            cycle += extent * (
                3.0 * (extent + 4) * (rows + 4)
                + 14.0 * (extent + 2) * (rows + 2)
                + 16.0 * extent * rows
            )
    last = (2 + 2) * 8.0**finest - restriction(top, top)
    return cycles * cycle + once + last


def _blocks(extent: int) -> list[int]:
    """Rows of each block of a level that one thread computes."""
    scratch = formula("mg/scratch.def", "mg")
    height = int(scratch(extent=extent, rows=extent, planes=extent)["height"])
    return [min(height, extent - begin) for begin in range(0, extent, height)]


def ghost_exchanges(levels: GridLevels, cycles: int) -> list[tuple[int, int, int]]:
    """Exchanges of ghosts in a run: the level, the number of layers, the number of exchanges."""
    coarser = range(levels.whole + 1, levels.finest)
    return [
        (levels.finest, _U_GHOSTS, cycles - 1),
        *((level, levels.overlap(level) + 1, cycles) for level in coarser),
    ]


@cache
def _ghosts_sent(levels: GridLevels, cycles: int) -> tuple[float, float]:
    """Messages and bytes of all exchanges of ghosts. Each sample of a run asks for them."""
    messages = sent = 0.0
    for level, ghosts, times in ghost_exchanges(levels, cycles):
        for _, _, size in levels.exchanged(level, ghosts):
            messages += times
            sent += times * size
    return messages, sent


def _mg_peers(parameters: Mapping[str, Value], ranks: int, threads: int) -> Peers:
    name = str(parameters["class"])
    levels = levels_of(name, ranks)
    found: defaultdict[tuple[int, int], float] = defaultdict(float)
    for level, ghosts, times in ghost_exchanges(levels, MG_SIZES[name][1]):
        for one, other, size in levels.exchanged(level, ghosts):
            found[one, other] += times * size
    return found


def _mg_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    levels = levels_of(str(parameters["class"]), ranks)
    # The last block is never smaller than the others.
    y, z = levels.blocks[1] - 1, levels.blocks[2] - 1

    def stored(level: int, ghosts: int) -> int:
        rows, planes = levels.stored(level, 1, y, ghosts), levels.stored(level, 2, z, ghosts)
        return (rows * planes) << level

    finest = levels.finest
    doubles = stored(finest, _U_GHOSTS) + stored(finest, _RIGHT_GHOSTS)
    for level in range(1, finest):
        overlap = levels.overlap(level)
        doubles += stored(level, overlap + 1) + stored(level, overlap)
    windows = frame = 0
    for level in range(2, finest + 1):
        extent = 1 << level
        beyond = 0 if level == finest else levels.overlap(level)
        rows, planes = levels.stored(level, 1, y, beyond), levels.stored(level, 2, z, beyond)
        solo = extent <= _CONSTANTS["kMgSoloExtent"]
        _, in_y, in_z = (1, 1, 1) if solo else _tiles(rows, planes, threads)
        rows, planes = -(-rows // in_y), -(-planes // in_z)
        scratch = formula("mg/scratch.def", "mg")(extent=extent, rows=rows, planes=planes)
        windows = max(windows, int(scratch["windows"]))
        frame = int(scratch["frame"])  # the last one is the finest level's
    doubles += threads * (windows + frame)
    if levels.blocks[1] > 1:  # buffers for packing the gathered level and the exchanges along y
        doubles += 8**levels.whole + ((4 * _U_GHOSTS * levels.own(finest, 2, z)) << finest)
        for level in range(levels.whole + 1, finest):
            doubles += (4 * (levels.overlap(level) + 1) * levels.own(level, 2, z)) << level
    return doubles * _DOUBLE


def _tiles(rows: int, planes: int, threads: int) -> Blocks:
    return choose_grid(cutting_of(_CONSTANTS["kMgTiling"], (1, rows, planes)), threads)


KERNEL = Kernel(
    name="npb.mg",
    title="NPB MG: multigrid for Poisson's problem on a periodic cube",
    parameters=(class_parameter(MG_SIZES), MONITOR),
    metrics=(
        TIME,
        RATE,
        phase("compute", "computing interpolation, residuals, smoothing and restriction"),
        phase("halo", "exchanging ghost points with neighbouring blocks"),
        phase("gather", "gathering a coarse level on every rank"),
        phase("allreduce", "summing norms over all ranks"),
        *COMPUTE_SPREAD,
    ),
    work=_mg_work,
    source="Bailey et al., RNR-94-007, 2.2",
    threaded=True,
    pace=8e9,
    headline="rate",
    notes="Operations are counted as by NPB, 58 per point and cycle. Any number of ranks is "
    "allowed: ranks have blocks along y and z. Ranks beyond the last block stay idle. Every "
    "rank computes the coarse "
    "levels. Verified: the norm of the last residual within 1e-8 of the official one.",
    work_units=WORK_UNITS,
    formulas={
        "operations": f"58 c n^3, c = {listed(cycles for _, cycles in MG_SIZES.values())} cycles "
        f"and n = {listed(1 << log2 for log2, _ in MG_SIZES.values())} points per side for "
        f"{listed(MG_SIZES)}",
        "flops": "c (50.75 n^3 + 35.75 m) + 18 n^3, m = (n^3 - 64) / 7 points of the coarser "
        "levels, and the points at the edges of the blocks of rows that fit into a cache, which "
        "are computed twice: 10% in class A, more in larger ones; on one rank and thread",
        "traffic": "26 c (n^3 + m) + 17 n^3: each level's fields once per cycle, without reuse "
        "from caches between cycles",
        "messages": "per rank and cycle, 2 for each of y and z that is cut, for u (not in the "
        "last cycle) and each level between the finest and the gathered one; 1 for the gather; 2 "
        "sums per run",
        "sent": "4 layers of ghosts per side (3 on the second finest level) for each message "
        "between neighbours, along z with those along y; the gathered level once per cycle; 16 "
        "per sum",
    },
    memory=_mg_memory,
    peers=_mg_peers,
)
