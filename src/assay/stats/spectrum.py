"""Which part of the noise comes periodically: the spectrum of traces of lost time.

A daemon that takes the CPU every P seconds makes a comb of lines at 1/P and its multiples. Lines
are told from chance against white noise, with the rate of false alarms held over all frequencies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from assay.stats.intervals import Floats

# Probability that a trace of noise without any period is said to have one.
FALSE_ALARMS = 0.01
# Fewer intervals hold no floor to tell a line from.
SHORTEST = 256
# Lines whose frequencies differ by less than this part are one that jitter has broadened.
BROAD = 0.1
# A period must fit so often into a trace: below, drift can't be told from it.
LEAST_CYCLES = 8
# Frequencies between those that the trace tells apart: to hit a line's middle.
_PADDING = 8
# Neighbouring frequencies whose median is the floor, at most, and at least at the lowest ones,
# where noise often rises steeply.
_NEIGHBOURS = (16, 32, 64, 128)
# Hann's window ties neighbouring frequencies: so many are worth one independent one (the
# correlations of power are 4/9 and 1/36 at distances of one and two).
_TIED = 1.0 + 2.0 * (4.0 / 9.0 + 1.0 / 36.0)
_MOST_COMPONENTS = 6
_MOST_HARMONICS = 64
# What the teeth of a comb must have of the height of those that are known to be there.
_LEVEL = 0.2
# Standard deviations over the usual level at which the second view cuts the losses off.
_CUT = 10.0


@dataclass(frozen=True)
class Periodic:
    """One periodic loss: every ``period`` s some ``length`` s, ``share`` of the time."""

    period: float
    length: float
    share: float

    @property
    def frequency(self) -> float:
        """Hz."""
        return 1.0 / self.period


@dataclass(frozen=True)
class Spectrum:
    """Power over its local floor at each frequency (Hz); lines above ``threshold`` are no chance.

    ``threshold`` is one a frequency: the floor is known less well near the ends. ``resolution``:
    Hz that the traces tell apart. ``periodic``: the strongest first.
    """

    frequencies: Floats
    power: Floats
    threshold: Floats
    resolution: float
    segments: int
    periodic: tuple[Periodic, ...]


@dataclass
class _View:
    """The segments' mean periodogram in one view. ``cut``: where losses were cut off, or inf."""

    table: Floats  # the segments, not cut off
    fine: Floats  # power at all frequencies, the padded ones too
    power: Floats  # power over its floor, at the frequencies looked at
    mean_floor: Floats  # of the same, in the unit of ``fine``
    cut: float


