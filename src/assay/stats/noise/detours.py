"""What the traces of the noise kernels hold: time lost, interruption by interruption."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.records.model import Measurement
from assay.records.schema import MeasurementRecord, SampleSeries
from assay.stats.core.intervals import Floats
from assay.stats.noise.spectrum import Spectrum, spectrum

FWQ, FTQ, BARRIER = "noise.fwq", "noise.ftq", "noise.barrier"
TRACED = (FWQ, FTQ)

# An interruption is what exceeds the usual loss by so many deviations: the jitter of an undisturbed
# core practically never does, not even where it leans to one side so that low quantiles lie close
# to each other (five true deviations of a normal distribution folded at its middle).
_DEVIATIONS = 20.0
# Quantiles that the usual loss and its deviation are taken from: low ones, for on a busy machine
# half of the quanta are interrupted; and the distances of a normal distribution's from its middle.
_LOW, _QUARTER = 0.05, 0.25
_LOW_SCORE, _QUARTER_SCORE = 1.6449, 0.6745

# The beats of the greatest period with the quanta of fixed work stay below this share of it.
_BEATS = 0.25
# Seconds: the resolution of a clock whose record doesn't have it.
_CLOCK_RESOLUTION = 1e-9
# In intervals: rounding must not cut off a last one that is whole.
_WHOLE = 1e-9


@dataclass(frozen=True)
class TraceSegment:
    """One sample's trace. ``starts``, ``spans``, ``lost``: of each quantum, s from the first's.

    ``lost``: over the fastest quantum (FWQ) or short of the fullest interval (FTQ) of this launch's
    rank. ``at``: when it began in its launch.
    """

    at: float
    starts: Floats
    spans: Floats
    lost: Floats


@dataclass(frozen=True)
class Trace:
    """One rank's segments over all launches of a cell. ``step``: the quantum (FWQ) or interval.

    ``grain``: seconds below which a loss can't be told (FTQ's piece of work, the clock's step).
    """

    kernel: str
    rank: int
    host: str | None
    cpu: int | None
    step: float
    grain: float
    segments: tuple[TraceSegment, ...]

    @property
    def lost(self) -> Floats:
        """Seconds lost in each quantum, all segments after each other."""
        return np.concatenate([segment.lost for segment in self.segments])

    @property
    def duration(self) -> float:
        """Seconds traced."""
        return float(sum(segment.spans.sum() for segment in self.segments))

    @property
    def share(self) -> float:
        """Time lost over all time."""
        return float(self.lost.sum()) / self.duration


@dataclass(frozen=True)
class Detours:
    """The interruptions of a trace: when each began, in which segment, and how long it took (s).

    ``floor``: what a quantum must lose more than usual to count as interrupted.
    """

    starts: Floats
    lengths: Floats
    segments: tuple[int, ...]
    floor: float
    duration: float

    @property
    def rate(self) -> float:
        """Interruptions per second."""
        return self.lengths.size / self.duration

    @property
    def share(self) -> float:
        """Their part of the time."""
        return float(self.lengths.sum()) / self.duration


def traces(measurements: Iterable[Measurement]) -> list[Trace]:
    """The traces of one cell's measurements, a rank each; only ranks that a launch traced."""
    found: dict[int, list[TraceSegment]] = {}
    seats: dict[int, tuple[str | None, int | None]] = {}
    kernel, step, grain = "", 0.0, 0.0
    for measurement in measurements:
        record = measurement.record
        if record.kernel not in TRACED or record.status != "ok" or record.verified is False:
            continue
        kernel = record.kernel
        step = float(record.parameters["quantum" if kernel == FWQ else "interval"])
        name = "quantum" if kernel == FWQ else "pieces"
        clock = measurement.clock.resolution if measurement.clock else _CLOCK_RESOLUTION
        for series in record.series:
            if series.metric != name or series.rank is None or not series.values:
                continue
            grain = max(grain, clock)
            if kernel == FTQ:
                grain = max(grain, step / max(max(series.values), 1.0))
            found.setdefault(series.rank, []).extend(_segments(record, series, step))
            seat = next((r for r in measurement.ranks if r.rank == series.rank), None)
            if seat is not None:
                # A rank that is not pinned has no CPU of its own.
                cpu = seat.cpus[0] if seat.cpus and seat.pinned else None
                seats.setdefault(series.rank, (seat.host, cpu))
    return [
        Trace(kernel, rank, *seats.get(rank, (None, None)), step, grain, tuple(found[rank]))
        for rank in sorted(found)
    ]


