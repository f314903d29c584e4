"""Data of the figures of one rank's noise trace: losses over time, spectrum, interruptions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.stats.noise.detours import NoiseTrace, detours
from assay.stats.noise.spectrum import PeriodicComponent, Spectrum

# Maximum number of points of a line; more aren't legible at the width of the text.
_MAX_POINTS = 1200
_BINS_PER_DECADE = 5
_NAMED = 4


@dataclass(frozen=True)
class SpectrumLine:
    """One line of a spectrum."""

    #: Frequency of the line, Hz.
    frequency: float
    #: Power relative to the local floor.
    power: float
    #: Power above which a line is significant, relative to the local floor.
    threshold: float
    #: Periodic component whose strongest line this is; None for other lines.
    component: PeriodicComponent | None


@dataclass(frozen=True)
class DrawnSpectrum:
    """A spectrum, thinned for drawing."""

    #: Strongest line of each range of frequencies.
    lines: tuple[SpectrumLine, ...]
    #: Components with a label.
    named: tuple[PeriodicComponent, ...]


@dataclass(frozen=True)
class InterruptionBin:
    """The interruptions within a range of lengths."""

    #: Minimum length of the interruptions, s.
    low: float
    #: Maximum length of the interruptions, s.
    high: float
    #: Number of interruptions per second.
    rate: float
    #: Number of interruptions.
    count: int


@dataclass(frozen=True)
class InterruptionHistogram:
    """Interruptions by length."""

    #: Non-empty bins, of equal width on a logarithmic axis.
    bins: tuple[InterruptionBin, ...]
    #: Number of all interruptions.
    count: int
    #: Longest interruption, s.
    longest: float
    #: Minimum loss of an interrupted quantum beyond the usual loss, s.
    floor: float
    #: Traced time, s.
    duration: float


@dataclass(frozen=True)
class DrawnTrace:
    """One rank's trace."""

    #: Name of the rank.
    where: str
    #: Quantum or interval of the rank, s.
    step: float
    #: Pairs of the time since the start of the trace and the time lost in the quantum, s; the
    #: greatest loss of each drawn interval.
    losses: tuple[tuple[float, float], ...]
    #: Spectrum of the losses; None without a spectrum.
    spectrum: DrawnSpectrum | None
    #: Histogram of interruptions; None without interruptions.
    interruptions: InterruptionHistogram | None


def seat(trace: NoiseTrace) -> str:
    """``rank 1 (CPU 1)``."""
    place = f" (CPU {trace.cpu})" if trace.cpu is not None else ""
    return f"rank {trace.rank}{place}"


def drawn_trace(trace: NoiseTrace, seen: Spectrum | None) -> DrawnTrace:
    """A trace and its spectrum, thinned for drawing."""
    segment = trace.segments[0]
    times, lost = _thinned(segment.starts, segment.lost)
    return DrawnTrace(
        where=seat(trace),
        step=trace.step,
        losses=tuple(zip(times.tolist(), lost.tolist(), strict=True)),
        spectrum=None if seen is None else _drawn_spectrum(seen),
        interruptions=_interruptions(trace),
    )


def _thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """At most ``_MAX_POINTS`` points: the greatest value of each interval, which keeps the
    peaks.
    """
    if x.size <= _MAX_POINTS:
        return x, y
    edges = np.linspace(0, x.size, _MAX_POINTS + 1).astype(int)[:-1]
    peaks = [
        int(low + np.argmax(y[low:high]))
        for low, high in zip(edges, [*edges[1:], x.size], strict=True)
    ]
    return x[peaks], y[peaks]


def _drawn_spectrum(seen: Spectrum) -> DrawnSpectrum:
    frequencies, power = _thinned(seen.frequencies, seen.power)
    threshold = np.interp(frequencies, seen.frequencies, seen.threshold)
    named = seen.periodic[:_NAMED]
    components: dict[int, PeriodicComponent] = {}
    for periodic in named:
        strongest = _strongest_line(seen, periodic.frequency)
        components[int(np.argmin(np.abs(frequencies - strongest)))] = periodic
    return DrawnSpectrum(
        tuple(
            SpectrumLine(float(f), float(p), float(t), components.get(place))
            for place, (f, p, t) in enumerate(zip(frequencies, power, threshold, strict=True))
        ),
        tuple(named),
    )


def _strongest_line(seen: Spectrum, frequency: float) -> float:
    """The frequency of the component's strongest harmonic, which gets the label."""
    lines = np.arange(frequency, seen.frequencies[-1], frequency)
    places = np.clip(np.searchsorted(seen.frequencies, lines), 0, seen.power.size - 1)
    return float(lines[np.argmax(seen.power[places])])


def _interruptions(trace: NoiseTrace) -> InterruptionHistogram | None:
    found = detours(trace)
    lengths = found.lengths[found.lengths > 0.0]
    if lengths.size == 0:
        return None
    low = math.floor(_BINS_PER_DECADE * math.log10(float(lengths.min())))
    high = math.floor(_BINS_PER_DECADE * math.log10(float(lengths.max()))) + 1
    edges = 10.0 ** (np.arange(low, high + 1) / _BINS_PER_DECADE)
    counts, _ = np.histogram(lengths, edges)
    return InterruptionHistogram(
        bins=tuple(
            InterruptionBin(
                float(edges[i]), float(edges[i + 1]), float(count) / found.duration, int(count)
            )
            for i, count in enumerate(counts)
            if count
        ),
        count=int(lengths.size),
        longest=float(lengths.max()),
        floor=found.floor,
        duration=found.duration,
    )