def spectrum(
    segments: Sequence[Floats], step: float, false_alarms: float = FALSE_ALARMS
) -> Spectrum | None:
    """The spectrum of seconds lost in each of evenly spaced intervals of ``step`` s.

    ``segments``: one array a trace, all of the same rank; they are cut to the shortest and their
    periodograms averaged (Bartlett 1948), so that no phase need fit from one to the next. None if
    they are shorter than 256 intervals. Power is told against the median of its neighbours, which
    drift and other lines hardly move; its chance under white noise follows from the distribution of
    that median. Two views are looked at, the losses as they are and those cut off at ten deviations
    over the usual: without the second, a few long interruptions hide many short ones. Whatever is
    done to each value alone leaves white noise white.
    """
    length = min((segment.size for segment in segments), default=0)
    if length < SHORTEST:
        return None
    table = np.stack([segment[:length] for segment in segments])
    count = len(segments)
    bins = np.arange(LEAST_CYCLES, (length + 1) // 2 - 2)
    layout = _Layout(length, step, bins, count)
    views = [_view(table, np.inf, layout), _view(table, _cutting(table), layout)]
    trials = len(views) * bins.size
    threshold = np.empty(bins.size)
    for many, members in layout.groups:
        threshold[members] = _line_over_floor(count, many, false_alarms / trials)
    found = _search(views, layout, threshold)
    return Spectrum(
        frequencies=bins / (length * step),
        power=np.maximum(views[0].power, views[1].power),
        threshold=threshold,
        resolution=1.0 / (length * step),
        segments=count,
        periodic=tuple(found),
    )


class _Layout:
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


def _cutting(table: Floats) -> float:
    middle = float(np.median(table))
    deviation = 1.4826 * float(np.median(np.abs(table - middle)))
    if deviation == 0.0:  # a coarse count: most values are the same
        deviation = float(np.abs(table - middle).mean()) / _CUT
    return middle + _CUT * deviation


def _view(table: Floats, cut: float, layout: _Layout) -> _View:
    values = _straightened(np.minimum(table, cut))
    window = _hann(layout.length)
    fine = np.abs(np.fft.rfft(values * window, _PADDING * layout.length, axis=1)) ** 2
    fine = fine.mean(axis=0) / window.sum() ** 2
    power = fine[_PADDING * layout.bins]
    trend = _trend(fine[::_PADDING], layout.bins)
    floor = np.maximum(trend * layout.floor(power / trend), np.finfo(np.float64).tiny)
    mean_floor = floor * layout.segments / _gamma_median(layout.segments)
    return _View(table, fine, power / floor, mean_floor, cut)


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


def _chance(ratio: float, segments: int, neighbours: int) -> float:
    """P(power of white noise >= ratio times the median of its neighbours).

    Averaged over K segments the power is Gamma(K); the median of m independent ones lies at the
    quantile u ~ Beta((m + 1) / 2, (m + 1) / 2) of that: the chance is its mean over u.
    """
    from scipy.special import betaln, gammaincc, gammaincinv

    half = (neighbours / _TIED + 1.0) / 2.0
    logit = np.linspace(-25.0, 25.0, 501)
    u = 1.0 / (1.0 + np.exp(-logit))
    # Density of u times du / dlogit.
    density = np.exp(half * (np.log(u) - np.logaddexp(0.0, logit)) - betaln(half, half))
    tail = gammaincc(segments, ratio * gammaincinv(segments, u))
    return float(np.sum(density * tail) * (logit[1] - logit[0]))


@lru_cache(maxsize=256)
def _line_over_floor(segments: int, neighbours: int, chance: float) -> float:
    """The ratio to the floor that white noise exceeds with this chance."""
    low, high = 1.0, 1e12
    for _ in range(45):
        middle = float(np.sqrt(low * high))
        if _chance(middle, segments, neighbours) > chance:
            low = middle
        else:
            high = middle
    return high


def _search(views: list[_View], layout: _Layout, threshold: Floats) -> list[Periodic]:
    found: list[Periodic] = []
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
                found.append(Periodic(1.0 / frequency, length, length * frequency))
        _close(open_, view, layout, frequency, bins)
    found.sort(key=lambda each: -each.share)
    return [
        each
        for index, each in enumerate(found)
        if not any(_overtone(each.frequency, greater.frequency) for greater in found[:index])
    ]


def _strongest_line(
    views: list[_View], layout: _Layout, threshold: Floats, open_: npt.NDArray[np.bool_]
) -> tuple[_View, float] | None:
    """The line furthest over its threshold, in bins, and the view that shows it."""
    over = [np.where(open_, view.power / threshold, 0.0) for view in views]
    which = int(np.argmax([each.max() for each in over]))
    index = int(np.argmax(over[which]))
    if over[which][index] < 1.0:
        return None
    return views[which], float(layout.bins[index])


def _overtone(frequency: float, known: float) -> bool:
    """Whether a line is a further one of a comb found before, whose lines jitter has smeared.

    What comes only about every P seconds, such as time slices, has a broad line: within a tenth it
    is the same one.
    """
    order = max(1.0, round(frequency / known))
    return abs(frequency / known - order) < min(0.25, max(BROAD, 0.03 * order))


def _close(
    open_: npt.NDArray[np.bool_], view: _View, layout: _Layout, frequency: float, bins: float
) -> None:
    """Leave out the comb's lines, as wide as Hann's window leaks: 1 / (pi d^3)^2 of a line.

    Multiples beyond half of the sampling frequency come back below it, weakened by the averaging
    over an interval.
    """
    spacing = frequency * layout.length * layout.step  # in bins
    strongest = float(view.power[_nearest(layout, spacing * _orders(layout, spacing))].max())
    orders = np.arange(1.0, max(64.0, 4.0 * layout.length / spacing) + 1.0)
    expected = strongest * np.sinc(orders * frequency * layout.step) ** 2
    inside = orders * spacing <= layout.bins[-1]
    known = min(_orders(layout, spacing).size, _MOST_HARMONICS)
    kept = inside | (expected > 1.0)
    for order, power in zip(orders[kept], expected[kept], strict=True):
        line = order * spacing % layout.length
        line = min(line, layout.length - line)
        # The fundamental is known to a fraction of a bin, the better the more multiples told it,
        # and its n-th multiple to n times that.
        wide = 2.0 + max(2.0 * power / np.pi**2, 0.0) ** (1.0 / 6.0)
        wide += 0.15 * order / known
        low, high = np.searchsorted(layout.bins, [line - wide, line + wide])
        open_[low:high] = False
    open_[_nearest(layout, np.array([bins]))] = False


def _fundamental(view: _View, layout: _Layout, bins: float) -> float:
    """The frequency (Hz) of the comb that the line belongs to.

    Of the line's whole fractions, the one whose multiples hold the most power for their number: the
    sum over n multiples is Gamma(nK) in white noise, and the least likely sum wins (the harmonic
    sum of pulsar searches: de Jager, Raubenheimer & Swanepoel 1989).
    """
    span = layout.length * layout.step
    line = _peak(view.fine, round(_PADDING * bins), _PADDING // 2) / _PADDING
    # A weak line is known to half a bin; the steps move its highest multiple by a quarter of one.
    # All fractions are tried at the same places of the line, lest one win by its aim.
    places = line + np.arange(-0.5, 0.5, 0.25 / _MOST_HARMONICS)
    best, choice = np.inf, float(line)
    for part in range(1, 33):
        if line / part < LEAST_CYCLES:
            break
        unlikely = _comb_evidence(view, layout, places / part, part)
        least = int(np.argmin(unlikely))
        if unlikely[least] < best - 1e-9:
            best, choice = float(unlikely[least]), float(places[least] / part)
    return _refined(view, layout, choice) / span


def _orders(layout: _Layout, bins: float) -> Floats:
    return np.arange(
        1, max(1, min(_MOST_HARMONICS, int(layout.bins[-1] / bins))) + 1, dtype=np.float64
    )


def _nearest(layout: _Layout, bins: Floats) -> npt.NDArray[np.int64]:
    """The index of the nearest frequency looked at."""
    nearest = np.round(bins).astype(np.int64) - layout.bins[0]
    return np.asarray(np.clip(nearest, 0, layout.bins.size - 1))


def _whitened(view: _View, layout: _Layout, bins: Floats) -> Floats:
    """Power over mean floor at fractional bins."""
    places = np.round(_PADDING * bins).astype(np.int64)
    return np.asarray(view.fine[places] / view.mean_floor[_nearest(layout, bins)])


def _comb_evidence(view: _View, layout: _Layout, bins: Floats, part: int) -> Floats:
    """Of each fundamental, a ``part`` of the line's frequency, the logarithm of the chance of its
    comb's power; 0 where a multiple of that fundamental has all the power there is.
    """
    orders = _orders(layout, float(bins.max()))
    teeth = _whitened(view, layout, bins[:, None] * orders[None, :])
    numbers = np.array([n for n in (1, 2, 4, 8, 16, 32, 64) if n <= orders.size])
    sums = np.cumsum(teeth, axis=1)
    chances = _log_gamma_tail(
        (numbers * layout.segments).astype(np.float64), layout.segments * sums[:, numbers - 1]
    )
    for factor in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31):
        own = orders % factor == 0
        if part % factor or not own.any():
            continue
        # Short losses make teeth of one height; what is far lower is a trace of something else.
        between = teeth[:, ~own].mean(axis=1) - 1.0
        chances[between < _LEVEL * (teeth[:, own].mean(axis=1) - 1.0)] = 0.0
    return np.asarray(chances.min(axis=1))


def _log_gamma_tail(shape: Floats, x: Floats) -> Floats:
    """log P(Gamma(shape) > x), also where that is too small for a double."""
    from scipy.special import gammaincc, gammaln

    tail = np.asarray(gammaincc(shape, x))
    # First term of the continued fraction (Abramowitz & Stegun 6.5.31), for x far above the shape.
    above = np.maximum(x, 2.0 * shape)
    far = (shape - 1.0) * np.log(above) - above - gammaln(shape)
    far = far - np.log1p(-(shape - 1.0) / above)
    return np.asarray(np.where(tail > 1e-250, np.log(np.maximum(tail, 1e-250)), far))


def _peak(fine: Floats, place: int, reach: int) -> float:
    """The place of the maximum around a place, between samples by a parabola."""
    low = max(place - reach, 1)
    top = low + int(np.argmax(fine[low : place + reach + 1]))
    if not 0 < top < fine.size - 1:
        return float(top)
    left, middle, right = fine[top - 1 : top + 2]
    bend = left - 2.0 * middle + right
    # Where the reach ends on a slope, the parabola's own top may lie anywhere.
    return (
        float(top) if bend >= 0.0 else top + float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5))
    )


