"""Storage: what the device sustains, what the page cache adds, small records, many ranks."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from assay.answers.confidence import describe
from assay.answers.model import Evidence
from assay.answers.select import (
    ARRIVED,
    Part,
    Point,
    best,
    best_by,
    evidence,
    labeller,
    points,
    quantity_text,
    ratio,
)
from assay.kernels.storage import METHODS, RANDOM
from assay.records.model import RunData
from assay.records.schema import MeasurementRecord
from assay.stats.model import CellSummary
from assay.units import counted, format_share, format_size

FILE, PARALLEL, METADATA = KERNELS = ("storage.file", "storage.parallel", "storage.metadata")
# A cache that answered more than this share of the bytes touches the number.
CACHED = 0.05
# One way of writing in parallel that takes so many times as long as another is worth a word.
MUCH_SLOWER = 1.1
IN_MEMORY = ("tmpfs", "ramfs")

_LATENCIES = (("latency", "median"), ("latency_p99", "99th percentile"))
_FROM_CACHE = "from_cache"
OPERATION_TITLES = {
    "write": "Write",
    "rewrite": "Rewrite",
    "read": "Read",
    "reread": "Reread",
    "random_read": "Random read",
    "random_write": "Random write",
    "stride_read": "Strided read",
}


def storage_part(cells: Sequence[CellSummary], run: RunData) -> Part | None:
    """Storage's part of the answer; None if no usable cell measured any."""
    files = points(cells, FILE, "bandwidth")
    parallel = points(cells, PARALLEL, "bandwidth")
    metadata = points(cells, METADATA, "rate")
    if not (files or parallel or metadata):
        return None
    facts = _facts(run)
    part = Part()
    label = labeller([*files, *parallel, *metadata])
    _headline(part, files or parallel, metadata, facts)
    for op in OPERATION_TITLES:
        _operation(part, [p for p in files if p.parameter("op") == op], facts, label)
    _page_cache(part, files)
    _small_records(part, cells, facts, label)
    _parallel(part, parallel, facts, label)
    _metadata(part, metadata, label)
    _caveats(part, [*files, *parallel, *metadata], facts)
    part.method = _method(files, parallel, metadata)
    part.limits = _limits(facts)
    return part


Facts = Mapping[str, Mapping[str, object]]


def _facts(run: RunData) -> Facts:
    """Of each cell: the median share that came from the cache, if told, and the file system."""
    records: dict[str, list[MeasurementRecord]] = {}
    for measurement in run.measurements:
        if measurement.record.kernel in KERNELS:
            records.setdefault(measurement.cell.id, []).append(measurement.record)
    told: dict[str, dict[str, object]] = {}
    for cell, found in records.items():
        shares = [float(r.facts[_FROM_CACHE]) for r in found if _FROM_CACHE in r.facts]
        own = told.setdefault(cell, {})
        if shares:
            own[_FROM_CACHE] = statistics.median(shares)
        for record in found:
            own.update({n: v for n, v in record.facts.items() if n == "filesystem"})
            own["directory"] = record.parameters.get("directory", "")
    return told


def _cached(point: Point, facts: Facts) -> float | None:
    share = facts.get(point.summary.id, {}).get(_FROM_CACHE)
    return share if isinstance(share, float) else None


def reached_device(point: Point, facts: Facts) -> bool:
    """Whether a cell's bandwidth is the device's: by the kernel's own account, else by its method.

    A file system that is memory has no device.
    """
    if facts.get(point.summary.id, {}).get("filesystem") in IN_MEMORY:
        return False
    share = _cached(point, facts)
    if share is not None:
        return share <= CACHED
    return point.parameter("method") != "buffered"


def _headline(part: Part, found: Sequence[Point], metadata: Sequence[Point], facts: Facts) -> None:
    """The best that the device itself sustained, writing and reading; else what there is."""
    words = []
    for op, verb in (("write", "writes"), ("read", "reads")):
        real = [p for p in found if p.parameter("op") == op and reached_device(p, facts)]
        if real:
            top = best(real)
            part.headline.append(top)
            words.append(f"{verb} {_quantity(top)}")
    if not words:
        top = best(found or metadata)
        part.headline.append(top)
        words.append(f"does {describe(top.summary)} at {_quantity(top)}")
    part.remark = f"storage {' and '.join(words)}"


def _quantity(point: Point) -> str:
    return quantity_text(point.metric.median, point.metric.unit, point.metric.ci95)