def _segments(
    record: MeasurementRecord, series: SampleSeries, step: float
) -> Iterable[TraceSegment]:
    count = int(record.parameters["count"])
    values = np.asarray(series.values, dtype=np.float64)
    starts = record.series[0].starts
    for index in range(values.size // count):
        part = values[index * count : (index + 1) * count]
        if record.kernel == FWQ:
            spans, lost = part, part - values.min()
        else:
            spans, lost = np.full(count, step), step * (1.0 - part / max(values.max(), 1.0))
        begun = np.concatenate([[0.0], np.cumsum(spans)[:-1]])
        yield TraceSegment(starts[index] if index < len(starts) else 0.0, begun, spans, lost)


def even(segment: TraceSegment, step: float) -> Floats:
    """The seconds lost in even intervals of ``step`` s, what a quantum loses spread over its span.

    For fixed work, whose quanta begin unevenly; an interval cut off at the end is left out.
    """
    ends = segment.starts + segment.spans
    count = int(ends[-1] / step + _WHOLE)
    times = np.concatenate([[0.0], ends])
    lost = np.concatenate([[0.0], np.cumsum(segment.lost)])
    return np.diff(np.interp(step * np.arange(count + 1), times, lost))


def trace_spectrum(trace: Trace) -> Spectrum | None:
    """The spectrum of a rank's lost time; None where the traces are too short for one.

    Fixed work tells only in which quantum time was lost, so what is periodic in time beats with the
    quanta: of its periods those that are small beside the greatest are left out.
    """
    if trace.kernel == FTQ:
        return spectrum([segment.lost for segment in trace.segments], trace.step)
    # A trace that lost much lasted longer, and all are cut to the shortest.
    seen = spectrum([even(segment, trace.step) for segment in trace.segments], trace.step)
    if seen is None or not seen.periodic:
        return seen
    least = _BEATS * seen.periodic[0].share
    return replace(seen, periodic=tuple(c for c in seen.periodic if c.share >= least))


def detours(trace: Trace) -> Detours:
    """The interruptions of a trace.

    In fixed time one that goes on into the next interval is one; in fixed work it ends with its
    quantum, and several within a quantum can't be told from one.
    """
    lost = trace.lost
    low, quarter = (float(q) for q in np.quantile(lost, (_LOW, _QUARTER)))
    deviation = (quarter - low) / (_LOW_SCORE - _QUARTER_SCORE)
    usual = quarter + _QUARTER_SCORE * deviation
    floor = max(_DEVIATIONS * deviation, 3.0 * trace.grain)
    starts: list[float] = []
    lengths: list[float] = []
    where: list[int] = []
    for index, segment in enumerate(trace.segments):
        over = segment.lost - usual
        hit = np.flatnonzero(over > floor)
        if hit.size == 0:
            continue
        apart = np.ones(hit.size, dtype=bool)
        if trace.kernel == FTQ:
            apart[1:] = np.diff(hit) > 1
        first = np.flatnonzero(apart)
        starts.extend(segment.starts[hit[first]].tolist())
        lengths.extend(np.add.reduceat(over[hit], first).tolist())
        where.extend([index] * first.size)
    return Detours(np.array(starts), np.array(lengths), tuple(where), floor, trace.duration)


def expected_maximum(values: Sequence[float] | Floats, ranks: int) -> float:
    """The mean of the greatest of ``ranks`` independent draws from these values, all alike likely.

    Exact: the i-th smallest of n is the greatest with probability (i/n)^ranks - ((i-1)/n)^ranks.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    edges = (np.arange(ordered.size + 1) / ordered.size) ** ranks
    return float(np.sum(ordered * np.diff(edges)))


@dataclass(frozen=True)
class Slowdown:
    """What noise costs a code that synchronises ``ranks`` ranks after every ``step`` s of work.

    ``alone``: mean seconds that a rank loses in a step; ``together``: mean of the greatest loss of
    all ranks, which all wait for. Both relative to the step.

    ``steps``: how many were looked at.
    """

    step: float
    ranks: int
    alone: float
    together: float
    steps: int


def slowdown(all_traces: Sequence[Trace], step: float, ranks: int) -> Slowdown | None:
    """The cost of noise to a bulk-synchronous code (Petrini et al. 2003; Hoefler et al. 2010).

    The work of a step is ``step`` s without noise; the losses of so much work are taken from the
    traces, and ranks as independent of each other. None if there are too few steps in the traces
    for the greatest of so many ranks to be seen among them.
    """
    losses: list[Floats] = []
    for trace in all_traces:
        many = max(1, round(step / trace.step))
        for segment in trace.segments:
            whole = segment.lost.size // many
            losses.append(segment.lost[: whole * many].reshape(whole, many).sum(axis=1))
    lost = np.concatenate(losses) if losses else np.empty(0)
    if lost.size < max(10 * ranks, 50):
        return None
    return Slowdown(
        step, ranks, float(lost.mean()) / step, expected_maximum(lost, ranks) / step, lost.size
    )
