"""The gate that every answer passes: impossible numbers are findings, and no verdict uses them.

A number is impossible if it exceeds a physical limit or counts more CPUs than the machine has. A
result is also impossible below 1% of another result of the same processor, beyond the arithmetic of
any processor, or beside a collective of the same ranks. Then the number or the limit is wrong.
Since it is unknown which one, the answer is computed again without the number and gets low
confidence. If only the limit is doubtful, the value stays in the answer without its share.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

import msgspec

from assay.kernels import known_kernel
from assay.kernels.naming import cell_name, placement_text
from assay.questions.common.answer import Answer, Bound, Confidence, Evidence, ImpossibleValue
from assay.questions.common.selection import Point, covariate, quantity_text
from assay.records.model import RunData
from assay.reference.microarchitectures import microarchitectures
from assay.stats.core.model import CellSummary, MetricSummary
from assay.system.model import Processor, System
from assay.units import Interval, counted, format_share

# A share is impossible if its whole interval is above this value: 1, plus 2% for the error of the
# limit. The clock rate in a computed peak has an error of 1 to 2%. A limit measured in the same run
# may have been disturbed, so shares up to 2 are allowed.
MOST: dict[Bound, float] = {"measured": 2.0, "reported": 1.02, "computed": 1.02, "attained": 1.02}
# Above this share an error of the clock rate can't explain the value, so the value is doubtful.
DOUBTFUL = 2.0
# A value has collapsed below this share of its limit or of the result on fewer cores.
LEAST = 0.01
# A kernel's data are impossible above this multiple of a node's memory: the need is an upper bound.
_MOST_OF_MEMORY = 1.1
# Families of kernels whose results on one node depend only on its processor and memory.
_OF_PROCESSOR = ("compute.", "memory.", "linpack", "hpcg", "npb.")

_WHY: dict[Bound, str] = {
    "measured": "One of the two measurements was disturbed, most likely the limit's: measure "
    "again when the node is quiet.",
    "reported": "Either the reported speed is wrong, as virtual adapters' often are, or the data "
    "took a different path: check which adapter was used and its speed (`ethtool`), or select the "
    "adapter (`--adapter`).",
    "computed": "Either the limit is wrong (another clock rate or other units than assumed), or "
    "the time is: check the clock rate (`assay doctor`) and measure again.",
    "attained": "Either the limit is wrong (another clock rate or other units than assumed), or "
    "the time is: check the clock rate (`assay doctor`) and measure again.",
}
_COLLAPSED = (
    "No undisturbed run is this slow: other processes or too many threads occupied the cores, or "
    "the library is not built for this processor. Check what else runs (`assay doctor`) and "
    "measure again when the node is quiet."
)

# Units of rates that no machine exceeds. A benchmark's operations (op/s) need not be arithmetic, so
# only flops are compared with a core's pipes.
_FLOPS, _OPERATIONS = "flop/s", ("flop/s", "op/s")
# Another clock can explain a rate up to twice its limit; it stays in the answer (``gate``).
# Stated clocks can be a constant that a hypervisor sets, or the base clock: turbo clocks are below
# twice of these. If none is known: no processor runs at 10 GHz (the record, cooled with helium, is
# 9.1 GHz).
_TWICE, _MOST_HZ = 2.0, 1e10
# No machine reaches this rate, flop/s: the fastest in the TOP500 of 2025 has 1.8e18, and 1.7e19 in
# mixed precision.
MOST_FLOPS = 1e20
# In these operations something of each rank comes to each other rank, so they take at least as long
# as the fastest message one way. In shared memory they can do without the matching of messages,
# which takes less than this factor.
_FASTER = 10.0
# An operation without data still sends a word, in bytes.
_WORD = 8
_ONE_WAY, _COLLECTIVE = "network.pingpong", "network.collective"
# Operations in which each rank needs something of each other rank.
_ALL_TO_ALL = ("allreduce", "allgather", "alltoall", "barrier")


def is_possible(share: float, interval: Interval | None, bound: Bound) -> bool:
    """Whether this share of a limit is possible: its interval reaches down to ``MOST``."""
    return bound not in MOST or (interval[0] if interval else share) <= MOST[bound]


def impossible_rows(evidence: Iterable[Evidence]) -> list[tuple[Evidence, ImpossibleValue]]:
    """The rows with an impossible share of their limit, and the finding on each."""
    found = []
    for row in evidence:
        if row.limit is None or row.share is None:
            continue
        if not is_possible(row.share, row.share_ci95, row.bound):
            found.append((row, _finding("above", row, _WHY[row.bound])))
        elif row.bound == "attained" and (row.share_ci95 or (0.0, row.share))[1] < LEAST:
            found.append((row, _finding("collapsed", row, _COLLAPSED)))
    return found


def _finding(kind: str, row: Evidence, why: str) -> ImpossibleValue:
    assert row.limit is not None
    limit = quantity_text(row.limit, row.unit)
    source = f", {row.limit_source}" if row.limit_source else ""
    return msgspec.convert(
        {
            "kind": kind,
            "label": row.label,
            "value": row.value,
            "unit": row.unit,
            "bound": row.limit,
            "cells": row.cells,
            "sentence": f"This number is impossible: {row.label}: "
            f"{quantity_text(row.value, row.unit, row.ci95)} is {format_share(row.share)} of its "
            f"limit ({limit}{source}). {why}",
        },
        ImpossibleValue,
    )


def collapses(cells: Sequence[CellSummary]) -> dict[str, ImpossibleValue]:
    """By cell id, the results on one node that are 100 times worse than on as many cores or fewer.

    Both results have the same parameters and toolchain. Only kernels that depend only on processor
    and memory are compared: a network or a device can slow a result by a factor of 100.
    """
    alike: dict[str, list[Point]] = {}
    for cell in cells:
        kernel = known_kernel(cell.kernel)
        if kernel is None or cell.status != "ok" or cell.verified is False:
            continue
        wanted = cell.kernel.startswith(_OF_PROCESSOR) and cell.cell.placement.nodes == 1
        if wanted and kernel.headline in cell.metrics:
            given = sorted((name, str(value)) for name, value in cell.cell.parameters.items())
            key = f"{cell.kernel}/{given}/{cell.cell.toolchain}"
            alike.setdefault(key, []).append(Point(cell, cell.metrics[kernel.headline]))
    found = {}
    for points in alike.values():
        for point in points:
            peers = [other for other in points if other.cores <= point.cores]
            best = max(peers, key=_goodness)
            if _goodness(point) < LEAST * best.metric.median ** _sign(best):
                found[point.summary.id] = _collapse(point, best)
    return found


def _sign(point: Point) -> int:
    return 1 if point.metric.better == "more" else -1


def _goodness(point: Point) -> float:
    """The rate, or the inverse of a cost, at the better end of the interval."""
    metric = point.metric
    ends = metric.ci95 or (metric.median, metric.median)
    value = ends[1] if metric.better == "more" else ends[0]
    return value if metric.better == "more" else 1.0 / value if value > 0.0 else float("inf")


def _collapse(point: Point, best: Point) -> ImpossibleValue:
    metric, peer = point.metric, best.metric
    times = (peer.median / metric.median) ** _sign(point)
    elsewhere = placement_text(best.summary.cell.placement)
    return _impossible(
        "collapsed",
        [point.summary, best.summary],
        f"{_text(metric)} is {times:,.0f} times worse than with {elsewhere} in this run "
        f"({quantity_text(peer.median, peer.unit)}). {_COLLAPSED}",
        value=metric.median,
        unit=metric.unit,
        bound=peer.median,
    )


def _impossible(
    kind: Literal["above", "collapsed"],
    cells: Sequence[CellSummary],
    why: str,
    *,
    value: float,
    unit: str,
    bound: float,
) -> ImpossibleValue:
    """The finding that a value of the first cell is impossible; ``why``: the rest of its sentence.

    ``bound``: what the value contradicts, in ``unit``, the limit or the value of the second cell.
    """
    cell = cells[0].cell
    label = f"{cell_name(cell)}, {placement_text(cell.placement)}"
    return ImpossibleValue(
        kind=kind,
        label=label,
        value=value,
        unit=unit,
        bound=bound,
        cells=[each.id for each in cells],
        sentence=f"This number is impossible: {label}: {why}",
    )


def _text(metric: MetricSummary) -> str:
    return quantity_text(metric.median, metric.unit, metric.ci95)


def beyond_arithmetic(run: RunData, cells: Sequence[CellSummary]) -> dict[str, ImpossibleValue]:
    """By cell id, the arithmetic rates that the cores in use can't reach at any peak."""
    system = System.known(run.manifest.system)
    processor = Processor() if system is None else system.processor
    width, of_what = _widest(processor)
    found = {}
    for cell in cells:
        headline, kernel = _usable_headline(cell), known_kernel(cell.kernel)
        on_devices = kernel is not None and kernel.min_devices > 0
        if headline is None or headline.unit != _FLOPS or on_devices:
            continue
        cores = Point(cell, headline).cores
        clock, source = _clock(run, cell, processor)
        limit = cores * width * clock
        value = headline.ci95[0] if headline.ci95 else headline.median
        if value > limit:
            found[cell.id] = _above(
                cell,
                headline,
                limit,
                f"{counted(cores, 'core')} × {width} operations per cycle ({of_what}) × "
                f"{quantity_text(clock, 'Hz')} ({source})",
            )
    return found


