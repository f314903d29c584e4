"""Periodic noise: the spectrum of traces of lost time.

A daemon that takes the CPU every P seconds makes a comb of lines at 1/P and its multiples. Lines
are tested against white noise, with the rate of false alarms controlled over all frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats
from assay.stats.core.rounding import LEAST_DIVISOR
from assay.stats.noise.periodogram import (
    LEAST_CYCLES,
    PADDING,
    Layout,
    View,
    cutting,
    line_over_floor,
    nearest,
    view_of,
    whitened,
)

# Probability that a period is found in a trace of noise without any.
FALSE_ALARMS = 0.01
# Minimum number of intervals for an estimate of the noise floor.
SHORTEST = 256
# Lines whose frequencies differ by less than this share are one line that jitter has broadened.
BROAD = 0.1
_MOST_COMPONENTS = 6
_MOST_HARMONICS = 64
# Minimum height of the lines of a finer comb, relative to the lines that it shares with a coarser
# comb.
_LEVEL = 0.2
# Logarithms of probabilities closer than this differ only by rounding: the first fraction wins.
_EQUAL = 1e-9
# Below this tail of a gamma distribution, near the least double, an expansion is used.
_LEAST_TAIL = 1e-250


@dataclass(frozen=True)
class PeriodicComponent:
    """One periodic loss: ``length`` s every ``period`` s; ``share`` of the time."""

    #: Time from one loss to the next, s.
    period: float
    #: Time lost each time, s.
    length: float
    #: Share of the time that is lost.
    share: float

    @property
    def frequency(self) -> float:
        """Hz."""
        return 1.0 / self.period


@dataclass(frozen=True)
class Spectrum:
    """Power over its local floor at each frequency (Hz); lines above ``threshold`` are
    significant.
    """

    frequencies: Floats
    power: Floats
    #: Threshold of each frequency, because the floor is less certain at low frequencies.
    threshold: Floats
    #: Resolution of the traces, Hz.
    resolution: float
    segments: int
    #: Periods, the strongest first.
    periodic: tuple[PeriodicComponent, ...]


def spectrum(
    segments: Sequence[Floats], step: float, false_alarms: float = FALSE_ALARMS
) -> Spectrum | None:
    """The spectrum of seconds lost in each of evenly spaced intervals of ``step`` s.

    ``segments``: one array per trace, all of the same rank; they are cut to the shortest and their
    periodograms averaged (Bartlett 1948), so that phases needn't match between traces. None if they
    are shorter than 256 intervals. Power is compared with the median of its neighbours, which drift
    and other lines hardly change; its probability under white noise follows from the distribution
    of that median. Two views are searched, the losses and the losses clipped at ten deviations
    above the median: without the second, a few long interruptions hide many short ones. Clipping
    acts on each value separately and so leaves white noise white.
    """
    length = min((segment.size for segment in segments), default=0)
    if length < SHORTEST:
        return None
    table = np.stack([segment[:length] for segment in segments])
    count = len(segments)
    bins = np.arange(LEAST_CYCLES, (length + 1) // 2 - 2)
    layout = Layout(length, step, bins, count)
    views = [view_of(table, np.inf, layout), view_of(table, cutting(table), layout)]
    trials = len(views) * bins.size
    threshold = np.empty(bins.size)
    for many, members in layout.groups:
        threshold[members] = line_over_floor(count, many, false_alarms / trials)
    found = _search(views, layout, threshold)
    return Spectrum(
        frequencies=bins / (length * step),
        power=np.maximum(views[0].power, views[1].power),
        threshold=threshold,
        resolution=1.0 / (length * step),
        segments=count,
        periodic=tuple(found),
    )


def _search(views: list[View], layout: Layout, threshold: Floats) -> list[PeriodicComponent]:
    found: list[PeriodicComponent] = []
    open_ = np.ones(layout.bins.size, dtype=bool)
    for _ in range(4 * _MOST_COMPONENTS):
        candidate = _strongest_line(views, layout, threshold, open_)
        if candidate is None or len(found) == _MOST_COMPONENTS:
            break
        view, bins = candidate
        frequency = _fundamental(view, layout, bins)
        if not any(_overtone(frequency, known.frequency) for known in found):
            length = _length(view, layout, frequency, open_)
            if length > 0.0:
                found.append(PeriodicComponent(1.0 / frequency, length, length * frequency))
        _close(open_, view, layout, frequency, bins)
    found.sort(key=lambda each: -each.share)
    return [
        each
        for index, each in enumerate(found)
        if not any(_overtone(each.frequency, greater.frequency) for greater in found[:index])
    ]


def _strongest_line(
    views: list[View], layout: Layout, threshold: Floats, open_: npt.NDArray[np.bool_]
) -> tuple[View, float] | None:
    """The view with the line of the greatest ratio to its threshold, and its bin; None if below."""
    over = [np.where(open_, view.power / threshold, 0.0) for view in views]
    which = int(np.argmax([each.max() for each in over]))
    index = int(np.argmax(over[which]))
    if over[which][index] < 1.0:
        return None
    return views[which], float(layout.bins[index])


def _overtone(frequency: float, known: float) -> bool:
    """Whether a line belongs to a known comb whose lines jitter has broadened.

    Interruptions that come only approximately every P seconds, such as time slices, have broad
    lines: within a tenth it is the same line.
    """
    order = max(1.0, round(frequency / known))
    return abs(frequency / known - order) < min(0.25, max(BROAD, 0.03 * order))


def _close(
    open_: npt.NDArray[np.bool_], view: View, layout: Layout, frequency: float, bins: float
) -> None:
    """Exclude the comb's lines, as wide as Hann's window leaks: 1 / (pi d^3)^2 of a line.

    Multiples beyond half of the sampling frequency are aliased, attenuated by the averaging over an
    interval.
    """
    spacing = frequency * layout.length * layout.step  # in bins
    strongest = float(view.power[nearest(layout, spacing * _orders(layout, spacing))].max())
    orders = np.arange(1.0, max(64.0, 4.0 * layout.length / spacing) + 1.0)
    expected = strongest * np.sinc(orders * frequency * layout.step) ** 2
    inside = orders * spacing <= layout.bins[-1]
    known = min(_orders(layout, spacing).size, _MOST_HARMONICS)
    kept = inside | (expected > 1.0)
    for order, power in zip(orders[kept], expected[kept], strict=True):
        line = order * spacing % layout.length
        line = min(line, layout.length - line)
        # The error of the fundamental is a fraction of a bin, smaller with more known multiples;
        # the error of its n-th multiple is n times as large.
        wide = 2.0 + max(2.0 * power / np.pi**2, 0.0) ** (1.0 / 6.0)
        wide += 0.15 * order / known
        low, high = np.searchsorted(layout.bins, [line - wide, line + wide])
        open_[low:high] = False
    open_[nearest(layout, np.array([bins]))] = False


def _fundamental(view: View, layout: Layout, bins: float) -> float:
    """The frequency (Hz) of the comb that the line belongs to.

    Of the line's integer fractions, the one whose harmonic sum is least likely: the sum over n
    multiples is Gamma(nK) in white noise (the harmonic sum of pulsar searches: de Jager,
    Raubenheimer & Swanepoel 1989).
    """
    span = layout.length * layout.step
    line = _peak(view.fine, round(PADDING * bins), PADDING // 2) / PADDING
    # A weak line is known to half a bin; a step moves its highest multiple by a quarter of a bin.
    # All fractions are tried at the same places of the line, so that none is favoured.
    places = line + np.arange(-0.5, 0.5, 0.25 / _MOST_HARMONICS)
    best, choice = np.inf, float(line)
    for part in range(1, 33):
        if line / part < LEAST_CYCLES:
            break
        unlikely = _comb_evidence(view, layout, places / part, part)
        least = int(np.argmin(unlikely))
        if unlikely[least] < best - _EQUAL:
            best, choice = float(unlikely[least]), float(places[least] / part)
    return _refined(view, layout, choice) / span


def _orders(layout: Layout, bins: float) -> Floats:
    return np.arange(
        1, max(1, min(_MOST_HARMONICS, int(layout.bins[-1] / bins))) + 1, dtype=np.float64
    )


def _comb_evidence(view: View, layout: Layout, bins: Floats, part: int) -> Floats:
    """For each fundamental, the line's frequency over ``part``, the logarithm of the probability of
    its comb's power; 0 where the comb of a multiple of that fundamental has all the power.
    """
    orders = _orders(layout, float(bins.max()))
    harmonics = whitened(view, layout, bins[:, None] * orders[None, :])
    numbers = np.array([n for n in (1, 2, 4, 8, 16, 32, 64) if n <= orders.size])
    sums = np.cumsum(harmonics, axis=1)
    chances = _log_gamma_tail(
        (numbers * layout.segments).astype(np.float64), layout.segments * sums[:, numbers - 1]
    )
    for factor in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31):
        own = orders % factor == 0
        if part % factor or not own.any():
            continue
        # Short losses make lines of equal height; far lower ones have another origin.
        between = harmonics[:, ~own].mean(axis=1) - 1.0
        chances[between < _LEVEL * (harmonics[:, own].mean(axis=1) - 1.0)] = 0.0
    return np.asarray(chances.min(axis=1))


def _log_gamma_tail(shape: Floats, x: Floats) -> Floats:
    """log P(Gamma(shape) > x), also where that is too small for a double."""
    from scipy.special import gammaincc, gammaln

    tail = np.asarray(gammaincc(shape, x))
    # First term of the continued fraction (Abramowitz & Stegun 6.5.31), for x far above the shape.
    above = np.maximum(x, 2.0 * shape)
    far = (shape - 1.0) * np.log(above) - above - gammaln(shape)
    far = far - np.log1p(-(shape - 1.0) / above)
    return np.asarray(np.where(tail > _LEAST_TAIL, np.log(np.maximum(tail, _LEAST_TAIL)), far))


def _peak(fine: Floats, place: int, distance: int) -> float:
    """The position of the maximum within ``distance`` of a place, interpolated by a parabola."""
    low = max(place - distance, 1)
    top = low + int(np.argmax(fine[low : place + distance + 1]))
    if not 0 < top < fine.size - 1:
        return float(top)
    left, centre, right = fine[top - 1 : top + 2]
    bend = left - 2.0 * centre + right
    # If the searched range ends on a slope, the parabola's vertex may lie anywhere.
    return (
        float(top) if bend >= 0.0 else top + float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5))
    )


def _refined(view: View, layout: Layout, bins: float) -> float:
    """The fundamental refined by its multiples, which are known to the same number of bins.

    Doubling the order keeps the error at each step small enough to find the right multiple.
    """
    order = 2
    limit = layout.bins[-1]
    while order <= _MOST_HARMONICS and order * bins < limit:
        place = round(PADDING * order * bins)
        here = whitened(view, layout, np.array([order * bins]))[0]
        if here > 4.0:
            bins = _peak(view.fine, place, PADDING // 2) / (PADDING * order)
        order *= 2
    return bins


def _length(view: View, layout: Layout, frequency: float, open_: npt.NDArray[np.bool_]) -> float:
    """Seconds lost per period, from the comb's first lines that belong to no other comb.

    Short losses of A seconds every P seconds make lines of A / P at every multiple of 1/P. A view
    that clips them underestimates A, and one that contains far longer losses is imprecise, so the
    cut is raised until it is well above the result.
    """
    while True:
        length = _length_in(view, layout, frequency, open_)
        if length < 0.5 * view.cut:
            return length
        higher = 4.0 * view.cut
        view = view_of(view.table, higher if higher < float(view.table.max()) else np.inf, layout)


def _length_in(view: View, layout: Layout, frequency: float, open_: npt.NDArray[np.bool_]) -> float:
    bins = frequency * layout.length * layout.step
    period = 1.0 / frequency

    own = _orders(layout, bins)
    own = own[open_[nearest(layout, own * bins)]]
    if own.size == 0:
        return 0.0

    def estimate(orders: Floats) -> float:
        places = np.round(PADDING * orders * bins).astype(np.int64)
        floor = view.mean_floor[nearest(layout, orders * bins)]
        lines = np.maximum(view.fine[places] - floor, 0.0)
        # Averaging over an interval lowers lines of high frequency.
        blur = np.sinc(orders * frequency * layout.step)
        return float(np.sqrt(np.mean(lines / blur**2))) * period / layout.step

    first = estimate(own[:1])
    # Lines far below 1 / A are not attenuated by the length A of the losses.
    most = int(np.clip(0.1 * period / max(first, LEAST_DIVISOR), 1, 8))
    return estimate(own[:most])