def _refined(view: _View, layout: _Layout, bins: float) -> float:
    """The fundamental by its multiples, each of which is known as well as it itself, in bins.

    Doubling the order keeps the error at each step below half the distance that could confuse it.
    """
    order = 2
    limit = layout.bins[-1]
    while order <= _MOST_HARMONICS and order * bins < limit:
        place = round(_PADDING * order * bins)
        here = _whitened(view, layout, np.array([order * bins]))[0]
        if here > 4.0:
            bins = _peak(view.fine, place, _PADDING // 2) / (_PADDING * order)
        order *= 2
    return bins


def _length(view: _View, layout: _Layout, frequency: float, open_: npt.NDArray[np.bool_]) -> float:
    """Seconds lost in each period, by the size of the comb's first lines that are no other's.

    Short losses of A seconds every P make lines of A / P in each second, at every multiple of 1/P.
    A view that cut them off can't tell how long they were, and one that lets far longer losses pass
    tells it badly, so the cut is raised until it is well above what it shows.
    """
    while True:
        length = _length_in(view, layout, frequency, open_)
        if length < 0.5 * view.cut:
            return length
        higher = 4.0 * view.cut
        view = _view(view.table, higher if higher < float(view.table.max()) else np.inf, layout)


def _length_in(
    view: _View, layout: _Layout, frequency: float, open_: npt.NDArray[np.bool_]
) -> float:
    bins = frequency * layout.length * layout.step
    period = 1.0 / frequency

    own = _orders(layout, bins)
    own = own[open_[_nearest(layout, own * bins)]]
    if own.size == 0:
        return 0.0

    def estimate(orders: Floats) -> float:
        places = np.round(_PADDING * orders * bins).astype(np.int64)
        floor = view.mean_floor[_nearest(layout, orders * bins)]
        lines = np.maximum(view.fine[places] - floor, 0.0)
        # An interval of the trace averages over its step, which lowers high lines.
        blur = np.sinc(orders * frequency * layout.step)
        return float(np.sqrt(np.mean(lines / blur**2))) * period / layout.step

    first = estimate(own[:1])
    # Lines far below 1 / A are not lowered by the length A of the losses themselves.
    most = int(np.clip(0.1 * period / max(first, 1e-12), 1, 8))
    return estimate(own[:most])