def _operation(
    part: Part, found: Sequence[Point], facts: Facts, label: Callable[[Point], str]
) -> None:
    """One row a method: the best record size on the most ranks."""
    if not found or found[0].parameter("op") in RANDOM:
        return
    for method in METHODS:
        own = [point for point in found if point.parameter("method") == method]
        if not own:
            continue
        most = max(point.cores for point in own)
        alike = [point for point in own if point.cores == most]
        top = best(alike)
        note = _joined(label(top), _from_record(alike), _cache_note(top, facts))
        title = f"{OPERATION_TITLES[str(top.parameter('op'))]}, {method}, records of {_record(top)}"
        part.evidence.append(evidence(title, top, "bandwidth", note=note))


def _record(point: Point) -> str:
    return format_size(float(_number(point, "record")))


def _number(point: Point, name: str) -> int:
    value = point.parameter(name)
    return int(value) if isinstance(value, (int, float)) else 0


def _joined(*words: str) -> str:
    return "; ".join(word for word in words if word)


def _from_record(alike: Sequence[Point]) -> str:
    """From which record size the bandwidth is near its best, where several were measured."""
    by_record = best_by(alike, lambda point: _number(point, "record"))
    if len(by_record) < 2:
        return ""
    enough = ARRIVED * best(list(by_record.values())).metric.median
    least = next(size for size, point in by_record.items() if point.metric.median >= enough)
    return f"{ARRIVED:.0%} of its best from records of {format_size(float(least))}"


def _cache_note(point: Point, facts: Facts) -> str:
    share = _cached(point, facts)
    if share is None or share <= CACHED:
        return ""
    return f"the page cache answered {format_share(share)}"


def _alike(point: Point, *but: str) -> tuple[object, ...]:
    """What two cells share that differ in the named parameters alone."""
    cell = point.summary.cell
    kept = tuple(sorted((n, v) for n, v in cell.parameters.items() if n not in but))
    return (kept, cell.placement, cell.toolchain)


def _page_cache(part: Part, files: Sequence[Point]) -> None:
    """What going through the cache gives over going around it, at the same record and ranks."""
    direct = {_alike(p, "method"): p for p in files if p.parameter("method") == "direct"}
    best_of: dict[str, tuple[Point, Point]] = {}
    for point in files:
        beside = direct.get(_alike(point, "method"))
        if point.parameter("method") != "buffered" or beside is None:
            continue
        op = str(point.parameter("op"))
        if op not in best_of or point.metric.median > best_of[op][0].metric.median:
            best_of[op] = (point, beside)
    for op, (buffered, around) in best_of.items():
        value, interval = ratio(buffered.metric, around.metric)
        part.evidence.append(
            Evidence(
                label=f"{OPERATION_TITLES[op]}, buffered over direct, "
                f"records of {_record(buffered)}",
                metric="ratio",
                unit="",
                value=value,
                ci95=interval,
                limit=None,
                limit_source=None,
                share=None,
                share_ci95=None,
                cells=[buffered.summary.id, around.summary.id],
                note="what the page cache and its reading ahead are worth",
            )
        )


def _small_records(
    part: Part, cells: Sequence[CellSummary], facts: Facts, label: Callable[[Point], str]
) -> None:
    """Rates and latencies of random records at the smallest size, a method each."""
    for op in RANDOM:
        rates = [p for p in points(cells, FILE, "rate") if p.parameter("op") == op]
        for method in METHODS:
            own = [point for point in rates if point.parameter("method") == method]
            if not own:
                continue
            least = min(_number(point, "record") for point in own)
            top = best([point for point in own if _number(point, "record") == least])
            title = f"{OPERATION_TITLES[op]}, {method}, records of {_record(top)}"
            note = _joined(label(top), _cache_note(top, facts))
            part.evidence.append(evidence(title, top, "rate", note=note))
            # With one flush after all records, theirs are the latencies of the cache.
            for metric, what in () if method == "fsync" else _LATENCIES:
                told = top.summary.metrics.get(metric)
                if told is not None:
                    row = evidence(f"{title}: {what}", Point(top.summary, told), metric, note=note)
                    part.evidence.append(row)


def way_of(point: Point) -> str:
    """``a file each, posix``."""
    layouts = {"own": "a file each", "shared": "one file in parts", "strided": "one file in turns"}
    layout = str(point.parameter("layout"))
    return f"{layouts.get(layout, layout)}, {point.parameter('api')}"