def beyond_memory(run: RunData, cells: Sequence[CellSummary]) -> dict[str, ImpossibleValue]:
    """By cell id, the results whose data don't fit in the memory of a node.

    The system of an imported run is unknown.
    """
    system = System.known(run.manifest.system)
    total = None if system is None else system.memory.total
    if not total or run.manifest.imported:
        return {}
    found = {}
    for cell in cells:
        need = None if _usable_headline(cell) is None else _memory_of(cell)
        if need is not None and need > _MOST_OF_MEMORY * total:
            found[cell.id] = _too_large(cell, need, float(total))
    return found


def _memory_of(cell: CellSummary) -> float | None:
    """Bytes per node that a kernel needs with its resolved parameters; None if unknown."""
    kernel, placement = known_kernel(cell.kernel), cell.cell.placement
    if kernel is None or kernel.memory is None:
        return None
    given = {each.name: each.default for each in kernel.parameters} | cell.parameters
    try:
        return kernel.memory(given, placement.ranks, placement.threads) * placement.ppn
    except (KeyError, TypeError, ValueError):
        return None


def _too_large(cell: CellSummary, need: float, total: float) -> ImpossibleValue:
    return _impossible(
        "above",
        [cell],
        f"its data of {quantity_text(need, 'B')} per node exceed the node's memory "
        f"({quantity_text(total, 'B')}). Either a parameter or the memory is wrong: check both "
        "(`assay doctor`), and measure again.",
        value=need,
        unit="B",
        bound=total,
    )


