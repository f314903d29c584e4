"""Memory beyond streams: strides and random places alone and all at once, and each level's latency.

Luecke, Li & Cuma (2005), section 4.2: if a node's memory carries all of its processors, an access
takes no longer on all of them than on one, so the ratio of the two times is 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.hierarchy import KERNEL as LATENCY
from assay.answers.hierarchy import (
    MEMORY,
    Plateau,
    alone,
    latencies,
    levels,
    plateaus,
    working_set,
)
from assay.answers.model import Evidence
from assay.answers.numa import numa_evidence
from assay.answers.select import (
    Part,
    Point,
    best,
    evidence,
    labeller,
    leading,
    on_any_memory,
    points,
    quantity_text,
    ratio,
)
from assay.kernels.memory import MODES, STRIDED_WORDS
from assay.records.model import RunData
from assay.reference.memory_access import (
    RANDOM_RATIOS,
    SOURCE,
    STRIDED_RATIOS,
    SharedMemoryRatio,
)
from assay.stats.model import CellSummary, MetricSummary
from assay.units import counted, format_quantity, format_size

STRIDED = "memory.strided"
RANDOM = "memory.random"
KERNELS = (STRIDED, RANDOM, LATENCY)
# From this ratio on, filling a node costs what Luecke, Li & Cuma call poor.
POOR = 1.5
# Up to here the memory carries all cores: their Opteron's "nearly perfect".
PERFECT = 1.05
# What small pages must add for advice.
WORTH_HUGE_PAGES = 1.2
# A cache that ends below this part of its size is shared with somebody, or not all ours.
SHORT = 0.5

Pair = tuple[Point, Point]


def memory_access_part(cells: Sequence[CellSummary], run: RunData) -> Part | None:
    """This part of the answer; None if no usable cell measured any of it."""
    part = Part()
    strided = strided_pairs(cells)
    found = plateaus(alone(cells), levels(run))
    _latency(part, cells, found)
    if strided:
        _strided(part, strided)
        _judge_sharing(part, strided)
    _random(part, cells)
    _small_pages(part, cells)
    near_and_far = numa_evidence(cells)
    part.evidence += near_and_far
    if near_and_far and not part.remark:
        part.remark = "memory of the own NUMA node was set against that of others"
    return part if part.evidence else None


def strided_pairs(cells: Sequence[CellSummary]) -> dict[str, dict[int, Pair]]:
    """By operation and ascending stride: the access times on one core and on all."""
    found = on_any_memory(points(cells, STRIDED, "access"))
    return {
        op: pairs
        for op in STRIDED_WORDS
        if (pairs := _pairs([p for p in found if p.parameter("op") == op], "stride"))
    }


def random_pairs(cells: Sequence[CellSummary], metric: str) -> dict[str, Pair]:
    """By mode: a metric on one core and on all, with the pages that do best there."""
    found = on_any_memory(points(cells, RANDOM, metric))
    pairs = {}
    for mode in MODES:
        of_mode = [p for p in found if p.parameter("mode") == mode]
        if of_mode:
            pages = best(leading(of_mode)).parameter("pages")
            pair = _pair([p for p in of_mode if p.parameter("pages") == pages])
            if pair:
                pairs[mode] = pair
    return pairs


def _pairs(found: Sequence[Point], parameter: str) -> dict[int, Pair]:
    values = sorted({int(point.parameter(parameter) or 0) for point in found})
    made = {value: _pair([p for p in found if p.parameter(parameter) == value]) for value in values}
    return {value: pair for value, pair in made.items() if pair}


def _pair(found: Sequence[Point]) -> Pair | None:
    """One core's point and that of the most cores of the same toolchain; None without both."""
    if not found:
        return None
    lead = leading(found)
    most = max(point.cores for point in lead)
    one = [point for point in lead if point.cores == 1]
    return (best(one), best([p for p in lead if p.cores == most])) if one and most > 1 else None


def _latency(part: Part, cells: Sequence[CellSummary], found: Sequence[Plateau]) -> None:
    for plateau in found:
        size = plateau.level.size
        what = MEMORY if size is None else f"{plateau.level.name} cache of {format_size(size)}"
        part.evidence.append(
            evidence(
                f"Latency of a load, {what}",
                plateau.point,
                "latency",
                note=f"working set of {format_size(working_set(plateau.point))}; sets of "
                f"{format_size(plateau.first)} to {format_size(plateau.last)} answer like it",
            )
        )
        if size is not None and found[-1] is not plateau and 0 < plateau.last < SHORT * size:
            part.caveats.append(
                f"The {plateau.level.name} cache of {format_size(size)} answers for working sets "
                f"of up to {format_size(plateau.last)} only: it is shared with other cores or "
                "other guests of this hardware, or a part of it isn't ours."
            )
    if not found:
        return
    part.method.append(
        "Latency: dependent loads, one pointer a cache line, along a random cycle through the "
        "working set, so that neither prefetch nor overlap hides them; a level's number is that of "
        "the set in the middle between its size and the size of the level before."
    )
    last = found[-1]
    if last.level.name == MEMORY:
        part.headline.append(last.point)
        part.remark = (
            f"a load from main memory takes {format_quantity(last.point.metric.median, 's')}"
        )
        _loaded(part, cells, last.point)


def _loaded(part: Part, cells: Sequence[CellSummary], idle: Point) -> None:
    """The same while all cores do it."""
    alike = [
        point
        for point in latencies(cells, pages=str(idle.parameter("pages")))
        if point.cores > 1 and working_set(point) == working_set(idle)
    ]
    if alike:
        busy = max(alike, key=lambda point: point.cores)
        part.evidence.append(
            _ratio_row(
                f"Latency from main memory, {counted(busy.cores, 'core')} at once over 1",
                (idle, busy),
                f"{format_quantity(busy.metric.median, 's')} a load",
            )
        )


