"""Strong scaling of a benchmark, and whether caches explain a superlinear speedup.

Caches explain it if the data of a process begin to fit into its share of a cache (Edmundsson et al.
2004, 5.5; Luecke, Li & Cuma 2005, 4.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.kernels import known_kernel
from assay.kernels.npb import CLASS_ORDER
from assay.model.placement import Placement
from assay.questions.common.selection import Point, best_by, best_by_cores, leading
from assay.questions.common.speedups import Speedup, speedup_of
from assay.records.model import RunData

if TYPE_CHECKING:
    from assay.system.model import Cache


@dataclass(frozen=True)
class Curve:
    """One benchmark and class with one toolchain over numbers of cores."""

    #: Name of the kernel in the catalogue.
    kernel: str
    #: Problem class.
    size: str
    #: Best points, by ascending number of cores.
    points: Mapping[int, Point]
    #: Whether each core runs one process, so that numbers of cores are numbers of processes.
    processes: bool

    @property
    def few(self) -> int:
        """The smallest measured number of cores: the base of all speedups."""
        return min(self.points)

    @property
    def most(self) -> int:
        """The largest measured number of cores."""
        return max(self.points)


@dataclass(frozen=True)
class ScalingFit:
    """The least count at which the data of a process fit into its share of a cache level."""

    #: Number of processes (of cores if the curve is not over processes).
    count: int
    #: Level of the cache.
    level: int
    #: Bytes that a process allocates.
    data: float
    #: Bytes of the cache per process.
    share: float


def curve_of(found: Sequence[Point], kernel: str, size: str) -> Curve:
    """The curve through points of one benchmark and class; at least one point is required.

    The curve is over processes without threads if several numbers of processes were measured, else
    over all points.
    """
    lead = leading(found)
    plain = [point for point in lead if point.summary.cell.placement.threads == 1]
    by_cores = best_by(plain, lambda point: point.cores)
    if len(by_cores) > 1:
        return Curve(kernel, size, by_cores, processes=True)
    return Curve(kernel, size, best_by_cores(found), processes=False)


def by_class(found: Iterable[Point]) -> dict[str, list[Point]]:
    """The points of each class, the largest class first."""
    classes: dict[str, list[Point]] = {}
    for point in found:
        classes.setdefault(str(point.parameter("class")), []).append(point)
    return {size: classes[size] for size in reversed(CLASS_ORDER) if size in classes}


def speedups(curve: Curve) -> list[Speedup]:
    """The speedups over the fewest cores, by ascending number of cores."""
    base = curve.points[curve.few]
    return [speedup_of(base, point) for count, point in curve.points.items() if count != curve.few]


def superlinear(found: Sequence[Speedup]) -> list[Speedup]:
    """The speedups that are certainly above perfect scaling."""
    count = len(found)
    return [s for s in found if s.compared(equal=s.perfect, comparisons=count).direction == "more"]


@dataclass(frozen=True)
class Chip:
    """A node's cores and data caches."""

    #: Caches, the outermost level first.
    caches: tuple[Cache, ...] = ()
    #: Number of cores of a node; 0 if unknown.
    cores: int = 0

    @property
    def known(self) -> bool:
        """Whether both the caches and the cores are known."""
        return bool(self.caches) and self.cores > 0


def chip_of(run: RunData) -> Chip:
    """The caches and cores from the run's manifest."""
    from assay.system.model import System

    system = System.known(run.manifest.system)
    if system is None:
        return Chip()
    processor = system.processor
    known = [cache for cache in processor.caches if cache.size and cache.kind != "instruction"]
    return Chip(tuple(sorted(known, key=lambda cache: -cache.level)), processor.cores or 0)


def cache_share(placement: Placement, cache: Cache, cores: int) -> float:
    """Bytes of a cache level per process, if the processes of a node divide it evenly.

    Only cache instances with a busy core count: with compact binding the instances of the first
    cores, with any other binding as many instances as possible. ``cores``: number of cores of a
    node.
    """
    instances = max(cache.count or 1, 1)
    busy = min(placement.ppn * placement.threads, cores)
    if placement.binding == "compact":
        cores_each = max(cores // instances, 1)
        used = min(-(-busy // cores_each), instances)
    else:
        used = min(busy, instances)
    return (cache.size or 0) * used / placement.ppn


def data_per_process(point: Point) -> float | None:
    """Bytes that one process allocates, by the kernel's formula; None without a formula."""
    cell = point.summary.cell
    kernel = known_kernel(cell.kernel)
    if kernel is None or kernel.memory is None:
        return None
    parameters = {**cell.parameters, **point.summary.parameters}
    return kernel.memory(parameters, cell.placement.ranks, cell.placement.threads)


def begins_to_fit(curve: Curve, chip: Chip, upto: int) -> ScalingFit | None:
    """The least count, up to ``upto``, at which the data begin to fit into a cache level.

    If data begin to fit into several levels, the outermost is returned. None if there is no such
    level, or if the sizes of the data or of the caches are unknown.
    """
    counts = [count for count in curve.points if count <= upto]
    for cache in chip.caches if chip.cores else ():
        fit = None
        for count in reversed(counts):
            point = curve.points[count]
            data = data_per_process(point)
            share = cache_share(point.summary.cell.placement, cache, chip.cores)
            if data is None or data > share:
                break
            fit = ScalingFit(count, cache.level, data, share)
        if fit is not None and fit.count > curve.few:
            return fit
    return None


def in_cache(point: Point, chip: Chip) -> bool:
    """Whether the data of each process are known to fit into its share of the outermost level."""
    data = data_per_process(point)
    if data is None or not chip.known:
        return False
    return data <= cache_share(point.summary.cell.placement, chip.caches[0], chip.cores)