def beyond_machines(cells: Iterable[CellSummary]) -> list[ImpossibleValue]:
    """The arithmetic rates that no machine reaches, of results whose machine is unknown."""
    return [
        _above(cell, metric, MOST_FLOPS, "more than any machine")
        for cell in cells
        for metric in cell.metrics.values()
        if metric.unit in _OPERATIONS and metric.median > MOST_FLOPS
    ]


def slower_than_collectives(cells: Sequence[CellSummary]) -> dict[str, ImpossibleValue]:
    """By cell id, the latencies of messages that a collective over the same ranks contradicts.

    A message of no more bytes takes more than ten times as long as the whole operation: one of the
    two was disturbed.
    """
    points = {
        kernel: [
            Point(cell, metric)
            for cell in cells
            if cell.kernel == kernel and (metric := _usable_headline(cell)) is not None
        ]
        for kernel in (_ONE_WAY, _COLLECTIVE)
    }
    found = {}
    for message in points[_ONE_WAY]:
        wholes = [
            each
            for each in points[_COLLECTIVE]
            if each.summary.cell.placement == message.summary.cell.placement
            and each.parameter("op") in _ALL_TO_ALL
            and _bytes(message) <= max(_bytes(each), _WORD)
        ]
        fastest = min(wholes, key=lambda each: _end(each, 1), default=None)
        if fastest is not None and _end(message, 0) > _FASTER * _end(fastest, 1):
            found[message.summary.id] = _contradicted(message, fastest)
    return found


def _bytes(point: Point) -> int:
    value = point.parameter("bytes")
    return value if isinstance(value, int) else 0


def _end(point: Point, end: int) -> float:
    metric = point.metric
    return metric.median if metric.ci95 is None else metric.ci95[end]


def _contradicted(message: Point, whole: Point) -> ImpossibleValue:
    metric, other = message.metric, whole.metric
    return _impossible(
        "collapsed",
        [message.summary, whole.summary],
        f"{_text(metric)} is {metric.median / other.median:,.0f} times as long as "
        f"{cell_name(whole.summary.cell)} over the same ranks ({_text(other)}), which contains "
        "such messages. One of the two was disturbed: measure again when the nodes are quiet.",
        value=metric.median,
        unit=metric.unit,
        bound=other.median,
    )


