"""Whether a stretch of a series has changed at all, and where, by orders it might have come in.

If nothing changed, every order of the runs was as likely, whatever their distribution: modes and
long tails are in every order (E. Pitman: Significance tests which may be applied to samples from
any populations, Supplement to the Journal of the Royal Statistical Society 4, 1937, 119-130). The
statistic is the best of all splits, so its distribution allows for having looked for the place (J.
Antoch, M. Huskova: Permutation tests in change point analysis, Statistics & Probability Letters 53,
2001, 37-46). Runs that depend on the one before are reordered by what each adds to it (P. Buhlmann:
Sieve bootstrap for time series, Bernoulli 3, 1997, 123-148).
"""

from __future__ import annotations

import math
import zlib

import numpy as np

from assay.stats.changes.scan import FLOOR, SPLITS, clip_of, robust_scale
from assay.stats.core.intervals import Floats

# Orders that are tried, and of them the share that the tail is fitted to.
ORDERS, _TAIL = 999, 0.05
# Orders by which a place is tried; the level of each test; rejected places after which it ends.
_PLACE_ORDERS, _PLACE_LEVEL, _ENOUGH = 199, 0.05, 3
# Places so far from the best one are tried one by one, and then with wider strides.
_STRIDE = 16
# A place that explains less by so many variances is none, however few orders there are.
_UNLIKELY = 40.0
# The fewest runs beside a place, and of a stretch that can be reordered.
_EDGE, _FEWEST = 2, 8
# Longer stretches are taken as the means of neighbours.
_LONGEST, _LONGEST_PASSING = 400, 2000
# So few better orders don't say how rare they are. Gains closer than rounding are the same.
_FEW, _ROUNDING, _LEAST_SQUARES = 10.0, 1e-12, 1e-300
_MOST_RHO = 0.95


def changed(x: Floats, rho: float = 0.0, *, passing: bool = False) -> float:
    """The chance of a split as good as the best one of ``x`` (logarithms in order of time), if
    nothing changed. ``rho``: the autocorrelation of neighbours. ``passing``: of a split or of a
    stretch that differs from all else.

    Values are clipped around the median of them all, which no order changes. Of p below what so
    many orders show an exponential tail is fitted to the best ones (T. Knijnenburg et al.: Fewer
    permutations, more accurate P-values, Bioinformatics 25, 2009, i161-i168; the gain of a split
    has an upper bound, so that its tail is lighter), down to one order among all with so many runs
    on the shorter side.
    """
    if x.size < _FEWEST:
        return 1.0
    scores = scores_of(x)
    longest = _LONGEST_PASSING if passing else _LONGEST
    if x.size > longest:
        length = -(-x.size // longest)
        scores, rho = _shortened(scores, length), rho**length if rho else 0.0
    best, runs = (float(each[0]) for each in _best(scores[None, :], passing))
    others, _ = _best(_reordered(scores, rho, ORDERS), passing)
    p = (1.0 + float(np.count_nonzero(others >= best - _ROUNDING))) / (ORDERS + 1.0)
    if p * ORDERS < _FEW:
        others = np.sort(others)
        start = float(others[-int(_TAIL * ORDERS) - 1])
        mean = float(others[others > start].mean()) - start if others[-1] > start else 0.0
        tail = _TAIL * math.exp(-max(best - start, 0.0) / mean) if mean > 0.0 else p
        p = min(p, max(tail, 1.0 / math.comb(scores.size, int(runs))))
    return p


def _best(rows: Floats, passing: bool) -> tuple[Floats, Floats]:
    """Of each row the greatest gain, and how many values are on that split's shorter side."""
    n = rows.shape[1]
    gains = _gains(rows)
    place = gains.argmax(axis=1)
    best = np.take_along_axis(gains, place[:, None], axis=1)[:, 0]
    runs = np.minimum(place + _EDGE, n - _EDGE - place)
    if passing:
        centred = rows - rows.mean(axis=1, keepdims=True)
        squares = np.maximum(np.einsum("ij,ij->i", centred, centred), _LEAST_SQUARES)
        sums = np.concatenate([np.zeros((rows.shape[0], 1)), np.cumsum(centred, axis=1)], axis=1)
        for length in (each for each in SPLITS if 2 * each <= n):
            inside = np.abs(sums[:, length:] - sums[:, :-length]).max(axis=1)
            gain = inside**2 * (n / (length * (n - length))) / squares
            best, runs = np.maximum(best, gain), np.where(gain > best, length, runs)
    return best, runs


def places_of(values: Floats, offset: int, rho: float = 0.0) -> tuple[int, int]:
    """The 95% interval of the place of the one change of level in ``values``, whose first run is
    run ``offset`` of the series.

    It holds each place at which the runs on its two sides, each side reordered, have a better split
    as far ahead of it in over 5% of orders (L. Dumbgen: The asymptotic behavior of some
    nonparametric change-point estimators, Annals of Statistics 19, 1991, 1471-1495). Places are
    tried outwards from the best one.
    """
    n = values.size
    ahead = _explained(values[None, :])[0]
    best = int(ahead.argmax()) + 1
    rest = float(np.sum((values - values.mean()) ** 2)) - float(ahead.max())
    unlikely = _UNLIKELY * max(rest / max(n - 2, 1), FLOOR**2)
    ends = [best, best]
    p: float
    for side, way in ((0, -1), (1, 1)):
        rejected, place = 0, best + way
        while 1 <= place <= n - 1 and rejected < _ENOUGH:
            drawn = _rearranged(values, place, rho)
            others = _explained(drawn)
            gaps = others.max(axis=1) - others[:, place - 1]
            gap = float(ahead.max() - ahead[place - 1])
            p = (1.0 + float(np.count_nonzero(gaps >= gap - _ROUNDING))) / (_PLACE_ORDERS + 1.0)
            p = p if gap < unlikely else 0.0
            stride = 1 + abs(place - best) // _STRIDE
            if p > _PLACE_LEVEL:
                ends[side], rejected = place + way * (stride - 1), 0
            else:
                rejected += 1
            place += way * stride
    return offset + max(ends[0], 1), offset + min(ends[1], n - 1)


def _explained(rows: Floats) -> Floats:
    """Of each row the squares that a split at each place explains."""
    n = rows.shape[1]
    places = np.arange(1, n)
    sums = np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1)[:, :-1]
    return np.asarray(sums**2 * (n / (places * (n - places))))


