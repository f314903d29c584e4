"""The answer on storage: device, page cache, small records, many ranks, operations on files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from assay.kernels.naming import cell_name, level_name, metric_name
from assay.questions.common.parts import Part
from assay.questions.common.ratios import Ratio, range_text, ratio_row
from assay.questions.common.selection import (
    ARRIVED,
    Point,
    evidence,
    labeller,
    quantity_text,
)
from assay.questions.speed.storage.findings import (
    METADATA,
    ParallelAccess,
    StorageFacts,
    StorageFindings,
    number,
)
from assay.questions.speed.storage.sharing import operation_name, way_of, way_text
from assay.units import counted, format_share, format_size

# Least ratio of the fastest layout and interface to the slowest at which the fastest is
# recommended.
MUCH_SLOWER = 1.1


Label = Callable[[Point], str]


def part(found: StorageFindings) -> Part | None:
    """The part on storage; None if only candidates of a placement search measured it."""
    if not found.measured:
        return None
    label = labeller(found.measured)
    part = Part(headline=list(found.headline), remark=_remark(found))
    _files(part, found, label)
    for op, parallel in found.parallel.items():
        _parallel(part, found, op, parallel, label)
    for (op, layout), top in found.metadata.items():
        name = level_name("storage.metadata", "layout", layout)
        title = f"Files: {op}, {counted(top.cores, 'rank')}, {name}"
        part.evidence.append(evidence(title, top, "rate", note=label(top)))
    _caveats(part, found)
    part.method = _method(found.measured)
    part.limits = [_limits(found.facts.values())]
    return part


def _remark(found: StorageFindings) -> str:
    """The clause on the device's bandwidth of writing and reading, or else on the best result."""
    sustained = [f"{op}s {_quantity(point)}" for op, point in found.device.items()]
    if not sustained:
        (top,) = found.headline
        sustained = [f"does {cell_name(top.summary.cell)} at {_quantity(top)}"]
    return f"storage {' and '.join(sustained)}"


def _quantity(point: Point) -> str:
    return quantity_text(point.metric.median, point.metric.unit, point.metric.ci95)


def _files(part: Part, found: StorageFindings, label: Label) -> None:
    for one in found.operations:
        arrival = (
            f"{ARRIVED:.0%} of its best with records of {format_size(float(one.arrival))}"
            if one.arrival is not None
            else ""
        )
        note = _joined(label(one.point), arrival, _cache_note(found.facts_of(one.point)))
        part.evidence.append(evidence(_title(one.point), one.point, "bandwidth", note=note))
    for ratio in found.page_cache.values():
        part.evidence.append(
            ratio_row(
                f"{operation_name(ratio.above).capitalize()}, buffered over direct, "
                f"records of {_record(ratio.above)}",
                ratio,
                note=_page_cache_note(ratio, len(found.page_cache)),
                above_first=True,
            )
        )
    for small in found.small_records:
        title = _title(small.rate)
        note = _joined(label(small.rate), _cache_note(found.facts_of(small.rate)))
        part.evidence.append(evidence(title, small.rate, "rate", note=note))
        part.evidence += [
            evidence(f"{title}: {metric_name(metric)}", point, metric, note=note)
            for metric, point in small.latencies.items()
        ]


def _page_cache_note(ratio: Ratio, comparisons: int) -> str:
    """What the ratio of buffered to direct access shows."""
    compared = ratio.compared(comparisons=comparisons)
    return compared.word(
        "gain from the page cache and its read-ahead",
        "buffered access is slower",
        f"not distinguishable from direct access ({range_text(compared, ratio.ci95)})",
    )


def _title(point: Point) -> str:
    operation = operation_name(point).capitalize()
    return f"{operation}, {point.parameter('method')}, records of {_record(point)}"


def _record(point: Point) -> str:
    return format_size(float(number(point, "record")))


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _cache_note(facts: StorageFacts) -> str:
    return f"the page cache served {format_share(facts.cached)}" if facts.cached else ""


def _parallel(
    part: Part, found: StorageFindings, op: str, parallel: ParallelAccess, label: Label
) -> None:
    """Evidence on each layout and interface on the most ranks, and on its growth with ranks."""
    ranks = counted(parallel.ranks, "rank")
    for way, point in parallel.ways.items():
        note = _joined(label(point), _cache_note(found.facts_of(point)))
        title = f"Parallel {op}, {ranks}, {way_text(*way)}"
        part.evidence.append(evidence(title, point, "bandwidth", note=note))
    for way, speedup in parallel.speedups.items():
        few, most = speedup.below.cores, speedup.above.cores
        part.evidence.append(
            ratio_row(
                f"Parallel {op}, {few} → {most} ranks, {way_text(*way)}",
                speedup,
                metric="speedup",
                note="total bandwidth of all ranks; 1 if more ranks have the same in total",
            )
        )
    spread = parallel.spread
    if spread and spread.compared(equal=MUCH_SLOWER, comparisons=2).direction == "more":
        part.advice.append(
            f"With {ranks}, {op} with {way_of(spread.above)}: {spread.value:.2f} times the "
            f"bandwidth of {way_of(spread.below)}."
        )


def _caveats(part: Part, found: StorageFindings) -> None:
    """Caveats on cells that the page cache or memory served instead of a device."""
    if found.in_memory:
        part.caveats.append(
            f"The files of {counted(len(found.in_memory), 'cell')} were in a file system in memory "
            f"(tmpfs), not on a device ({cell_name(found.in_memory[0].summary.cell)}"
            f"{', …' if len(found.in_memory) > 1 else ''})."
        )
    if found.cached:
        worst = max(found.cached, key=lambda point: found.facts_of(point).cached)
        part.caveats.append(
            f"In {counted(len(found.cached), 'storage cell')} the page cache served instead of "
            f"the device, up to {format_share(found.facts_of(worst).cached)} of the bytes "
            f"({cell_name(worst.summary.cell)}): these cells show the bandwidth of memory, as "
            "long as the data fit into it."
        )


def _method(measured: Sequence[Point]) -> list[str]:
    kernels = {point.summary.kernel for point in measured}
    sentences = []
    if kernels - {METADATA}:
        sentences.append(
            "Storage: each pass over a file is a sample, timed on the slowest rank, without "
            "opening and closing. Before a read the file is dropped from the page cache; before "
            "a reread it is kept. Before a write all earlier data are written to the device. "
            "Each record holds a pattern derived from its offset and the pass, and is checked "
            "afterwards."
        )
    if METADATA in kernels:
        sentences.append(
            "File operations: a sample creates, examines (stat) or removes all files of a rank; "
            "the files are empty."
        )
    return sentences


def _limits(facts: Iterable[StorageFacts]) -> str:
    places = dict.fromkeys(
        f"{each.directory} ({each.filesystem})"
        for each in facts
        if each.directory and each.filesystem
    )
    where = f"Storage was measured in {', '.join(places)}. " if places else ""
    return (
        f"{where}The limit of the device is unknown; caches outside this node (of the device, a "
        "server, a hypervisor) can't be dropped and may have served data."
    )
