"""Traces of the noise kernels: lost time, interruptions, and the cost to synchronised codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.arrays import Floats
from assay.records.model import Measurement
from assay.records.schema import MeasurementRecord, SampleSeries
from assay.stats.noise.spectrum import Spectrum, spectrum

FWQ, FTQ, BARRIER = "noise.fwq", "noise.ftq", "noise.barrier"
TRACED = (FWQ, FTQ)

# A loss is an interruption if it exceeds the usual loss by this number of deviations. The jitter of
# an undisturbed core practically never does, even if it is one-sided, so that low quantiles are
# close together (five true deviations of a normal distribution folded at its median).
_DEVIATIONS = 20.0
# Quantiles from which the usual loss and its deviation are estimated: low ones, because on a busy
# machine half of the quanta are interrupted; and the normal scores of these quantiles.
_LOW, _QUARTER = 0.05, 0.25
_LOW_SCORE, _QUARTER_SCORE = 1.6449, 0.6745

# The beats of the strongest period with the quanta of fixed work stay below this share of it.
_BEATS = 0.25
# Clock resolution in seconds where the record lacks it.
_CLOCK_RESOLUTION = 1e-9
# Tolerance in intervals, so that rounding doesn't drop a complete last interval.
_WHOLE = 1e-9


@dataclass(frozen=True)
class TraceSegment:
    """One sample's trace, one entry per quantum (FWQ) or interval (FTQ), s."""

    #: Time at which the sample began, from the start of its launch, s.
    at: float
    #: Starts of the quanta or intervals, from the start of the first one, s.
    starts: Floats
    #: Lengths of the quanta or intervals, s.
    spans: Floats
    #: Time lost: above the time of the fastest quantum (FWQ), or relative to the fullest interval
    #: (FTQ), of the rank in this launch.
    lost: Floats


@dataclass(frozen=True)
class NoiseTrace:
    """One rank's segments over all launches of a cell."""

    kernel: str
    rank: int
    host: str | None
    cpu: int | None
    #: Length of the quantum or interval, s.
    step: float
    #: Resolution of a loss, s (FTQ's piece of work, or the clock's resolution).
    grain: float
    segments: tuple[TraceSegment, ...]

    @property
    def lost(self) -> Floats:
        """Seconds lost in each quantum, one segment after another."""
        return np.concatenate([segment.lost for segment in self.segments])

    @property
    def duration(self) -> float:
        """Seconds traced."""
        return float(sum(segment.spans.sum() for segment in self.segments))

    @property
    def share(self) -> float:
        """Share of the time that is lost."""
        return float(self.lost.sum()) / self.duration


@dataclass(frozen=True)
class Detours:
    """The interruptions of a trace: start in the segment, length (s), and index of the segment."""

    starts: Floats
    lengths: Floats
    segments: tuple[int, ...]
    #: Loss beyond the usual loss from which a quantum counts as interrupted, s.
    floor: float
    duration: float

    @property
    def rate(self) -> float:
        """Interruptions per second."""
        return self.lengths.size / self.duration

    @property
    def share(self) -> float:
        """Share of the time that they take."""
        return float(self.lengths.sum()) / self.duration


def traces(measurements: Iterable[Measurement]) -> list[NoiseTrace]:
    """The traces of one cell's measurements, one per traced rank."""
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
    traces = []
    for rank in sorted(found):
        host, cpu = seats.get(rank, (None, None))
        traces.append(
            NoiseTrace(
                kernel=kernel,
                rank=rank,
                host=host,
                cpu=cpu,
                step=step,
                grain=grain,
                segments=tuple(found[rank]),
            )
        )
    return traces


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
    """The seconds lost in even intervals of ``step`` s; a quantum's loss is spread over its span.

    For fixed work, whose quanta start at uneven times; an incomplete last interval is left out.
    """
    ends = segment.starts + segment.spans
    count = int(ends[-1] / step + _WHOLE)
    times = np.concatenate([[0.0], ends])
    lost = np.concatenate([[0.0], np.cumsum(segment.lost)])
    return np.diff(np.interp(step * np.arange(count + 1), times, lost))


def trace_spectrum(trace: NoiseTrace) -> Spectrum | None:
    """The spectrum of a rank's lost time; None where the traces are too short for one.

    Fixed work shows only in which quantum time was lost, so a period in time beats with the quanta:
    periods that are weak relative to the strongest are left out.
    """
    if trace.kernel == FTQ:
        return spectrum([segment.lost for segment in trace.segments], trace.step)
    # A trace with more lost time is longer; spectrum() cuts all to the shortest.
    seen = spectrum([even(segment, trace.step) for segment in trace.segments], trace.step)
    if seen is None or not seen.periodic:
        return seen
    least = _BEATS * seen.periodic[0].share
    return replace(seen, periodic=tuple(c for c in seen.periodic if c.share >= least))


def detours(trace: NoiseTrace) -> Detours:
    """The interruptions of a trace.

    In fixed time, interruptions of successive intervals count as one. In fixed work, an
    interruption ends with its quantum, and several interruptions within a quantum can't be
    distinguished from one.
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
    """The expected maximum of ``ranks`` independent draws from these equally likely values.

    Exact: the i-th smallest of n is the greatest with probability (i/n)^ranks - ((i-1)/n)^ranks.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    edges = (np.arange(ordered.size + 1) / ordered.size) ** ranks
    return float(np.sum(ordered * np.diff(edges)))


@dataclass(frozen=True)
class Slowdown:
    """The cost of noise to a code that synchronises ``ranks`` ranks after every ``step`` s of
    work.
    """

    #: Work between two synchronisations, s.
    step: float
    #: Number of ranks that are synchronised.
    ranks: int
    #: Mean loss of a rank in a step, relative to the step.
    alone: float
    #: Mean of the greatest loss of all ranks, which all ranks wait for, relative to the step.
    together: float
    #: Number of steps taken from the traces.
    steps: int


def slowdown(all_traces: Sequence[NoiseTrace], step: float, ranks: int) -> Slowdown | None:
    """The cost of noise to a bulk-synchronous code (Petrini et al. 2003; Hoefler et al. 2010).

    The work of a step is ``step`` s without noise; the losses of steps are taken from the traces,
    and ranks are assumed to be independent. None if the traces have too few steps for the maximum
    over ``ranks`` ranks.
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
