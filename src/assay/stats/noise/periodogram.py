"""The mean periodogram of several traces over its floor, and what noise alone would exceed."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from assay.stats.core.intervals import Floats

# A period must fit so often into a trace: below, drift can't be told from it.
LEAST_CYCLES = 8
# Frequencies between those that the trace tells apart: to hit a line's middle.
PADDING = 8
# Neighbouring frequencies whose median is the floor, at most, and at least at the lowest ones,
# where noise often rises steeply.
_NEIGHBOURS = (16, 32, 64, 128)
# Hann's window ties neighbouring frequencies: so many are worth one independent one (the
# correlations of power are 4/9 and 1/36 at distances of one and two).
_TIED = 1.0 + 2.0 * (4.0 / 9.0 + 1.0 / 36.0)
# Standard deviations over the usual level at which the second view cuts the losses off.
_CUT = 10.0


@dataclass
class View:
    """The segments' mean periodogram in one view. ``cut``: where losses were cut off, or inf."""

    table: Floats  # the segments, not cut off
    fine: Floats  # power at all frequencies, the padded ones too
    power: Floats  # power over its floor, at the frequencies looked at
    mean_floor: Floats  # of the same, in the unit of ``fine``
    cut: float


class Layout:
    """The frequencies looked at, and which neighbours make the floor of each."""

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
        """The median of the neighbours of each, itself and those beside it left out."""
        floor = np.empty(power.size)
        for many, members in self.groups:
            half = many // 2
            offsets = np.concatenate([np.arange(-half - 1, -1), np.arange(2, half + 2)])
            places = members[:, None] + offsets[None, :]
            # What an end of the spectrum cuts off is taken further on at the other side.
            low, high = places < 0, places >= power.size
            places = np.where(low, members[:, None] + half + 1 - places, places)
            places = np.where(high, members[:, None] - half - 2 - (places - power.size), places)
            floor[members] = np.median(power[np.clip(places, 0, power.size - 1)], axis=1)
        return floor


def cutting(table: Floats) -> float:
    """Where the second view cuts losses (s) off: ten deviations over the usual."""
    middle = float(np.median(table))
    deviation = 1.4826 * float(np.median(np.abs(table - middle)))
    if deviation == 0.0:  # a coarse count: most values are the same
        deviation = float(np.abs(table - middle).mean()) / _CUT
    return middle + _CUT * deviation


def view_of(table: Floats, cut: float, layout: Layout) -> View:
    """The mean periodogram of the rows of ``table`` (s lost in each interval), cut off at ``cut``.

    Under Hann's window (Harris 1978), scaled so that a sine's line is its amplitude / 2 squared.
    """
    values = _straightened(np.minimum(table, cut))
    window = _hann(layout.length)
    fine = np.abs(np.fft.rfft(values * window, PADDING * layout.length, axis=1)) ** 2
    fine = fine.mean(axis=0) / window.sum() ** 2
    power = fine[PADDING * layout.bins]
    trend = _trend(fine[::PADDING], layout.bins)
    floor = np.maximum(trend * layout.floor(power / trend), np.finfo(np.float64).tiny)
    mean_floor = floor * layout.segments / _gamma_median(layout.segments)
    return View(table, fine, power / floor, mean_floor, cut)


def _trend(power: Floats, bins: npt.NDArray[np.int64]) -> Floats:
    """How power rises towards low frequencies, so steeply that a median of neighbours lags behind.

    The median of each octave, and never less than that of the next higher one, joined by straight
    lines on logarithmic axes; the tenth octave and those above it count as one. Only its slope
    matters.
    """
    edges = [1, 2, 4, 8, 16, 32, 64, 128, 256, power.size]
    edges = [edge for edge in edges if edge < power.size] + [power.size]
    # Counts that never differ have no power at all.
    tiny = np.finfo(np.float64).tiny * 2.0**60
    pairs = list(itertools.pairwise(edges))
    medians = np.array([float(np.median(power[low:high])) for low, high in pairs])
    medians = np.maximum.accumulate(np.maximum(medians, tiny)[::-1])[::-1]
    middles = np.array([math.sqrt(low * (high - 1)) for low, high in pairs])
    middles[-1] = pairs[-1][0]
    return np.asarray(np.exp(np.interp(np.log(bins), np.log(middles), np.log(medians))))


def _straightened(table: Floats) -> Floats:
    """Each row less its least-squares line, so that drift has no part in the spectrum."""
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
    """P(power of white noise >= ratio times the median of so many independent neighbours).

    Averaged over K segments the power is Gamma(K); the median of m independent ones lies at the
    quantile u ~ Beta((m + 1) / 2, (m + 1) / 2) of that: the chance is its mean over u.
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
    """The ratio to the median of its neighbours that white noise exceeds with this chance."""
    low, high = 1.0, 1e12
    for _ in range(45):
        middle = float(np.sqrt(low * high))
        if chance(middle, segments, neighbours / _TIED) > wanted:
            low = middle
        else:
            high = middle
    return high


def nearest(layout: Layout, bins: Floats) -> npt.NDArray[np.int64]:
    """The index of the nearest frequency looked at."""
    nearest = np.round(bins).astype(np.int64) - layout.bins[0]
    return np.asarray(np.clip(nearest, 0, layout.bins.size - 1))


def whitened(view: View, layout: Layout, bins: Floats) -> Floats:
    """Power over mean floor at fractional bins."""
    places = np.round(PADDING * bins).astype(np.int64)
    return np.asarray(view.fine[places] / view.mean_floor[nearest(layout, bins)])