def _parallel(
    part: Part, found: Sequence[Point], facts: Facts, label: Callable[[Point], str]
) -> None:
    """On the most ranks each way of sharing the work, and how the first way grows with ranks."""
    for op in ("write", "read"):
        own = [point for point in found if point.parameter("op") == op]
        if not own:
            continue
        most = max(point.cores for point in own)
        at_most = [point for point in own if point.cores == most]
        ways = {way: best([p for p in at_most if way_of(p) == way]) for way in map(way_of, at_most)}
        for way, point in ways.items():
            title = f"Parallel {op}, {counted(most, 'rank')}, {way}"
            note = _joined(label(point), _cache_note(point, facts))
            part.evidence.append(evidence(title, point, "bandwidth", note=note))
        _growth(part, own, op)
        _slowest_way(part, ways, op, most)


def _growth(part: Part, own: Sequence[Point], op: str) -> None:
    for way in dict.fromkeys(map(way_of, own)):
        by_ranks = best_by([p for p in own if way_of(p) == way], lambda point: point.cores)
        few, most = min(by_ranks), max(by_ranks)
        if few == most:
            continue
        value, interval = ratio(by_ranks[most].metric, by_ranks[few].metric)
        part.evidence.append(
            Evidence(
                label=f"Parallel {op}, {few} → {most} ranks, {way}",
                metric="speedup",
                unit="",
                value=value,
                ci95=interval,
                limit=None,
                limit_source=None,
                share=None,
                share_ci95=None,
                cells=[by_ranks[few].summary.id, by_ranks[most].summary.id],
                note="bandwidth of all ranks together; 1 where one rank fills the device",
            )
        )


def _slowest_way(part: Part, ways: Mapping[str, Point], op: str, ranks: int) -> None:
    """A word on the worst way to share the work, where it is surely worse than the best."""
    if len(ways) < 2:
        return
    top = max(ways, key=lambda way: ways[way].metric.median)
    low = min(ways, key=lambda way: ways[way].metric.median)
    value, interval = ratio(ways[top].metric, ways[low].metric)
    if interval is not None and interval[0] >= MUCH_SLOWER:
        part.advice.append(
            f"With {counted(ranks, 'rank')}, {op} {top}: {value:.2f} times the bandwidth of {low}."
        )


def _metadata(part: Part, found: Sequence[Point], label: Callable[[Point], str]) -> None:
    for op in ("create", "stat", "unlink"):
        for layout, words in (("own", "own directories"), ("shared", "one directory")):
            own = [p for p in found if (p.parameter("op"), p.parameter("layout")) == (op, layout)]
            if own:
                most = max(point.cores for point in own)
                top = best([point for point in own if point.cores == most])
                title = f"Files: {op}, {counted(most, 'rank')}, {words}"
                part.evidence.append(evidence(title, top, "rate", note=label(top)))


def _caveats(part: Part, found: Iterable[Point], facts: Facts) -> None:
    """When a cache or memory answered in place of a device."""
    in_memory, cached = [], []
    for point in found:
        if facts.get(point.summary.id, {}).get("filesystem") in IN_MEMORY:
            in_memory.append(point)
        elif point.parameter("op") != "reread" and (_cached(point, facts) or 0.0) > CACHED:
            cached.append(point)
    if in_memory:
        part.caveats.append(
            f"The files of {counted(len(in_memory), 'cell')} lay in a file system that is memory "
            f"(tmpfs), not on a device ({describe(in_memory[0].summary)}"
            f"{', …' if len(in_memory) > 1 else ''})."
        )
    if cached:
        worst = max(cached, key=lambda point: _cached(point, facts) or 0.0)
        part.caveats.append(
            f"In {counted(len(cached), 'storage cell')} the page cache answered in place of the "
            f"device, up to {format_share(_cached(worst, facts) or 0.0)} of the bytes "
            f"({describe(worst.summary)}): what they give is memory's speed, for as long as "
            "memory lasts."
        )


def _method(
    files: Sequence[Point], parallel: Sequence[Point], metadata: Sequence[Point]
) -> list[str]:
    sentences = []
    if files or parallel:
        sentences.append(
            "Storage: each pass over a file is a sample, timed on the slowest rank, without "
            "opening and closing. Before a read the file is dropped from the page cache, but not "
            "before a reread; before a write all that was written earlier is on the device. Each "
            "record carries a pattern of its offset and of the pass, and is compared afterwards."
        )
    if metadata:
        sentences.append(
            "File operations: creating, looking at or removing all files of a rank is a sample; "
            "the files are empty."
        )
    return sentences


def _limits(facts: Facts) -> list[str]:
    places = dict.fromkeys(
        f"{told['directory']} ({told['filesystem']})"
        for told in facts.values()
        if told.get("directory") and told.get("filesystem")
    )
    where = f"Storage was measured in {', '.join(places)}. " if places else ""
    return [
        f"{where}What its device can do at most isn't known here; caches below this node (of the "
        "device, of a server, of a hypervisor) can't be dropped and may have answered."
    ]
