"""Strided and random access to memory on one core and on all cores, and ratios of their times.

Luecke, Li & Cuma (2005), section 4.2: if a node's memory serves all processors without loss, an
access takes the same time on one processor and on all. The ratio of the two times is then 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.kernels.memory import MODES, STRIDED_WORDS
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import (
    Point,
    best,
    chosen_best,
    chosen_from,
    labeller,
    leading,
    on_any_memory,
    points,
)
from assay.questions.speed.memory.hierarchy import KERNEL as LATENCY
from assay.questions.speed.memory.hierarchy import (
    MEMORY,
    MemoryLevel,
    Plateau,
    alone,
    latencies,
    plateaus,
    working_set,
)
from assay.questions.speed.memory.numa import NumaFindings, find_numa
from assay.stats.core.model import CellSummary

STRIDED = "memory.strided"
RANDOM = "memory.random"
KERNELS = (STRIDED, RANDOM, LATENCY)

Pair = tuple[Point, Point]
# The access time on all cores over the time on one core, by operation and stride.
StridedRatios = Mapping[str, Mapping[int, Ratio]]


@dataclass(frozen=True)
class RandomAccess:
    """Random access in one mode."""

    #: Best rate on any number of cores.
    rate: Point
    #: Placement of the best rate, as text.
    placement: str
    #: Time per access on all cores over the time on one; None unless both were measured.
    time: Ratio | None


@dataclass(frozen=True)
class AccessFindings:
    """Access to memory other than streams, from cells that are not bound to a NUMA node."""

    #: Latency of each level of the memory hierarchy, the nearest level first.
    plateaus: Sequence[Plateau]
    #: Latency of main memory on several cores concurrently over the latency on one; None if not
    #: measured.
    loaded: Ratio | None
    #: Access time on all cores over the time on one, by operation and ascending stride.
    strided: StridedRatios
    #: Random access, by mode.
    random: Mapping[str, RandomAccess]
    #: Time on small pages over the time on huge pages, for a random ``update`` and for a ``load``.
    small_pages: Mapping[str, Ratio]
    #: Remote memory over local memory, by kernel, from cells that are bound to NUMA nodes.
    numa: Mapping[str, NumaFindings]

    @property
    def main_memory(self) -> Plateau | None:
        """The plateau of main memory; None if no working set is large enough."""
        last = self.plateaus[-1] if self.plateaus else None
        return last if last and last.level.name == MEMORY else None


def find_access(
    cells: Sequence[CellSummary], levels: Sequence[MemoryLevel]
) -> AccessFindings | None:
    """Findings on access; None if no usable cell measured any."""
    found = plateaus(alone(cells), levels)
    main = found[-1] if found and found[-1].level.name == MEMORY else None
    access = AccessFindings(
        plateaus=found,
        loaded=_loaded(cells, main.point) if main else None,
        strided=strided_ratios(cells),
        random=_random(cells),
        small_pages=_small_pages(cells),
        numa=find_numa(cells),
    )
    measured = (access.plateaus, access.strided, access.random, access.small_pages, access.numa)
    return access if any(measured) else None


def strided_ratios(cells: Sequence[CellSummary]) -> StridedRatios:
    """The access time on all cores over the time on one, by operation and ascending stride."""
    return {
        op: {stride: ratio_of(many, one) for stride, (one, many) in pairs.items()}
        for op, pairs in strided_pairs(cells).items()
    }


def strided_pairs(cells: Sequence[CellSummary]) -> dict[str, dict[int, Pair]]:
    """The access times on one core and on all cores, by operation and ascending stride."""
    found = on_any_memory(points(cells, STRIDED, "access"))
    return {
        op: pairs
        for op in STRIDED_WORDS
        if (pairs := _by_stride([p for p in found if p.parameter("op") == op]))
    }


def random_pairs(cells: Sequence[CellSummary], metric: str) -> dict[str, Pair]:
    """A metric on one core and on all cores, by mode, with the page size of the best point."""
    found = on_any_memory(points(cells, RANDOM, metric))
    pairs = {}
    for mode in MODES:
        of_mode = [p for p in found if p.parameter("mode") == mode]
        if of_mode:
            pages = best(leading(of_mode)).parameter("pages")
            pair = _pair([p for p in of_mode if p.parameter("pages") == pages], of_mode)
            if pair:
                pairs[mode] = pair
    return pairs


def _by_stride(found: Sequence[Point]) -> dict[int, Pair]:
    strides = sorted({int(point.parameter("stride") or 0) for point in found})
    pairs = {
        stride: _pair([p for p in found if p.parameter("stride") == stride]) for stride in strides
    }
    return {stride: pair for stride, pair in pairs.items() if pair}


def _pair(found: Sequence[Point], candidates: Sequence[Point] = ()) -> Pair | None:
    """The points on one core and on the most cores, with one toolchain; None without both.

    ``candidates``: points among which these were chosen for their results, if there are more.
    """
    if not found:
        return None
    lead = leading(found)
    most = max(point.cores for point in lead)
    one = [point for point in lead if point.cores == 1]
    if not one or most == 1:
        return None
    # The toolchain was chosen for its result on the most cores.
    on_most = [point for point in candidates or found if point.cores == most]
    top = best([point for point in lead if point.cores == most])
    return chosen_best(one), chosen_from(top, on_most)


def _loaded(cells: Sequence[CellSummary], idle: Point) -> Ratio | None:
    """The latency on the most cores concurrently over the latency on one, for one working set."""
    alike = [
        point
        for point in latencies(cells, pages=str(idle.parameter("pages")))
        if point.cores > 1 and working_set(point) == working_set(idle)
    ]
    return ratio_of(max(alike, key=lambda point: point.cores), idle) if alike else None


def _random(cells: Sequence[CellSummary]) -> dict[str, RandomAccess]:
    times = random_pairs(cells, "access")
    rates = on_any_memory(points(cells, RANDOM, "rate"))
    label = labeller(rates)
    found = {}
    for mode in MODES:
        of_mode = [point for point in rates if point.parameter("mode") == mode]
        if of_mode:
            top = chosen_best(leading(of_mode))
            one, many = times.get(mode, (None, None))
            time = ratio_of(many, one) if one and many else None
            found[mode] = RandomAccess(top, label(top), time)
    return found


def _small_pages(cells: Sequence[CellSummary]) -> dict[str, Ratio]:
    """Times on small pages over times on huge pages, if both were measured."""
    found = on_any_memory(points(cells, RANDOM, "access"))
    compared = {
        "update": _by_pages([point for point in found if point.parameter("mode") == "update"]),
        "load": _by_pages(latencies(cells, ranks=1)),
    }
    return {what: cost for what, cost in compared.items() if cost}


def _by_pages(found: Sequence[Point]) -> Ratio | None:
    """Small pages over huge pages, on the most cores, then at the largest size, with both."""
    kinds: dict[tuple[int, int, str], dict[str, Point]] = {}
    for point in found:
        size = working_set(point) or int(point.parameter("elements") or 0)
        key = (point.cores, size, point.summary.cell.toolchain)
        kinds.setdefault(key, {})[str(point.parameter("pages"))] = point
    both = [key for key, kind in kinds.items() if {"huge", "small"} <= kind.keys()]
    if not both:
        return None
    kind = kinds[max(both)]
    return ratio_of(kind["small"], kind["huge"])
