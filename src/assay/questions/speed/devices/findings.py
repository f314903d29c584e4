"""Findings on devices: what one sustains, against its limits, and all of a node at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import (
    Point,
    best,
    chosen_best,
    chosen_worst,
    points,
)
from assay.questions.common.speedups import Speedup, speedup_of
from assay.questions.speed.devices.limits import (
    ERRORS,
    DeviceFacts,
    DeviceLimit,
    arithmetic_limit,
    devices_of,
    host_limit,
    links_of,
    measured_clock,
    memory_limit,
)
from assay.records.model import RunData
from assay.reference.accelerators import ARITHMETIC_TYPES
from assay.stats.core.model import CellSummary

STREAM, TRANSFER, LAUNCH = "gpu.stream", "gpu.transfer", "gpu.launch"
LATENCY, GEMM, ALL = "gpu.latency", "gpu.gemm", "gpu.all"
KERNELS = (STREAM, TRANSFER, LAUNCH, LATENCY, GEMM, ALL)
K = TypeVar("K")


@dataclass(frozen=True)
class DeviceShare:
    """A rate and the limit of the devices that it used."""

    #: Measured rate.
    point: Point
    #: Limit of these devices; None if it is unknown.
    limit: DeviceLimit | None

    @property
    def devices(self) -> int:
        """The number of devices: each rank uses one."""
        return self.point.summary.cell.placement.ranks

    @property
    def share(self) -> float | None:
        """The rate over its limit."""
        return self.point.metric.median / self.limit.rate if self.limit else None


@dataclass(frozen=True)
class DeviceCurves:
    """Contents of the figures."""

    #: STREAM triad on one device, by host's and device's clock, of all sizes.
    stream: Sequence[Point]
    #: The same cells by the device's clock.
    stream_by_device: Sequence[Point]


@dataclass(frozen=True)
class DevicesFindings:
    """Findings on devices."""

    #: The devices that were measured, in the order of the run's cells.
    devices: Sequence[DeviceFacts]
    #: Best operation of STREAM in the memory of one device; None if not measured.
    stream: DeviceShare | None
    #: The same on each larger number of devices, by number.
    stream_on: Mapping[int, DeviceShare]
    #: STREAM triad on the most devices over one device.
    stream_speedup: Speedup | None
    #: Best rate of matrix products on one device, by type.
    products: Mapping[str, DeviceShare]
    #: What multiplied, by type.
    libraries: Mapping[str, str]
    #: Largest transfers of one device, by direction and memory of the host.
    transfers: Mapping[str, DeviceShare]
    #: Largest transfers of all devices at once, by direction and memory.
    transfers_on_all: Mapping[str, DeviceShare]
    #: Bandwidth of pinned over pageable memory, by direction.
    pinned: Mapping[str, Ratio]
    #: Bandwidth of the nearest NUMA node over the farthest, by direction.
    near: Mapping[str, Ratio]
    #: Slowest over fastest device of a node, by kernel, of cells that name a device.
    uneven: Mapping[str, Ratio]
    #: Time of a launch, by mode.
    launches: Mapping[str, Point]
    #: Time of a load, by bytes of the working set as the plan names them; 0 is the memory.
    latencies: Mapping[int, Point]
    #: Speed with all devices at once over one alone, by operation (1: no loss).
    all_at_once: Mapping[str, Point]
    #: New errors of the devices during the measurements, by covariate.
    errors: Mapping[str, float]
    curves: DeviceCurves = field(metadata=INTERNAL)


def find(measured: Measured) -> DevicesFindings | None:
    """The findings; None if no usable cell measured a device."""
    run, cells = measured.run, measured.without_candidates().own_cells().cells
    used = [
        cell for cell in cells if cell.kernel in KERNELS and cell.status == "ok" and cell.metrics
    ]
    if not used:
        return None
    known, links = devices_of(run), links_of(run.manifest.system)

    def memory(point: Point) -> DeviceShare:
        device = known.get(point.summary.id)
        return DeviceShare(point, memory_limit(device, _ranks(point)) if device else None)

    def product(kind: str, point: Point) -> DeviceShare:
        device, clock = known.get(point.summary.id), measured_clock(run, point)
        rate = point.metric.median
        limit = arithmetic_limit(device, kind, _ranks(point), rate, clock) if device else None
        return DeviceShare(point, limit)

    def transfer(point: Point) -> DeviceShare:
        device = known.get(point.summary.id)
        limit = host_limit(device, _ranks(point), _ways(point), links) if device else None
        return DeviceShare(point, limit)

    streams = _in_memory(points(cells, STREAM, "bandwidth"))
    alone, together = _alone(streams), _on_all(streams)
    triads = [point for point in streams if point.parameter("op") == "triad"]
    products = _products(_alone(points(cells, GEMM, "rate")))
    transfers = _largest(points(cells, TRANSFER, "bandwidth"))
    one = _by_way(_alone(transfers))
    return DevicesFindings(
        devices=list(dict.fromkeys(known[cell.id] for cell in used if cell.id in known)),
        stream=memory(chosen_best(alone)) if alone else None,
        stream_on={number: memory(point) for number, point in together.items()},
        stream_speedup=_speedup(triads),
        products={kind: product(kind, point) for kind, point in products.items()},
        libraries=_libraries(products, run),
        transfers={way: transfer(point) for way, point in one.items()},
        transfers_on_all={way: transfer(point) for way, point in _by_way(_most(transfers)).items()},
        pinned={
            way: ratio_of(one[f"{way}, pinned"], one[f"{way}, pageable"])
            for way in ("to device", "to host", "both")
            if f"{way}, pinned" in one and f"{way}, pageable" in one
        },
        near=_near(points(cells, TRANSFER, "bandwidth")),
        uneven=_uneven(cells),
        launches=_by(_alone(points(cells, LAUNCH, "time")), lambda p: str(p.parameter("mode"))),
        latencies=_by(
            _alone(points(cells, LATENCY, "time")),
            lambda p: int(p.summary.cell.parameters.get("bytes", 0)),
        ),
        all_at_once=_by(points(cells, ALL, "share"), lambda p: str(p.parameter("op"))),
        errors=_errors(run, used),
        curves=_curves(cells),
    )


def size_of(point: Point) -> int:
    """The bytes of an array of STREAM."""
    width = 4 if point.parameter("type") == "float" else 8
    return width * int(point.parameter("elements") or 0)


def _ranks(point: Point) -> int:
    return point.summary.cell.placement.ranks


def _bound_to_a_node(point: Point) -> bool:
    return point.summary.cell.placement.numa_node is not None


def _alone(found: Iterable[Point]) -> list[Point]:
    """Points of a single device, without those whose plan names a NUMA node or, if others remain,
    the device.
    """
    single = [p for p in found if _ranks(p) == 1 and not _bound_to_a_node(p)]
    return [p for p in single if p.summary.cell.parameters.get("device") in (-1, None)] or single


def _most(found: Sequence[Point]) -> list[Point]:
    """Points of the most devices, if these are several."""
    most = max(map(_ranks, found), default=1)
    return [point for point in found if _ranks(point) == most > 1]


def _on_all(found: Sequence[Point]) -> dict[int, Point]:
    by_ranks: dict[int, list[Point]] = {}
    for point in found:
        ranks = _ranks(point)
        if ranks > 1 and not _bound_to_a_node(point):
            by_ranks.setdefault(ranks, []).append(point)
    return {ranks: chosen_best(alike) for ranks, alike in sorted(by_ranks.items())}


def _in_memory(found: Sequence[Point]) -> list[Point]:
    """The points whose arrays exceed the device's caches: sizes that it chose, else the largest."""
    chosen = [p for p in found if p.summary.cell.parameters.get("elements") in (0, None)]
    largest = max(map(size_of, found), default=0)
    return chosen or [point for point in found if size_of(point) == largest]


