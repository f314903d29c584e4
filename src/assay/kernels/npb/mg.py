"""npb.mg in the catalogue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from assay.kernels.catalogue import Kernel, Peers, Work, phase
from assay.kernels.npb.common import COMPUTE_SPREAD, RATE, TIME, WORK_UNITS, class_parameter, listed
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
    """Levels 1 (2 points each way) to ``finest``; every rank has all of those up to ``whole``."""

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

    def reach(self, level: int) -> int:
        """How far beyond its block a rank computes the correction."""
        return 2 if level == self.finest - 1 else 3

    def stored(self, level: int, dimension: int, coordinate: int, ghosts: int) -> int:
        """Points that the block keeps, ghosts included."""
        if level <= self.whole or self.blocks[dimension] == 1:
            return 1 << level
        return self.own(level, dimension, coordinate) + 2 * ghosts

    def exchanged(self, level: int, ghosts: int) -> Iterator[tuple[int, int, int]]:
        """The messages of one exchange of a level's ghosts: from, to, bytes."""
        corners = 2 * ghosts * (self.blocks[1] > 1)
        for one, other, dimension, (_, y, z) in block_pairs(self.blocks, periodic=True):
            lines = self.own(level, 2, z) if dimension == 1 else self.own(level, 1, y) + corners
            yield one, other, ghosts * lines * (_DOUBLE << level)
            yield other, one, ghosts * lines * (_DOUBLE << level)


@cache
def levels_of(name: str, ranks: int) -> GridLevels:
    """What a class's levels are cut into on so many ranks."""
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
            levels.own(level, d, c) < levels.reach(level) + 1
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
    # A point of the interpolation costs 3 and one to add it; of a residual 14, of the smoother 16;
    # of a restriction 22 for 8 fine points; of a norm 2. Before the cycles there is a residual, its
    # norm and its restriction; after the last one a norm in place of the restriction.
    fine_cycle = 4 + 14 + 16 + 14 + 22 / 8
    coarse_cycle = 3 + 14 + 16 + 22 / 8
    messages = sent = 0.0
    if levels.working > 1:
        for level, ghosts, times in _exchanges(levels, cycles):
            for _, _, size in levels.exchanged(level, ghosts):
                messages += times
                sent += times * size
        messages += (cycles + 2) * levels.working
        sent += cycles * 8.0**levels.whole * _DOUBLE + 2 * 2 * _DOUBLE * levels.working
    return {
        # The official Mop/s counts 58 a point of the finest level and cycle.
        "operations": 58.0 * cycles * points,
        "flops": cycles * (fine_cycle * points + coarse_cycle * coarse) + (14 + 2 + 2) * points,
        # Each level: three fields of its points to and fro, two of an eighth of them.
        "traffic": 26.0 * cycles * (points + coarse) + 17.0 * points,
        "messages": messages,
        "sent": sent,
    }


def _exchanges(levels: GridLevels, cycles: int) -> list[tuple[int, int, int]]:
    """Of ghosts in a run: the level, how many layers, how often."""
    coarser = range(levels.whole + 1, levels.finest)
    return [
        (levels.finest, _U_GHOSTS, cycles - 1),
        *((level, levels.reach(level) + 1, cycles) for level in coarser),
    ]


def _mg_peers(parameters: Mapping[str, Value], ranks: int, threads: int) -> Peers:
    name = str(parameters["class"])
    levels = levels_of(name, ranks)
    found: defaultdict[tuple[int, int], float] = defaultdict(float)
    for level, ghosts, times in _exchanges(levels, MG_SIZES[name][1]):
        for one, other, size in levels.exchanged(level, ghosts):
            found[one, other] += times * size
    return found


def _mg_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    levels = levels_of(str(parameters["class"]), ranks)
    # The last block is never smaller than others.
    y, z = levels.blocks[1] - 1, levels.blocks[2] - 1

    def stored(level: int, ghosts: int) -> int:
        rows, planes = levels.stored(level, 1, y, ghosts), levels.stored(level, 2, z, ghosts)
        return (rows * planes) << level

    finest = levels.finest
    doubles = stored(finest, _U_GHOSTS) + stored(finest, _RIGHT_GHOSTS)
    for level in range(1, finest):
        reach = levels.reach(level)
        doubles += stored(level, reach + 1) + stored(level, reach)
    windows = frame = 0
    for level in range(2, finest + 1):
        extent = 1 << level
        beyond = 0 if level == finest else levels.reach(level)
        rows, planes = levels.stored(level, 1, y, beyond), levels.stored(level, 2, z, beyond)
        solo = extent <= _CONSTANTS["kMgSoloExtent"]
        _, in_y, in_z = (1, 1, 1) if solo else _tiles(rows, planes, threads)
        rows, planes = -(-rows // in_y), -(-planes // in_z)
        scratch = formula("mg/scratch.def", "mg")(extent=extent, rows=rows, planes=planes)
        windows = max(windows, int(scratch["windows"]))
        frame = int(scratch["frame"])  # of the finest
    doubles += threads * (windows + frame)
    if levels.blocks[1] > 1:  # what is gathered is packed, and what is exchanged along y
        doubles += 8**levels.whole + ((4 * _U_GHOSTS * levels.own(finest, 2, z)) << finest)
        for level in range(levels.whole + 1, finest):
            doubles += (4 * (levels.reach(level) + 1) * levels.own(level, 2, z)) << level
    return doubles * _DOUBLE


def _tiles(rows: int, planes: int, threads: int) -> Blocks:
    return choose_grid(cutting_of(_CONSTANTS["kMgTiling"], (1, rows, planes)), threads)


KERNEL = Kernel(
    name="npb.mg",
    title="NPB MG: multigrid for Poisson's problem on a periodic cube",
    parameters=(class_parameter(MG_SIZES),),
    metrics=(
        TIME,
        RATE,
        phase("compute", "interpolation, residuals, smoothing and restriction"),
        phase("halo", "bringing ghost points from neighbouring blocks"),
        phase("gather", "bringing a coarse level whole to every rank"),
        phase("allreduce", "adding up norms"),
        *COMPUTE_SPREAD,
    ),
    work=_mg_work,
    source="Bailey et al., RNR-94-007, 2.2",
    threaded=True,
    pace=8e9,
    headline="rate",
    notes="An operation is one of the 58 that the official count gives a point and cycle. Any "
    "number of ranks: planes are cut along y and z, and ranks beyond what that yields stay idle. "
    "Coarse levels are computed by every rank. Verified: the norm of the last residual within 1e-8 "
    "of the official one.",
    work_units=WORK_UNITS,
    formulas={
        "operations": f"58 c n^3, c = {listed(cycles for _, cycles in MG_SIZES.values())} cycles "
        f"and n = {listed(1 << log2 for log2, _ in MG_SIZES.values())} points each way for "
        f"{listed(MG_SIZES)}",
        "flops": "c (50.75 n^3 + 35.75 m) + 18 n^3, m = (n^3 - 64) / 7 points of the coarser "
        "levels; what ranks compute twice at the edges of blocks is not counted",
        "traffic": "26 c (n^3 + m) + 17 n^3: each level's fields once a cycle, nothing of them "
        "kept in a cache until the next",
        "messages": "per rank and cycle, 2 for each of y and z that is cut, for u (not in the "
        "last) and each level between the finest and the one that is gathered; 1 for the "
        "gathering; 2 sums per run",
        "sent": "4 layers of ghosts a side (3 on the second finest level) for each message "
        "between neighbours, along z with those along y; the gathered level once a cycle; 16 a "
        "sum",
    },
    memory=_mg_memory,
    peers=_mg_peers,
)