def _strided(part: Part, strided: dict[str, dict[int, Pair]]) -> None:
    for op, pairs in strided.items():
        worst = max(pairs, key=lambda stride: ratio(*_metrics(pairs[stride]))[0])
        note = f"at stride {worst}"
        if len(pairs) > 1:
            note += f", the worst of {min(pairs)} to {max(pairs)}"
        part.evidence.append(
            _ratio_row(
                f"Strided {op}, {counted(pairs[worst][1].cores, 'core')} over 1",
                pairs[worst],
                f"{note}; {_published(STRIDED_RATIOS[op])}",
            )
        )
    part.method.append(
        "Strided access: one pass over every stride-th element of long arrays by every rank at "
        "once, after the caches were flushed and a barrier; the slowest rank's time, as time per "
        "access; the ratio sets all cores against one. 1 is a memory that carries them all."
    )


def _random(part: Part, cells: Sequence[CellSummary]) -> None:
    times = random_pairs(cells, "access")
    rates = on_any_memory(points(cells, RANDOM, "rate"))
    label = labeller(rates)
    for mode in MODES:
        of_mode = [point for point in rates if point.parameter("mode") == mode]
        if not of_mode:
            continue
        top = best(leading(of_mode))
        note = label(top)
        if mode == "update":
            note += f"; {top.metric.median / 1e9:.3g} GUPS, a table for each rank"
            part.headline.append(top)
        if not part.remark:
            part.remark = (
                f"random {mode}s run at {quantity_text(top.metric.median, 'op/s')} on "
                f"{counted(top.cores, 'core')}"
            )
        part.evidence.append(
            evidence(f"Random {mode}s, {counted(top.cores, 'core')}", top, "rate", note=note)
        )
        if mode in times:
            published = RANDOM_RATIOS.get(mode)
            part.evidence.append(
                _ratio_row(
                    f"Random {mode}s, time on {counted(times[mode][1].cores, 'core')} over 1",
                    times[mode],
                    _published(published) if published else "",
                )
            )
    if rates:
        part.method.append(
            "Random access: in a table many times larger than the caches, each rank its own; reads "
            "and writes through an index array, updates as RandomAccess of HPC Challenge defines "
            "them."
        )


def _small_pages(part: Part, cells: Sequence[CellSummary]) -> None:
    """What small pages cost where both kinds were measured: updates on the most cores, loads."""
    found = on_any_memory(points(cells, RANDOM, "access"))
    updates = [point for point in found if point.parameter("mode") == "update"]
    compared = [
        ("Random update", _by_pages(updates)),
        ("Latency of a load", _by_pages(latencies(cells, ranks=1))),
    ]
    worst = 1.0
    for what, pair in compared:
        if pair is None:
            continue
        row = _ratio_row(f"{what}, small pages over huge", pair, counted(pair[1].cores, "core"))
        part.evidence.append(row)
        worst = max(worst, row.value)
    if worst >= WORTH_HUGE_PAGES:
        part.advice.append(
            f"On small pages random access takes up to {worst:.2f} times as long: let codes that "
            "work on large data use huge pages (transparent huge pages by `madvise` or `always`, "
            "or a library such as libhugetlbfs)."
        )


def _by_pages(found: Sequence[Point]) -> Pair | None:
    """(huge, small) on the most cores, and there of the largest size, that have both."""
    kinds: dict[tuple[int, int, str], dict[str, Point]] = {}
    for point in found:
        size = working_set(point) or int(point.parameter("elements") or 0)
        key = (point.cores, size, point.summary.cell.toolchain)
        kinds.setdefault(key, {})[str(point.parameter("pages"))] = point
    both = [key for key, kind in kinds.items() if {"huge", "small"} <= kind.keys()]
    if not both:
        return None
    kind = kinds[max(both)]
    return kind["huge"], kind["small"]


def _judge_sharing(part: Part, strided: dict[str, dict[int, Pair]]) -> None:
    by_ratio = {
        ratio(*_metrics(pair))[0]: pair for pairs in strided.values() for pair in pairs.values()
    }
    ratios = list(by_ratio)
    worst = by_ratio[max(ratios)]
    cores = worst[1].cores
    part.headline += worst
    if not part.remark:
        part.remark = (
            f"on {cores} cores at once a strided access takes up to {max(ratios):.2f} times as "
            "long as on 1"
        )
    if max(ratios) >= POOR:
        part.advice.append(
            f"With all {cores} cores at work an access to memory takes up to {max(ratios):.2f} "
            "times as long as with one: codes bound by memory may run faster with fewer ranks a "
            "node on more nodes, as on the Xeons of Luecke, Li & Cuma (2005)."
        )
    elif max(ratios) <= PERFECT:
        part.advice.append(
            f"Memory carries all {cores} cores at once (at worst {max(ratios):.2f} times the time "
            "of one): fill the nodes, as on the Opterons of Luecke, Li & Cuma (2005)."
        )


def _metrics(pair: Pair) -> tuple[MetricSummary, MetricSummary]:
    """For ``ratio``: the second over the first."""
    return pair[1].metric, pair[0].metric


def _ratio_row(label: str, pair: Pair, note: str) -> Evidence:
    """The second point's cost over the first's."""
    value, interval = ratio(pair[1].metric, pair[0].metric)
    return Evidence(
        label=label,
        metric="ratio",
        unit="",
        value=value,
        ci95=interval,
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=[pair[0].summary.id, pair[1].summary.id],
        note=note,
    )


def _published(found: Sequence[SharedMemoryRatio]) -> str:
    return f"with 2 processors in 2005: {', '.join(map(str, found))} ({SOURCE})"
