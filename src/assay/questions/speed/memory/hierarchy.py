"""Which level of the memory hierarchy serves a load, by the size of the working set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.questions.common.selection import Point, on_any_memory, points
from assay.records.model import RunData
from assay.stats.core.model import CellSummary

KERNEL = "memory.latency"
MEMORY = "main memory"


@dataclass(frozen=True)
class MemoryLevel:
    """One level of the memory hierarchy."""

    #: Name of the level.
    name: str
    #: Size of one instance, in bytes; None for main memory.
    size: int | None


@dataclass(frozen=True)
class Plateau:
    """The latency of one level."""

    #: Cache level or main memory.
    level: MemoryLevel
    #: Latency at the size that other levels affect least.
    point: Point
    #: ``first``, ``last``: smallest and largest working set that this level serves, in bytes.
    #: ``last`` is the largest set whose latency is nearer to this level than to the next one, on a
    #: logarithmic scale. So a single disturbed set doesn't end the plateau.
    first: int
    last: int


def working_set(point: Point) -> int:
    """The working set of a rank's loads, in bytes."""
    size = point.parameter("bytes")
    return int(size) if isinstance(size, (int, float)) else 0


def latencies(
    cells: Sequence[CellSummary], *, ranks: int | None = None, pages: str | None = None
) -> list[Point]:
    """Latencies by ascending working set, from cells that are not bound to a NUMA node."""
    found = [
        point
        for point in on_any_memory(points(cells, KERNEL, "latency"))
        if (ranks is None or point.cores == ranks)
        and (pages is None or point.parameter("pages") == pages)
        and point.metric.median > 0
    ]
    return sorted(found, key=working_set)


def alone(cells: Sequence[CellSummary]) -> list[Point]:
    """The latencies of one rank and one toolchain, on huge pages if these were measured."""
    one = latencies(cells, ranks=1)
    huge = [point for point in one if point.parameter("pages") == "huge"] or one
    names = [point.summary.cell.toolchain for point in huge]
    return [point for point in huge if point.summary.cell.toolchain == names[0]]


def memory_levels(run: RunData) -> list[MemoryLevel]:
    """The levels that hold data, nearest first; main memory is the last or the only level."""
    from assay.system.model import System

    system = System.known(run.manifest.system)
    caches = system.processor.caches if system else []
    sizes: dict[int, int] = {}
    for cache in caches:
        if cache.size and cache.kind != "instruction":
            sizes[cache.level] = max(cache.size, sizes.get(cache.level, 0))
    return [MemoryLevel(f"L{level}", sizes[level]) for level in sorted(sizes)] + [
        MemoryLevel(MEMORY, None)
    ]


def plateaus(found: Sequence[Point], known: Sequence[MemoryLevel]) -> list[Plateau]:
    """The plateau of each level that has a working set; ``found`` and ``known`` ascend.

    A set between the sizes of a cache level and of the level before represents the cache level: the
    set nearest to the geometric mean of both sizes. The level before serves a part of smaller sets.
    The next level serves a part of larger sets, especially if the cache is shared. The largest set
    represents main memory, if it is at least twice as large as the last cache.
    """
    chosen: list[tuple[MemoryLevel, Point]] = []
    before = 0
    for level in known:
        if level.size is None:
            fitting = [point for point in found if working_set(point) >= 2 * before]
            chosen += [(level, fitting[-1])] if fitting else []
            continue
        mean = math.sqrt((before or level.size / 4) * level.size)
        fitting = [point for point in found if before < working_set(point) <= level.size]
        if fitting:
            nearest = min(fitting, key=lambda p: abs(math.log(working_set(p) / mean)))
            chosen.append((level, nearest))
        before = level.size
    edges = [0.0]
    for (_, here), (_, beyond) in pairwise(chosen):
        mean = math.sqrt(here.metric.median * beyond.metric.median)
        within = [working_set(p) for p in found if p.metric.median <= mean]
        past = [working_set(p) for p in found if working_set(p) > max(within, default=0)]
        edges.append(float(min(past, default=math.inf)))
    edges.append(math.inf)
    found_levels = []
    for (level, point), start, end in zip(chosen, edges, edges[1:], strict=False):
        sizes = [working_set(p) for p in found if start <= working_set(p) < end]
        found_levels.append(Plateau(level, point, min(sizes, default=0), max(sizes, default=0)))
    return found_levels
