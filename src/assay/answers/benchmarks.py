"""The NAS Parallel Benchmarks: the official Mop/s, per core, and how they scale, and why."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.bandwidth import KERNEL as STREAM
from assay.answers.model import Evidence
from assay.answers.scaling import (
    Chip,
    Curve,
    Efficiency,
    begins_to_fit,
    chip_of,
    communication,
    curves,
    data_per_process,
    in_cache,
    phase_shares,
    superlinear,
)
from assay.answers.select import (
    Growth,
    Part,
    Point,
    best_by,
    evidence,
    labeller,
    leading,
    on_any_memory,
    placement_text,
    points,
    quantity_text,
    rivals,
    speedup,
)
from assay.kernels.npb import KERNELS
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.units import counted, format_memory, format_share

TITLES = {kernel.name: kernel.name.removeprefix("npb.").upper() for kernel in KERNELS}
# Parallel efficiency below which the loss is worth a word.
POOR_EFFICIENCY = 0.75
# Of the lost time, the part that communication must have taken to be what limits.
_MAIN_PART = 0.5
_CACHE_EFFECT = "Edmundsson et al. (2004), 5.5; Luecke, Li & Cuma (2005), 4.1"
# What each of them strains beside the cores (Bailey et al., RNR-94-007, and the NPB 2 report).
_STRAINS = {
    "npb.ep": "hardly touches memory or network, so its scaling shows what sharing the chip costs",
    "npb.cg": "gathers from memory at random",
    "npb.mg": "streams through memory on grids of every size, with neighbours near and far",
    "npb.ft": "transposes its whole array between all ranks",
    "npb.is": "moves all its keys between all ranks",
    "npb.lu": "passes many small messages along a wavefront, in which ranks wait for each other",
    "npb.bt": "solves along lines through all ranks, with the most arithmetic to each message",
    "npb.sp": "solves along lines through all ranks, with less arithmetic to each message",
}


def benchmarks_part(cells: Sequence[CellSummary], run: RunData) -> Part | None:
    """The part of the NPB; None if no usable cell measured any.

    The limit of a parallel run is perfect scaling: the rate on the fewest cores measured times the
    ratio of the core counts. The share of it is the parallel efficiency.
    """
    part = Part()
    chip = chip_of(run)
    measured = []
    for kernel, title in TITLES.items():
        found = points(cells, kernel, "rate")
        # The largest class leads: the smallest may fit in cache.
        for number, curve in enumerate(curves(cells, kernel)):
            leads = number == 0
            of_size = [point for point in found if point.parameter("class") == curve.size]
            row = _add(part, curve, of_size, chip, leads=leads)
            if leads:
                measured.append(title)
                part.headline.append(curve.points[curve.most])
            if leads and row is not None:
                part.growth.append(Growth(curve.few, curve.most, title, row.value))
                _judge(part, curve, row, cells, chip)
    if not part.evidence:
        return None
    *others, last = measured
    listed_titles = f"{', '.join(others)} and {last}" if others else last
    part.method = [
        f"NPB {listed_titles} (Bailey et al., RNR-94-007): the timed part of the benchmark, "
        "verified against the official values; the rate counts the official operations."
    ]
    strains = [f"{TITLES[name]} {words}" for name, words in _STRAINS.items() if name in TITLES]
    told = [words for words in strains if words.split()[0] in measured]
    part.limits.append(f"What the NPB strain beside the cores: {'; '.join(told)}.")
    return part


def _add(
    part: Part, curve: Curve, found: Sequence[Point], chip: Chip, *, leads: bool
) -> Evidence | None:
    """The evidence of one benchmark and class; returns the row of its parallel efficiency.

    Of a class that doesn't lead only the ends of its curve are told; the figures show it whole.
    """
    title = f"{TITLES[curve.kernel]} class {curve.size}"
    label = labeller(found)
    counts = list(curve.points) if leads else [curve.few, curve.most]
    shown = [curve.points[count] for count in dict.fromkeys(reversed(counts))]
    others, against = _threaded(curve, found), rivals(found)
    for point in [*shown, *others, *against]:
        each = quantity_text(point.metric.median / point.cores, "op/s")
        note = label(point) + ("" if point.cores == 1 else f"; {each} per core")
        where = counted(point.cores, "core")
        if point in others:  # beside as many processes
            where = placement_text(point.summary.cell.placement)
        if against:
            where += f", {point.summary.cell.toolchain}"
        part.evidence.append(evidence(f"{title}, {where}", point, "rate", note=note))
    if curve.few == curve.most:
        return None
    beyond = superlinear(curve)
    best = max(beyond, key=lambda found: found.value, default=None)
    row = None
    for count in dict.fromkeys([curve.most, *([best.count] if best else [])]):
        above = any(found.count == count for found in beyond)
        note = "parallel efficiency" + (", superlinear" if above else "")
        made = speedup(title, curve.points, curve.few, count, note=note)
        part.evidence.append(made)
        row = row or made
    if best is not None:
        part.limits.append(_cache_effect(curve, best, beyond, chip))
    return row


def _threaded(curve: Curve, found: Sequence[Point]) -> list[Point]:
    """The best with several threads a rank on the most cores, beside a curve over processes."""
    others = [p for p in leading(found) if p.summary.cell.placement.threads > 1]
    if not curve.processes or not others:
        return []
    by_cores = best_by(others, lambda point: point.cores)
    return [by_cores[max(by_cores)]]


def _of(curve: Curve, count: int) -> str:
    """``8 processes``, or cores where threads kept some of them busy."""
    return counted(count, "process" if curve.processes else "core")


def _cache_effect(curve: Curve, best: Efficiency, beyond: Sequence[Efficiency], chip: Chip) -> str:
    """The sentence on a speedup above perfect scaling, and on whether caches account for it."""
    name = f"{TITLES[curve.kernel]} class {curve.size}"
    each = "process" if curve.processes else "core"
    where = _of(curve, best.count)
    others = sum(1 for found in beyond if found.count != best.count)
    also = f", and is above it on {counted(others, 'other count')}" if others else ""
    told = (
        f"{name} is superlinear: on {where} each {each} reaches "
        f"{format_share(best.value, best.interval)} of its rate on {_of(curve, curve.few)}{also}. "
    )
    fit = begins_to_fit(curve, chip, best.count)
    if fit is not None:
        return told + (
            f"From {_of(curve, fit.count)} on, the {format_memory(fit.data)} of a process fit into "
            f"its share of the L{fit.level} caches ({format_memory(fit.share)}), so that fewer "
            f"loads go to memory: the cache effect of {_CACHE_EFFECT}."
        )
    if data_per_process(curve.points[best.count]) is None or not chip.caches or not chip.cores:
        return told + (
            "This is how data that begin to fit into the caches of more cores show "
            f"({_CACHE_EFFECT}); how much each process holds against its caches is not known here."
        )
    return told + (
        "Its data pass the size of no cache on the way, by what a process allocates: a part that "
        f"is used most may ({_CACHE_EFFECT}), or the rate on {_of(curve, curve.few)} was held down."
    )


def _judge(
    part: Part, curve: Curve, row: Evidence, cells: Sequence[CellSummary], chip: Chip
) -> None:
    if row.share is None or row.share >= POOR_EFFICIENCY:
        return
    title, where = TITLES[curve.kernel], counted(curve.most, "core")
    reason, what_to_do = _limit(curve, row.share, cells, chip)
    keeps = f"{title} class {curve.size} keeps {format_share(row.share, row.share_ci95)} of"
    if reason:
        part.limits.append(f"{keeps} perfect scaling on {_of(curve, curve.most)}: {reason}.")
    if row.value < 1:
        part.advice.append(
            f"{title} is slower on {where} than on fewer: ranks shared "
            "cores with each other or with other work, or waited for each other most of the time."
        )
        return
    share = format_share(row.share, row.share_ci95)
    if curve.kernel == "npb.ep":
        part.advice.append(
            f"EP keeps only {share} of perfect scaling on {where} though it shares almost nothing: "
            "look for ranks on two hardware threads of one core, a clock that falls under load, "
            "steal time, or a container's CPU quota."
        )
        return
    part.advice.append(f"{title} keeps only {share} of perfect scaling on {where}: {what_to_do}")


def _limit(
    curve: Curve, efficiency: float, cells: Sequence[CellSummary], chip: Chip
) -> tuple[str, str]:
    """What takes the time that is lost on the most cores, and what to do; "" where that is not
    known.

    Communication, if its share of the time beyond what it had on the fewest accounts for half of
    the loss or more; else memory, if STREAM does not grow either and the data are not in cache.
    """
    most, few = curve.points[curve.most], curve.points[curve.few]
    shares = phase_shares(most.summary)
    before = communication(phase_shares(few.summary)) * efficiency
    share = communication(shares)
    if shares and share - before >= _MAIN_PART * (1 - efficiency):
        kinds = {name: part for name, part in shares.items() if name != "compute"}
        largest = max(kinds, key=lambda name: kinds[name])
        return (
            f"communication takes {format_share(share)} of the time, waiting for others included "
            f"(most of it {largest}, {format_share(kinds[largest])})",
            "its ranks wait for messages and for each other. A larger problem, or threads in the "
            "place of ranks, communicates less for each operation.",
        )
    bandwidth = _stream_growth(cells, curve)
    if bandwidth is not None and not in_cache(most, chip):
        count, growth = bandwidth
        told = f", communication only {format_share(share)} of the time" if shares else ""
        return (
            f"memory bandwidth saturates: STREAM on {counted(count, 'core')} has {growth:.2f} "
            f"times that of {counted(curve.few, 'core')}{told}",
            "its cores wait for memory. Spread such codes over more nodes before filling one.",
        )
    if shares:
        return (
            f"communication takes only {format_share(share)} of the time; computing itself is "
            "slower on each core",
            "computing is slower on each core when all are busy. Look for a clock that falls under "
            "load, hardware threads that share a core, and memory bandwidth (`assay run memory`).",
        )
    return (
        "",
        "its ranks wait for memory or for each other; STREAM beside it (`assay run memory`) would "
        "tell the two apart.",
    )


def _stream_growth(cells: Sequence[CellSummary], curve: Curve) -> tuple[int, float] | None:
    """On how many cores STREAM has how many times its bandwidth on the curve's fewest, where that
    is as poor as the curve's own; None where STREAM grows, or wasn't measured there.
    """
    found = on_any_memory(points(cells, STREAM, "bandwidth"))
    triad = [p for p in found if p.parameter("op") == "triad"]
    if not triad:
        return None
    by_cores = best_by(leading(triad), lambda point: point.cores)
    most = max((count for count in by_cores if count <= curve.most), default=0)
    if most <= curve.few or curve.few not in by_cores:
        return None
    growth = by_cores[most].metric.median / by_cores[curve.few].metric.median
    return (most, growth) if growth / (most / curve.few) < POOR_EFFICIENCY else None