def _speedup(triads: Sequence[Point]) -> Speedup | None:
    doubles = [point for point in triads if point.parameter("type") in (None, "double")]
    one, most = _alone(doubles), [p for p in _most(doubles) if not _bound_to_a_node(p)]
    return speedup_of(best(one), best(most)) if one and most else None


def _products(found: Sequence[Point]) -> dict[str, Point]:
    by_type: dict[str, list[Point]] = {}
    for point in found:
        by_type.setdefault(str(point.parameter("type")), []).append(point)
    return {kind: chosen_best(by_type[kind]) for kind in ARITHMETIC_TYPES if kind in by_type}


def _libraries(products: Mapping[str, Point], run: RunData) -> dict[str, str]:
    named = {
        m.cell.id: str(m.record.facts["library"])
        for m in run.measurements
        if "library" in m.record.facts
    }
    return {k: named[p.summary.id] for k, p in products.items() if p.summary.id in named}


def _ways(point: Point) -> int:
    return 2 if point.parameter("direction") == "both" else 1


def _largest(found: Sequence[Point]) -> list[Point]:
    largest = max((int(p.parameter("bytes") or 0) for p in found), default=0)
    return [point for point in found if point.parameter("bytes") == largest]


def _by_way(found: Sequence[Point]) -> dict[str, Point]:
    free = [point for point in found if not _bound_to_a_node(point)]
    return _by(free, lambda p: f"{p.parameter('direction')}, {p.parameter('memory')}")


