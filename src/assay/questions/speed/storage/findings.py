"""Findings on storage: device bandwidth, gain from the page cache, many ranks, metadata."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.kernels.storage.files import METHODS, OPERATIONS, RANDOM
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import (
    ARRIVED,
    Point,
    best,
    best_by,
    chosen_best,
    chosen_worst,
    points,
)
from assay.records.model import RunData
from assay.records.schema import MeasurementRecord
from assay.stats.core.model import CellSummary

FILE, PARALLEL, METADATA = KERNELS = ("storage.file", "storage.parallel", "storage.metadata")
# A page cache affects the result if it served more than this share of the bytes.
CACHED = 0.05
IN_MEMORY = ("tmpfs", "ramfs")

_LATENCIES = ("latency", "latency_p99")
_FROM_CACHE = "from_cache"


@dataclass(frozen=True)
class StorageFacts:
    """The file system of a cell's files, and the part of the page cache."""

    #: Type of the file system.
    filesystem: str
    #: Directory as requested; "" if the kernel reports none.
    directory: str
    #: Share of the bytes that the page cache served, median over measurements; None if the kernel
    #: doesn't report it.
    from_cache: float | None

    @property
    def in_memory(self) -> bool:
        """Whether the file system is in memory, so that there is no device."""
        return self.filesystem in IN_MEMORY

    @property
    def cached(self) -> float:
        """The share of the bytes that the page cache served if it affects the result, else 0."""
        share = self.from_cache
        return share if share is not None and share > CACHED else 0.0


@dataclass(frozen=True)
class BestRecord:
    """One operation with one method, at the best record size on the most ranks."""

    #: Bandwidth of the operation.
    point: Point
    #: Smallest record, in bytes, that reaches 95% of this bandwidth; None for a single size.
    arrival: int | None


@dataclass(frozen=True)
class SmallRecords:
    """Access to random records of the smallest size."""

    #: Rate of operations, per second.
    rate: Point
    #: Latencies, in s, by metric.
    latencies: Mapping[str, Point]


@dataclass(frozen=True)
class ParallelAccess:
    """Concurrent writing or reading by all ranks."""

    #: Largest measured number of ranks.
    ranks: int
    #: Best point of each layout and interface on these ranks.
    ways: Mapping[tuple[str, str], Point]
    #: Bandwidth on the most ranks over the bandwidth on the fewest, by layout and interface.
    speedups: Mapping[tuple[str, str], Ratio]
    #: Fastest bandwidth of ``ways`` over the slowest; None for a single way.
    spread: Ratio | None


@dataclass(frozen=True)
class StorageCurves:
    """Contents of the figures: usable cells, including candidates of a placement search."""

    files: Sequence[Point]
    parallel: Sequence[Point]
    metadata: Sequence[Point]


@dataclass(frozen=True)
class StorageFindings:
    """Storage."""

    #: Facts on the files, by cell.
    facts: Mapping[str, StorageFacts]
    #: Best bandwidth that reached the device, by operation (write, read).
    device: Mapping[str, Point]
    #: Points of ``device``, or the best point if there are none.
    headline: Sequence[Point]
    #: Results of each operation and method on files.
    operations: Sequence[BestRecord]
    #: Bandwidth through the page cache over the bandwidth of direct access, by operation.
    page_cache: Mapping[str, Ratio]
    #: Random records, for each operation and method.
    small_records: Sequence[SmallRecords]
    #: Parallel access, by operation.
    parallel: Mapping[str, ParallelAccess]
    #: Best rate on the most ranks, by operation and layout.
    metadata: Mapping[tuple[str, str], Point]
    #: Points on a file system in memory.
    in_memory: Sequence[Point]
    #: Points that the page cache served instead of the device.
    cached: Sequence[Point]
    #: All points of storage.
    measured: Sequence[Point] = field(metadata=INTERNAL)
    curves: StorageCurves = field(metadata=INTERNAL)

    def facts_of(self, point: Point) -> StorageFacts:
        """The facts on the files of a point's cell."""
        return self.facts.get(point.summary.id, _UNKNOWN)