def _usable_headline(cell: CellSummary) -> MetricSummary | None:
    kernel = known_kernel(cell.kernel)
    if kernel is None or cell.status != "ok" or cell.verified is False:
        return None
    return cell.metrics.get(kernel.headline)


def _widest(processor: Processor) -> tuple[int, str]:
    """The most operations per cycle of a core with two fused multiply-adds, and of which cores.

    The widest vector of the processor's family, or of any family if it is unknown. Some cores have
    four narrow pipes: the larger number counts.
    """
    entries = microarchitectures()
    family = [
        each
        for each in entries
        if each.vendor == processor.vendor and each.family == processor.family
    ]
    most = max(max(each.pipes, 2) * each.pipe_bits // 64 * 2 for each in family or entries)
    return most, "the widest of its family" if family else "the widest of any family known"


def _clock(run: RunData, cell: CellSummary, processor: Processor) -> tuple[float, str]:
    measured = covariate(run, [cell.id], "clock_rate")
    if measured is not None and measured > 0.0:
        return _TWICE * measured, "twice the clock measured while it ran"
    frequency = processor.frequency
    known = [each for each in (frequency.maximum, frequency.base, frequency.current) if each]
    if known:
        return _TWICE * max(known), "twice the stated clock"
    return _MOST_HZ, "more than any processor's clock"


def _above(cell: CellSummary, metric: MetricSummary, limit: float, source: str) -> ImpossibleValue:
    return _impossible(
        "above",
        [cell],
        f"{_text(metric)} is above {quantity_text(limit, metric.unit)} ({source}). Either the time "
        "or the number of operations is wrong: check the output of the program, and measure again.",
        value=metric.median,
        unit=metric.unit,
        bound=limit,
    )


def discredited(rows: Sequence[tuple[Evidence, ImpossibleValue]]) -> list[str]:
    """The ids of the cells whose values, not only their shares, are doubtful."""
    return [
        row.cells[0]
        for row, finding in rows
        if row.cells
        and row.share is not None
        and (finding.kind == "collapsed" or row.bound in ("computed", "attained"))
        and (finding.kind == "collapsed" or row.share > DOUBTFUL)
    ]


def alike(cells: Iterable[CellSummary], ids: Collection[str]) -> set[str]:
    """The ids of all cells of the same kernel, placement and toolchain as these.

    An impossible value discredits the other values of its sweep, since the next best one would
    replace it.
    """
    cells = list(cells)
    wanted = {
        (cell.kernel, cell.cell.placement, cell.cell.toolchain) for cell in cells if cell.id in ids
    }
    return {
        cell.id
        for cell in cells
        if (cell.kernel, cell.cell.placement, cell.cell.toolchain) in wanted
    }


def without_shares(answer: Answer) -> Answer:
    """The answer without impossible shares; the values stay in the evidence."""
    bad = {id(row) for row, _ in impossible_rows(answer.evidence)}
    evidence = [
        dataclasses.replace(
            row,
            share=None,
            share_ci95=None,
            note="; ".join(filter(None, [row.note, "exceeds its limit, which is impossible"])),
        )
        if id(row) in bad
        else row
        for row in answer.evidence
    ]
    return dataclasses.replace(answer, evidence=evidence)


def gated(answer: Answer, found: Sequence[ImpossibleValue]) -> Answer:
    """The answer with its impossible numbers as caveats and findings, and with low confidence."""
    if not found:
        return answer
    count = counted(len(found), "number")
    verb, it = ("is", "it") if len(found) == 1 else ("are", "them")
    why = f"{count} {verb} impossible; no conclusion is based on {it}."
    confidence: Confidence | None = "low"
    verdict = answer.verdict
    if answer.status == "unmeasured":
        confidence, verdict = (
            None,
            f"Not answered: {count} {verb} impossible, and there is no other.",
        )
    return dataclasses.replace(
        answer,
        verdict=verdict,
        confidence=confidence,
        confidence_why=" ".join(filter(None, [why, answer.confidence_why])),
        caveats=[*(each.sentence for each in found), *answer.caveats],
        impossible=list(found),
    )
