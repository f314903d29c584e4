"""Limits that hold where no peak is known: arithmetic of any processor, and messages of one run.

These numbers are impossible, whatever else is known (docs/methods/speed.md, "What every answer
passes").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.kernels import known_kernel
from assay.kernels.naming import cell_name, placement_text
from assay.questions.common.answer import ImpossibleValue
from assay.questions.common.selection import Point, covariate, quantity_text
from assay.records.model import RunData
from assay.reference.microarchitectures import microarchitectures
from assay.stats.core.model import CellSummary, MetricSummary
from assay.system.model import Processor, System
from assay.units import counted

# Units of arithmetic rates.
_ARITHMETIC = ("flop/s", "op/s")
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


def beyond_arithmetic(run: RunData, cells: Sequence[CellSummary]) -> dict[str, ImpossibleValue]:
    """By cell id, the arithmetic rates that the cores in use can't reach at any peak."""
    system = System.known(run.manifest.system)
    processor = Processor() if system is None else system.processor
    width, of_what = _widest(processor)
    found = {}
    for cell in cells:
        headline = _headline(cell)
        if headline is None or headline.unit not in _ARITHMETIC:
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


def beyond_machines(cells: Iterable[CellSummary]) -> list[ImpossibleValue]:
    """The arithmetic rates that no machine reaches, of results whose machine is unknown."""
    return [
        _above(cell, metric, MOST_FLOPS, "more than any machine")
        for cell in cells
        for metric in cell.metrics.values()
        if metric.unit in _ARITHMETIC and metric.median > MOST_FLOPS
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
            if cell.kernel == kernel and (metric := _headline(cell)) is not None
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
    label = f"{cell_name(message.summary.cell)}, {placement_text(message.summary.cell.placement)}"
    return ImpossibleValue(
        kind="collapsed",
        label=label,
        value=metric.median,
        unit=metric.unit,
        bound=other.median,
        cells=[message.summary.id, whole.summary.id],
        sentence=f"This number is impossible: {label}: "
        f"{quantity_text(metric.median, metric.unit, metric.ci95)} is "
        f"{metric.median / other.median:,.0f} times as long as "
        f"{cell_name(whole.summary.cell)} over the same ranks "
        f"({quantity_text(other.median, other.unit, other.ci95)}), which contains such messages. "
        "One of the two was disturbed: measure again when the nodes are quiet.",
    )


def _headline(cell: CellSummary) -> MetricSummary | None:
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
    label = f"{cell_name(cell.cell)}, {placement_text(cell.cell.placement)}"
    return ImpossibleValue(
        kind="above",
        label=label,
        value=metric.median,
        unit=metric.unit,
        bound=limit,
        cells=[cell.id],
        sentence=f"This number is impossible: {label}: "
        f"{quantity_text(metric.median, metric.unit, metric.ci95)} is above "
        f"{quantity_text(limit, metric.unit)} ({source}). Either the time or the number of "
        "operations is wrong: check the output of the program, and measure again.",
    )