_UNKNOWN = StorageFacts("", "", None)


def find(measured: Measured) -> StorageFindings | None:
    """Findings on storage; None if nothing was measured."""
    cells = measured.without_candidates().own_cells().cells
    curves = StorageCurves(
        points(measured.cells, FILE, "bandwidth"),
        points(measured.cells, PARALLEL, "bandwidth"),
        points(measured.cells, METADATA, "rate"),
    )
    if not (curves.files or curves.parallel or curves.metadata):
        return None
    files = points(cells, FILE, "bandwidth")
    parallel = points(cells, PARALLEL, "bandwidth")
    metadata = points(cells, METADATA, "rate")
    everything = [*files, *parallel, *metadata]
    facts = _facts(measured.run)
    device = _device(files or parallel, facts)
    return StorageFindings(
        facts=facts,
        device=device,
        headline=list(device.values()) or _best_of_all(files or parallel or metadata),
        operations=_operations(files),
        page_cache=_page_cache(files),
        small_records=_small_records(cells),
        parallel=_parallel(parallel),
        metadata=_metadata(metadata),
        in_memory=[p for p in everything if facts.get(p.summary.id, _UNKNOWN).in_memory],
        cached=[p for p in everything if _from_page_cache(p, facts)],
        measured=everything,
        curves=curves,
    )


def number(point: Point, name: str) -> int:
    """An integer parameter; 0 if the cell has no parameter of this name."""
    value = point.parameter(name)
    return int(value) if isinstance(value, (int, float)) else 0


def _facts(run: RunData) -> dict[str, StorageFacts]:
    records: dict[str, list[MeasurementRecord]] = {}
    for measurement in run.measurements:
        if measurement.record.kernel in KERNELS:
            records.setdefault(measurement.cell.id, []).append(measurement.record)
    return {cell: _facts_of(found) for cell, found in records.items()}


def _facts_of(records: Iterable[MeasurementRecord]) -> StorageFacts:
    """The facts of one cell's measurements; the last ones if they differ."""
    shares, filesystem, directory = [], "", ""
    for record in records:
        if _FROM_CACHE in record.facts:
            shares.append(float(record.facts[_FROM_CACHE]))
        filesystem = str(record.facts.get("filesystem", filesystem))
        directory = str(record.parameters.get("directory", ""))
    return StorageFacts(filesystem, directory, statistics.median(shares) if shares else None)


def _reached_device(point: Point, facts: Mapping[str, StorageFacts]) -> bool:
    """Whether a cell's bandwidth is the device's.

    The kernel's report determines it, or else the method. A file system in memory has no device.
    """
    own = facts.get(point.summary.id, _UNKNOWN)
    if own.in_memory:
        return False
    if own.from_cache is not None:
        return own.from_cache <= CACHED
    return point.parameter("method") != "buffered"


def _from_page_cache(point: Point, facts: Mapping[str, StorageFacts]) -> bool:
    """Whether the page cache served an operation intended for the device."""
    own = facts.get(point.summary.id, _UNKNOWN)
    return not own.in_memory and point.parameter("op") != "reread" and own.cached > 0


def _device(found: Sequence[Point], facts: Mapping[str, StorageFacts]) -> dict[str, Point]:
    return {
        op: chosen_best(real)
        for op in ("write", "read")
        if (real := [p for p in found if p.parameter("op") == op and _reached_device(p, facts)])
    }


def _best_of_all(found: Sequence[Point]) -> list[Point]:
    return [chosen_best(found)] if found else []


def _operations(files: Sequence[Point]) -> list[BestRecord]:
    found = []
    for op in OPERATIONS:
        for method in () if op in RANDOM else METHODS:
            own = _with(files, op=op, method=method)
            if own:
                alike = _on_most(own)
                found.append(BestRecord(chosen_best(alike), _arrival(alike)))
    return found