def _rearranged(values: Floats, place: int, rho: float) -> Floats:
    """Orders of the runs before ``place`` and of those from it on, each side by itself."""
    sides = values[:place], values[place:]
    drawn = _drawn(values)
    if rho <= 0.0:
        rows = (np.tile(side, (_PLACE_ORDERS, 1)) for side in sides)
        return np.concatenate([drawn.permuted(each, axis=1) for each in rows], axis=1)
    rest = np.concatenate([side - side.mean() for side in sides])
    levels = np.concatenate([np.full(side.size, side.mean()) for side in sides])
    return levels + _dependent(rest, rho, _PLACE_ORDERS, drawn)


def remaining_dependence(residuals: Floats, steps: int, *, added: float = 0.0) -> float:
    """The autocorrelation of neighbours that ``steps`` which perhaps aren't any have left, where it
    is more than a standard error; else 0.

    A step that is put where it explains most takes much of it along: of the best split of series
    that depend by 0 to 0.7 what is put back here, on average. ``added``: so many standard errors
    more are taken where it is evident (two of them).
    """
    if residuals.size < _FEWEST:
        return 0.0
    centred = residuals - residuals.mean()
    square = float(centred @ centred)
    if square <= 0.0:
        return 0.0
    left = float(centred[1:] @ centred[:-1]) / square
    found = left + (1.0 + 3.0 * steps + 8.0 * max(left, 0.0)) / residuals.size
    error = math.sqrt(1.0 / residuals.size)
    more = added * min(max(found / error - 1.0, 0.0), 1.0) * error
    return min(found + more, _MOST_RHO) if found > error else 0.0


def scores_of(x: Floats) -> Floats:
    """Deviations from the median of all, in robust standard deviations, clipped."""
    z = (x - np.median(x)) / robust_scale(x - np.median(x))
    clip = clip_of(z)
    return np.asarray(np.clip(z, -clip, clip))


def _shortened(scores: Floats, length: int) -> Floats:
    return np.asarray(scores[scores.size % length :].reshape(-1, length).mean(axis=1))


def _gains(rows: Floats) -> Floats:
    """Of each row, at each place, the share of the squares that a split there explains."""
    n = rows.shape[1]
    centred = rows - rows.mean(axis=1, keepdims=True)
    squares = np.maximum(np.einsum("ij,ij->i", centred, centred), _LEAST_SQUARES)
    places = np.arange(_EDGE, n - _EDGE + 1)
    sums = np.cumsum(centred, axis=1)[:, places - 1]
    return np.asarray(sums**2 * (n / (places * (n - places))) / squares[:, None])


def _drawn(scores: Floats) -> np.random.Generator:
    """Random numbers that follow from the values: the same series is always judged the same."""
    return np.random.default_rng(zlib.crc32(np.round(scores, 6).tobytes()))


def _reordered(scores: Floats, rho: float, orders: int) -> Floats:
    drawn = _drawn(scores)
    if rho <= 0.0:
        return np.asarray(drawn.permuted(np.tile(scores, (orders, 1)), axis=1))
    return _dependent(scores - scores.mean(), rho, orders, drawn)


def _dependent(rest: Floats, rho: float, orders: int, drawn: np.random.Generator) -> Floats:
    """Series of what each run adds to its share ``rho`` of the one before, in other orders."""
    from scipy.signal import lfilter

    first = math.sqrt(1.0 - rho**2)
    added = np.concatenate([[rest[0] * first], rest[1:] - rho * rest[:-1]])
    rows = drawn.permuted(np.tile(added, (orders, 1)), axis=1)
    rows[:, 0] /= first
    return np.asarray(lfilter([1.0], [1.0, -rho], rows, axis=1))
