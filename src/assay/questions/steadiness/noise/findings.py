"""Findings on operating-system noise: share of time lost, periods, interruptions, cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.selection import Point, leading, points
from assay.questions.steadiness.noise.traces import DrawnTrace, drawn_trace, seat
from assay.stats.compare.directions import compared
from assay.stats.noise.detours import (
    FTQ,
    FWQ,
    NoiseTrace,
    Slowdown,
    slowdown,
    trace_spectrum,
    traces,
)
from assay.stats.noise.periodogram import LEAST_CYCLES
from assay.stats.noise.spectrum import BROAD, PeriodicComponent, Spectrum

# Time between two synchronisations of fine-grained and of coarse-grained bulk-synchronous codes, s.
STEPS = (1e-3, 10e-3)
# Share of the time above which noise deserves a recommendation.
NOISY = 0.01
# Minimum share of the time of a periodic loss; smaller losses are irrelevant even if significant.
MIN_SHARE = 1e-5
# Maximum relative difference between a frequency and an alias; number of tested harmonics.
_ALIAS_TOLERANCE, _HARMONICS = 0.01, 8


@dataclass(frozen=True)
class NoiseComponent:
    """A periodic loss on one or more ranks."""

    #: Period (s), length (s) and share of the time, on the rank with the greatest share.
    periodic: PeriodicComponent
    #: Ranks on which the loss was found.
    ranks: tuple[int, ...]
    #: Rank with the greatest share.
    where: str
    #: Id of the cell.
    cell: str


@dataclass(frozen=True)
class LongestInterruption:
    """The longest interruption in any launch."""

    #: Length of the interruption, s.
    length: float
    #: Point of the cell with the interruption.
    point: Point


@dataclass(frozen=True)
class TraceCoverage:
    """What the traces cover: their duration, and the periods that they can show."""

    #: Total duration of the traces of all ranks.
    seconds: float
    #: Shortest period that can be detected, s.
    shortest: float
    #: Longest period that can be detected, s.
    longest: float


@dataclass(frozen=True)
class NoiseFindings:
    """The noise of a run, of the cells with the most ranks.

    Internal, for the figures: ``trace``, of the rank that lost most.
    """

    #: Share of the time lost; by fixed work if it was measured.
    headline: Point
    #: Share of the time lost in all cells; fixed work first, each by ascending quantum.
    points: tuple[Point, ...]
    #: Periodic losses, the greatest share first.
    components: tuple[NoiseComponent, ...]
    #: Longest interruption; None if not recorded.
    longest: LongestInterruption | None
    #: Cost of noise for codes that synchronise at fixed steps.
    slowdowns: tuple[Slowdown, ...]
    #: Coverage of the traces; None without traces.
    coverage: TraceCoverage | None
    #: Trace of the rank that lost most.
    trace: DrawnTrace | None = field(metadata=INTERNAL)

    @property
    def noisy(self) -> bool:
        """Whether the lost share is above 1% beyond its range."""
        metric = self.headline.metric
        # One value per launch has one more degree of freedom than two groups of launches.
        found = compared(metric.median, metric.ci95, launches=metric.n + 1, equal=NOISY)
        return found.direction == "more"


@dataclass(frozen=True)
class _Seen:
    """A trace of a cell and its spectrum."""

    point: Point
    trace: NoiseTrace
    spectrum: Spectrum | None


def find(measured: Measured) -> NoiseFindings | None:
    """Find the noise of the cells with the most ranks; None without usable results."""
    found = _traced_points(measured)
    if not found:
        return None
    longest = [
        LongestInterruption(metric.max, point)
        for point, _ in found
        if (metric := point.summary.metrics.get("detour")) is not None
    ]
    headline, lead = found[0]
    ranks = headline.summary.cell.placement.ranks
    slowdowns = [slowdown(lead, step, ranks) for step in STEPS]
    spectra = _spectra(found)
    noisiest = _noisiest(spectra)
    return NoiseFindings(
        headline=headline,
        points=tuple(point for point, _ in found),
        components=tuple(_components(spectra)),
        longest=max(longest, key=lambda each: each.length) if longest else None,
        slowdowns=tuple(each for each in slowdowns if each is not None),
        coverage=_coverage([trace for _, of_cell in found for trace in of_cell]),
        trace=None if noisiest is None else drawn_trace(noisiest.trace, noisiest.spectrum),
    )


def _traced_points(measured: Measured) -> list[tuple[Point, list[NoiseTrace]]]:
    """The cells with the most ranks, and their traces, the shortest quantum first.

    Fixed work precedes fixed time, because a program does fixed work.
    """
    chosen = [
        point
        for kernel in (FWQ, FTQ)
        if (of_kernel := points(measured.cells, kernel, "noise"))
        for point in _widest(of_kernel)
    ]
    return [
        (point, traces(m for m in measured.run.measurements if m.cell.id == point.summary.id))
        for point in chosen
    ]


def step_of(point: Point) -> float:
    """The quantum or interval of a point, s."""
    value = point.parameter("quantum" if point.summary.kernel == FWQ else "interval")
    return float(value or 0.0)


def _widest(found: Sequence[Point]) -> list[Point]:
    """The points of the leading toolchain on the most cores, the shortest quantum first."""
    of_lead = leading(found)
    most = max(point.cores for point in of_lead)
    return sorted((p for p in of_lead if p.cores == most), key=step_of)


def _spectra(cells: Sequence[tuple[Point, list[NoiseTrace]]]) -> list[_Seen]:
    """The traces with their spectra, the shortest quantum first.

    If fixed time was measured, only its traces are used, because spectra need equal intervals.
    """
    even = [pair for pair in cells if pair[0].summary.kernel == FTQ and pair[1]]
    return [
        _Seen(point, trace, trace_spectrum(trace))
        for point, of_cell in sorted(even or cells, key=lambda pair: step_of(pair[0]))
        for trace in of_cell
    ]


def _noisiest(spectra: Sequence[_Seen]) -> _Seen | None:
    """The trace with the greatest share of time lost, among the traces with the shortest
    quantum.
    """
    if not spectra:
        return None
    finest = min(each.trace.step for each in spectra)
    return max(
        (each for each in spectra if each.trace.step == finest), key=lambda each: each.trace.share
    )


def _components(spectra: Sequence[_Seen]) -> list[NoiseComponent]:
    """The periods of all traces, the greatest share first; equal frequencies are merged."""
    found: list[tuple[PeriodicComponent, _Seen, float]] = []
    for seen in spectra:
        if seen.spectrum is None:
            continue
        finer = [known for known, other, _ in found if other.trace.step < seen.trace.step]
        found += [
            (periodic, seen, seen.spectrum.resolution)
            for periodic in seen.spectrum.periodic
            if periodic.share >= MIN_SHARE and not _aliased(periodic, seen.trace.step, finer)
        ]
    merged: list[NoiseComponent] = []
    left = sorted(found, key=lambda each: -each[0].share)
    while left:
        lead, strongest, resolution = left[0]
        same = [
            each
            for each in left
            if abs(each[0].frequency - lead.frequency)
            <= max(2.0 * each[2], 2.0 * resolution, BROAD * lead.frequency)
        ]
        merged.append(
            NoiseComponent(
                periodic=lead,
                ranks=tuple(sorted({each[1].trace.rank for each in same})),
                where=seat(strongest.trace),
                cell=strongest.point.summary.id,
            )
        )
        left = [each for each in left if each not in same]
    return merged


def _aliased(periodic: PeriodicComponent, step: float, known: Sequence[PeriodicComponent]) -> bool:
    """Whether a period is an alias of a period found in traces with shorter steps."""
    for fine in known:
        for order in range(1, _HARMONICS + 1):
            frequency = order * fine.frequency * step  # in cycles per step
            if frequency <= 0.5:
                continue
            alias = abs(frequency - round(frequency)) / step
            if abs(alias - periodic.frequency) <= _ALIAS_TOLERANCE * periodic.frequency:
                return True
    return False


def _coverage(all_traces: Sequence[NoiseTrace]) -> TraceCoverage | None:
    if not all_traces:
        return None
    longest = max(float(segment.spans.sum()) for trace in all_traces for segment in trace.segments)
    return TraceCoverage(
        seconds=sum(trace.duration for trace in all_traces),
        shortest=2 * min(trace.step for trace in all_traces),
        longest=longest / LEAST_CYCLES,
    )