def _near(found: Sequence[Point]) -> dict[str, Ratio]:
    """By direction, the best NUMA node over the worst, of largest transfers on one device."""
    bound: dict[str, list[Point]] = {}
    for point in _largest([p for p in found if _bound_to_a_node(p)]):
        if _ranks(point) == 1:
            bound.setdefault(str(point.parameter("direction")), []).append(point)
    ends = {way: sorted(alike, key=_median) for way, alike in bound.items() if len(alike) > 1}
    return {way: ratio_of(ordered[-1], ordered[0]) for way, ordered in ends.items()}


def _uneven(cells: Sequence[CellSummary]) -> dict[str, Ratio]:
    """Slowest over fastest device in memory, products and transfers, of otherwise equal cells."""
    metrics = {STREAM: "bandwidth", GEMM: "rate", TRANSFER: "bandwidth"}
    found = {}
    for kernel, metric in metrics.items():
        alike: dict[str, list[Point]] = {}
        for point in points(cells, kernel, metric):
            given = point.summary.cell.parameters
            if int(given.get("device", -1)) >= 0 and _ranks(point) == 1:
                rest = {k: v for k, v in sorted(given.items()) if k != "device"}
                alike.setdefault(f"{rest}{point.summary.cell.toolchain}", []).append(point)
        several = [group for group in alike.values() if len(group) > 1]
        if several:
            most = max(several, key=len)
            found[kernel] = ratio_of(chosen_worst(most), chosen_best(most))
    return found


def _median(point: Point) -> float:
    return point.metric.median


def _by(found: Iterable[Point], key: Callable[[Point], K]) -> dict[K, Point]:
    """The best point for each value of the key, in the order of the plan."""
    groups: dict[K, list[Point]] = {}
    for point in found:
        groups.setdefault(key(point), []).append(point)
    return {value: chosen_best(alike) for value, alike in groups.items()}


def _errors(run: RunData, used: Sequence[CellSummary]) -> dict[str, float]:
    ids = {cell.id for cell in used}
    found = {}
    for name in ERRORS:
        counts = [
            m.record.covariates.get(name) or 0.0 for m in run.measurements if m.cell.id in ids
        ]
        if sum(counts) > 0:
            found[name] = float(sum(counts))
    return found


def _curves(cells: Sequence[CellSummary]) -> DeviceCurves:
    def triads(metric: str) -> list[Point]:
        found = _alone(points(cells, STREAM, metric))
        alike = [p for p in found if p.parameter("op") == "triad"]
        doubles = [p for p in alike if p.parameter("type") in (None, "double")]
        return sorted(doubles or alike, key=size_of)

    return DeviceCurves(triads("bandwidth"), triads("bandwidth.device"))
