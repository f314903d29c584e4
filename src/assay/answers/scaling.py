"""How a benchmark grows with processes, and why it does so better or worse than they do.

Better: where a process's data begin to fit into its share of a cache (Edmundsson et al. 2004, 5.5;
Luecke, Li & Cuma 2005, 4.1). Worse: by communication, or by memory that all cores share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.answers.select import Interval, Point, best_by, leading, points, ratio, scaled
from assay.errors import AssayError
from assay.kernels import known_kernel
from assay.kernels.npb import CLASS_ORDER, is_phase
from assay.plans.model import Placement
from assay.records.model import RunData
from assay.stats.model import CellSummary, MetricSummary

if TYPE_CHECKING:
    from assay.system.model import Cache


@dataclass(frozen=True)
class Curve:
    """One benchmark and class, of one toolchain: the best point of each count of cores, ascending.

    ``processes``: every core has a process of its own, so that counts of cores are of processes.
    """

    kernel: str
    size: str
    points: Mapping[int, Point]
    processes: bool

    @property
    def few(self) -> int:
        """The fewest cores measured, which all others are set against."""
        return min(self.points)

    @property
    def most(self) -> int:
        """The most cores measured."""
        return max(self.points)


@dataclass(frozen=True)
class Efficiency:
    """The rate per core on ``count`` cores over that on the fewest; 1 is perfect scaling."""

    count: int
    value: float
    interval: Interval | None


@dataclass(frozen=True)
class Fit:
    """From ``count`` processes on, each one's data fit into its share of that cache level.

    ``data`` and ``share``: bytes of one process.
    """

    count: int
    level: int
    data: float
    share: float


def curve_of(found: Sequence[Point], kernel: str, size: str) -> Curve:
    """The curve of points of one benchmark and class; there must be one.

    Over processes where those were measured on several counts, else over whatever kept cores busy.
    """
    lead = leading(found)
    plain = [point for point in lead if point.summary.cell.placement.threads == 1]
    by_cores = best_by(plain, lambda point: point.cores)
    if len(by_cores) > 1:
        return Curve(kernel, size, by_cores, processes=True)
    return Curve(kernel, size, best_by(lead, lambda point: point.cores), processes=False)


def curves(cells: Sequence[CellSummary], kernel: str) -> list[Curve]:
    """A benchmark's curves, the largest class first; none where it wasn't measured."""
    found = points(cells, kernel, "rate")
    by_class = {
        size: [point for point in found if point.parameter("class") == size]
        for size in reversed(CLASS_ORDER)
    }
    return [curve_of(of_size, kernel, size) for size, of_size in by_class.items() if of_size]


def efficiencies(curve: Curve) -> list[Efficiency]:
    """The parallel efficiency on each count of cores beyond the fewest."""
    base = curve.points[curve.few].metric
    made = []
    for count, point in curve.points.items():
        if count == curve.few:
            continue
        value, interval = ratio(point.metric, base)
        by = curve.few / count
        made.append(Efficiency(count, value * by, scaled(interval, by)))
    return made


def superlinear(curve: Curve) -> list[Efficiency]:
    """Where each core does more than on the fewest, and its whole interval says so."""
    return [e for e in efficiencies(curve) if e.interval is not None and e.interval[0] > 1]


@dataclass(frozen=True)
class Chip:
    """A node's caches that hold data, outermost level first, and its cores; 0: not known."""

    caches: tuple[Cache, ...] = ()
    cores: int = 0


def chip_of(run: RunData) -> Chip:
    """What the run's system tells of caches and cores."""
    from assay.system.model import System

    try:
        processor = System.from_dict(run.manifest.system).processor
    except AssayError:  # described by another version
        return Chip()
    known = [cache for cache in processor.caches if cache.size and cache.kind != "instruction"]
    return Chip(tuple(sorted(known, key=lambda cache: -cache.level)), processor.cores or 0)


def cache_share(placement: Placement, cache: Cache, cores: int) -> float:
    """Bytes of a cache level that each process has where the processes of a node divide it evenly.

    Instances count that have a busy core: those of the first cores with compact binding, as many
    as there can be with any other. ``cores``: of a node.
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
    """Bytes that one process allocates, by the kernel's formula; None where it has none."""
    cell = point.summary.cell
    kernel = known_kernel(cell.kernel)
    if kernel is None or kernel.memory is None:
        return None
    parameters = {**cell.parameters, **point.summary.parameters}
    return kernel.memory(parameters, cell.placement.ranks, cell.placement.threads)


def begins_to_fit(curve: Curve, chip: Chip, upto: int) -> Fit | None:
    """The outermost cache level that the data did not fit on the fewest processes, and do from some
    count up to ``upto``; None where there is none, or nothing is known of the data or the caches.
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
            fit = Fit(count, cache.level, data, share)
        if fit is not None and fit.count > curve.few:
            return fit
    return None


def in_cache(point: Point, chip: Chip) -> bool:
    """Whether the data of each process are known to fit into its share of the outermost level."""
    data = data_per_process(point)
    if data is None or not chip.caches or not chip.cores:
        return False
    return data <= cache_share(point.summary.cell.placement, chip.caches[0], chip.cores)


def phases_of(cell: CellSummary) -> dict[str, MetricSummary]:
    """Where the time goes: seconds of each phase, mean over ranks, in the catalogue's order."""
    kernel = known_kernel(cell.kernel)
    return {
        metric.name: cell.metrics[metric.name]
        for metric in (kernel.metrics if kernel else ())
        if is_phase(metric) and metric.name in cell.metrics
    }


def phase_shares(cell: CellSummary) -> dict[str, float]:
    """Each phase's share of all of them; empty where none were told or all took no time."""
    seconds = {name: metric.median for name, metric in phases_of(cell).items()}
    whole = sum(seconds.values())
    return {name: value / whole for name, value in seconds.items()} if whole > 0 else {}


def compute_interval(cell: CellSummary) -> Interval | None:
    """The 95% interval of the share that computing has, as if the other phases were certain."""
    phases = phases_of(cell)
    whole = sum(metric.median for metric in phases.values())
    interval = phases["compute"].ci95 if "compute" in phases else None
    if interval is None or whole <= 0:
        return None
    rest = whole - phases["compute"].median
    low, high = interval[0], interval[1]
    return low / (low + rest), high / (high + rest)


def communication(shares: Mapping[str, float]) -> float:
    """The share of all phases but computing."""
    return sum(share for name, share in shares.items() if name != "compute")
