"""The mean periodogram of several traces over its noise floor, and thresholds for lines."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats

# Minimum number of periods in a trace: a longer period can't be distinguished from drift.
LEAST_CYCLES = 8
# Zero padding: frequencies per resolved frequency, to sample a line near its peak.
PADDING = 8
# Numbers of neighbouring frequencies whose median is the floor: fewer at the lowest frequencies,
# where noise often rises steeply.
_NEIGHBOURS = (16, 32, 64, 128)
# Hann's window correlates neighbouring frequencies: this number of them equals one independent one
# (the correlations of power are 4/9 and 1/36 at distances of one and two).
_CORRELATED = 1.0 + 2.0 * (4.0 / 9.0 + 1.0 / 36.0)
# Standard deviations over the usual level at which the second view clips the losses.
_CUT = 10.0


@dataclass
class View:
    """The segments' mean periodogram in one view."""

    table: Floats  # the segments, not clipped
    fine: Floats  # power at all frequencies, including the padded ones
    power: Floats  # power over its floor, at the searched frequencies
    mean_floor: Floats  # at the searched frequencies, in the unit of ``fine``
    #: Value at which losses were clipped, or inf.
    cut: float


class Layout:
    """The searched frequencies, and the neighbours that determine the floor of each."""

    def __init__(
        self, length: int, step: float, bins: npt.NDArray[np.int64], segments: int
    ) -> None:
        self.length, self.step, self.bins, self.segments = length, step, bins, segments
        wanted = np.full(bins.size, _NEIGHBOURS[0])
        for many in _NEIGHBOURS[1:]:
            if 2 * many < bins.size:
                wanted[bins >= many] = many
        self.groups = [(int(many), np.flatnonzero(wanted == many)) for many in np.unique(wanted)]

    def floor(self, power: Floats) -> Floats:
        """The median of each one's neighbours, without itself and the two adjacent ones."""
        floor = np.empty(power.size)
        for many, members in self.groups:
            half = many // 2
            offsets = np.concatenate([np.arange(-half - 1, -1), np.arange(2, half + 2)])
            places = members[:, None] + offsets[None, :]
            # At an end of the spectrum missing neighbours are replaced by ones on the other side.
            low, high = places < 0, places >= power.size
            places = np.where(low, members[:, None] + half + 1 - places, places)
            places = np.where(high, members[:, None] - half - 2 - (places - power.size), places)
            floor[members] = np.median(power[np.clip(places, 0, power.size - 1)], axis=1)
        return floor


def cutting(table: Floats) -> float:
    """Where the second view clips losses (s): ten deviations above the median."""
    usual = float(np.median(table))
    deviation = 1.4826 * float(np.median(np.abs(table - usual)))
    if deviation == 0.0:  # a coarse count: most values are equal
        deviation = float(np.abs(table - usual).mean()) / _CUT
    return usual + _CUT * deviation


def view_of(table: Floats, cut: float, layout: Layout) -> View:
    """The mean periodogram of the rows of ``table`` (s lost in each interval), clipped at ``cut``.

    Under Hann's window (Harris 1978), scaled so that a sine's line is its amplitude / 2 squared.
    """
    values = _detrended(np.minimum(table, cut))
    window = _hann(layout.length)
    fine = np.abs(np.fft.rfft(values * window, PADDING * layout.length, axis=1)) ** 2
    fine = fine.mean(axis=0) / window.sum() ** 2
    power = fine[PADDING * layout.bins]
    trend = _trend(fine[::PADDING], layout.bins)
    floor = np.maximum(trend * layout.floor(power / trend), np.finfo(np.float64).tiny)
    mean_floor = floor * layout.segments / _gamma_median(layout.segments)
    return View(table, fine, power / floor, mean_floor, cut)


def _trend(power: Floats, bins: npt.NDArray[np.int64]) -> Floats:
    """The rise of power towards low frequencies, which a median of neighbours underestimates.

    The median of each octave, at least the median of the next higher octave, interpolated linearly
    on logarithmic axes; bins from 256 on count as one octave. Only the slope matters.
    """
    edges = [1, 2, 4, 8, 16, 32, 64, 128, 256, power.size]
    edges = [edge for edge in edges if edge < power.size] + [power.size]
    # Constant counts have no power.
    tiny = np.finfo(np.float64).tiny * 2.0**60
    pairs = list(itertools.pairwise(edges))
    medians = np.array([float(np.median(power[low:high])) for low, high in pairs])
    medians = np.maximum.accumulate(np.maximum(medians, tiny)[::-1])[::-1]
    centres = np.array([math.sqrt(low * (high - 1)) for low, high in pairs])
    centres[-1] = pairs[-1][0]
    return np.asarray(np.exp(np.interp(np.log(bins), np.log(centres), np.log(medians))))


def _detrended(table: Floats) -> Floats:
    """Each row minus its least-squares line, so that drift doesn't contribute to the spectrum."""
    time = np.arange(table.shape[1]) - (table.shape[1] - 1) / 2.0
    slopes = table @ time / float(time @ time)
    return np.asarray(table - table.mean(axis=1, keepdims=True) - slopes[:, None] * time)


def _hann(length: int) -> Floats:
    return np.asarray(0.5 - 0.5 * np.cos(2.0 * np.pi * (np.arange(length) + 0.5) / length))


@lru_cache(maxsize=64)
def _gamma_median(shape: int) -> float:
    from scipy.special import gammaincinv

    return float(gammaincinv(shape, 0.5))


def chance(ratio: float, segments: int, independent: float) -> float:
    """P(power of white noise >= ratio times the median of ``independent`` neighbours).

    Averaged over K segments the power is Gamma(K); the median of m independent ones is at its
    quantile u ~ Beta((m + 1) / 2, (m + 1) / 2), and the probability is averaged over u.
    """
    from scipy.special import betaln, gammaincc, gammaincinv

    half = (independent + 1.0) / 2.0
    logit = np.linspace(-25.0, 25.0, 501)
    u = 1.0 / (1.0 + np.exp(-logit))
    # Density of u times du / dlogit.
    density = np.exp(half * (np.log(u) - np.logaddexp(0.0, logit)) - betaln(half, half))
    tail = gammaincc(segments, ratio * gammaincinv(segments, u))
    return float(np.sum(density * tail) * (logit[1] - logit[0]))


@lru_cache(maxsize=256)
def line_over_floor(segments: int, neighbours: int, wanted: float) -> float:
    """The ratio to the median of its neighbours that white noise exceeds with probability
    ``wanted``.
    """
    low, high = 1.0, 1e12
    for _ in range(45):
        midpoint = float(np.sqrt(low * high))
        if chance(midpoint, segments, neighbours / _CORRELATED) > wanted:
            low = midpoint
        else:
            high = midpoint
    return high


def nearest(layout: Layout, bins: Floats) -> npt.NDArray[np.int64]:
    """The index of the nearest searched frequency."""
    nearest = np.round(bins).astype(np.int64) - layout.bins[0]
    return np.asarray(np.clip(nearest, 0, layout.bins.size - 1))


def whitened(view: View, layout: Layout, bins: Floats) -> Floats:
    """Power over mean floor at fractional bins."""
    places = np.round(PADDING * bins).astype(np.int64)
    return np.asarray(view.fine[places] / view.mean_floor[nearest(layout, bins)])