def _arrival(alike: Sequence[Point]) -> int | None:
    """The smallest record with 95% of the best bandwidth; None for a single record size."""
    by_record = best_by(alike, lambda point: number(point, "record"))
    if len(by_record) < 2:
        return None
    arrived = ARRIVED * best(list(by_record.values())).metric.median
    return next(size for size, point in by_record.items() if point.metric.median >= arrived)


def _page_cache(files: Sequence[Point]) -> dict[str, Ratio]:
    """The fastest buffered cell over the cell that differs only in direct access, by operation."""
    direct = {_alike(p, "method"): p for p in _with(files, method="direct")}
    buffered: dict[str, list[Point]] = {}
    for point in _with(files, method="buffered"):
        if _alike(point, "method") in direct:
            buffered.setdefault(str(point.parameter("op")), []).append(point)
    fastest = {op: chosen_best(found) for op, found in buffered.items()}
    return {op: ratio_of(point, direct[_alike(point, "method")]) for op, point in fastest.items()}


def _alike(point: Point, *but: str) -> tuple[object, ...]:
    """A key that is equal for cells that differ only in the named parameters."""
    cell = point.summary.cell
    shared = tuple(sorted((n, v) for n, v in cell.parameters.items() if n not in but))
    return (shared, cell.placement, cell.toolchain)


def _small_records(cells: Sequence[CellSummary]) -> list[SmallRecords]:
    """Rates and latencies of random records at the smallest size, for each method."""
    found = []
    rates = points(cells, FILE, "rate")
    for op in RANDOM:
        for method in METHODS:
            own = _with(rates, op=op, method=method)
            if not own:
                continue
            least = min(number(point, "record") for point in own)
            top = chosen_best([point for point in own if number(point, "record") == least])
            # With one flush after all records, the latencies only show the page cache.
            timed = () if method == "fsync" else _LATENCIES
            metrics = top.summary.metrics
            latencies = {
                name: Point(top.summary, metrics[name]) for name in timed if name in metrics
            }
            found.append(SmallRecords(top, latencies))
    return found


def _parallel(found: Sequence[Point]) -> dict[str, ParallelAccess]:
    return {op: _ways(own) for op in ("write", "read") if (own := _with(found, op=op))}


def _ways(own: Sequence[Point]) -> ParallelAccess:
    by_way: dict[tuple[str, str], list[Point]] = {}
    for point in own:
        by_way.setdefault(_way(point), []).append(point)
    on_most = _on_most(own)
    alike_on_most = {way: [p for p in on_most if _way(p) == way] for way in map(_way, on_most)}
    ways = {way: chosen_best(alike) for way, alike in alike_on_most.items()}
    speedups = {}
    for way, alike in by_way.items():
        by_ranks = best_by(alike, lambda point: point.cores)
        few, most = min(by_ranks), max(by_ranks)
        if few != most:
            speedups[way] = ratio_of(by_ranks[most], by_ranks[few])
    slowest = chosen_worst(list(ways.values()))
    spread = ratio_of(chosen_best(on_most), slowest) if len(ways) > 1 else None
    return ParallelAccess(on_most[0].cores, ways, speedups, spread)


def _way(point: Point) -> tuple[str, str]:
    return str(point.parameter("layout")), str(point.parameter("api"))


def _metadata(found: Sequence[Point]) -> dict[tuple[str, str], Point]:
    return {
        (op, layout): chosen_best(_on_most(own))
        for op in ("create", "stat", "unlink")
        for layout in ("own", "shared")
        if (own := _with(found, op=op, layout=layout))
    }


def _with(found: Iterable[Point], **parameters: str) -> list[Point]:
    """The points whose parameters have these values."""
    return [
        point
        for point in found
        if all(point.parameter(name) == value for name, value in parameters.items())
    ]


def _on_most(found: Sequence[Point]) -> list[Point]:
    most = max(point.cores for point in found)
    return [point for point in found if point.cores == most]
