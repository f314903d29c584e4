"""Permutation tests of whether a stretch of a series has changed, and where.

If nothing changed, every order of the runs was equally likely, whatever their distribution, also
with modes and long tails (E. Pitman: Significance tests which may be applied to samples from any
populations, Supplement to the Journal of the Royal Statistical Society 4, 1937, 119-130). The
statistic is the best of all splits, so its distribution allows for the search of the place (J.
Antoch, M. Huskova: Permutation tests in change point analysis, Statistics & Probability Letters 53,
2001, 37-46). If runs depend on the preceding run, the innovations are permuted (P. Buhlmann: Sieve
bootstrap for time series, Bernoulli 3, 1997, 123-148).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator

import numpy as np

from assay.arrays import Floats
from assay.stats.changes.scan import FLOOR, SPLITS, clip_of, robust_scale
from assay.stats.core.combinations import least_p

# Permutations of the test for a change, and the share of them that the tail is fitted to.
ORDERS, _TAIL = 999, 0.05
# They are drawn in these parts. The test ends after a part that leaves no doubt that p is far above
# every level: this many better permutations, and at least this share of them (J. Besag, P.
# Clifford: Sequential Monte Carlo p-values, Biometrika 78, 1991, 301-304).
_PARTS, _MANY_BETTER, _FAR_ABOVE = (99, 300, 600), 25, 0.125
# Permutations per tested place, in parts; the level of each test; successive rejections that end
# the search.
_PLACE_ORDERS, _PLACE_PARTS, _PLACE_LEVEL, _ENOUGH = 199, (40, 159), 0.05, 3
# The stride from place to place grows by one per this distance from the best place.
_STRIDE = 16
# A place is rejected without p if the best one explains more by this number of variances.
_UNLIKELY = 40.0
# Minimum number of runs on each side of a place, and of a stretch that can be tested.
_EDGE, _FEWEST = 2, 8
# Longer stretches are shortened to means of neighbouring runs.
_LONGEST, _LONGEST_PASSING = 400, 2000
# With fewer than _FEW better permutations, their share is not a sufficient estimate of p. Gains
# that differ by less than rounding are equal.
_FEW, _ROUNDING, _LEAST_SQUARES = 10.0, 1e-12, 1e-300
MOST_DEPENDENCE = 0.95


def changed(x: Floats, rho: float = 0.0, *, passing: bool = False) -> float:
    """p of the best split of ``x`` (logarithms in order of time), if nothing changed.

    ``rho``: the autocorrelation of neighbours. ``passing``: also test for a stretch that differs
    from all other runs.

    Values are clipped around the median of all, which no permutation changes. A p too small for the
    number of permutations comes from an exponential tail fitted to the greatest gains (T.
    Knijnenburg et al.: Fewer permutations, more accurate P-values, Bioinformatics 25, 2009,
    i161-i168; the gain of a split has an upper bound, so that its tail is lighter). It is at least
    one over the number of ways to choose the runs of the shorter side.
    """
    if x.size < _FEWEST:
        return 1.0
    scores = scores_of(x)
    longest = _LONGEST_PASSING if passing else _LONGEST
    if x.size > longest:
        length = -(-x.size // longest)
        scores, rho = _shortened(scores, length), rho**length if rho else 0.0
    best, runs = (float(each[0]) for each in _best(scores[None, :], passing))
    others = np.zeros(0)
    for rows in _in_parts(scores, rho, _PARTS):
        others = np.concatenate([others, _best(rows, passing)[0]])
        better = int(np.count_nonzero(others >= best - _ROUNDING))
        p = (1.0 + better) / (others.size + 1.0)
        if better >= _MANY_BETTER and p >= _FAR_ABOVE:
            return p
    if p * ORDERS < _FEW:
        others = np.sort(others)
        start = float(others[-int(_TAIL * ORDERS) - 1])
        mean = float(others[others > start].mean()) - start if others[-1] > start else 0.0
        tail = _TAIL * math.exp(-max(best - start, 0.0) / mean) if mean > 0.0 else p
        p = min(p, max(tail, least_p(scores.size, int(runs))))
    return p


def critical_gain(x: Floats, rho: float, level: float) -> float | None:
    """The gain of the best split, a share of the sum of squares, that permutations of ``x`` exceed
    with probability ``level``; beyond the resolution of the permutations by the tail that
    ``changed`` fits. None if a split can't explain this much.
    """
    if x.size < _FEWEST:
        return None
    scores = scores_of(x)
    if x.size > _LONGEST:
        length = -(-x.size // _LONGEST)
        scores, rho = _shortened(scores, length), rho**length if rho else 0.0
    gains = np.sort(gains_of(reordered(scores, rho, ORDERS)).max(axis=1))
    if level * ORDERS >= _FEW:
        gain = float(np.quantile(gains, 1.0 - level))
    else:
        start = float(gains[-int(_TAIL * ORDERS) - 1])
        mean = float(gains[gains > start].mean()) - start if gains[-1] > start else 0.0
        gain = start + mean * math.log(_TAIL / level)
    return gain if gain < 1.0 else None


def _best(rows: Floats, passing: bool) -> tuple[Floats, Floats]:
    """The greatest gain of each row, and the number of values on that split's shorter side."""
    n = rows.shape[1]
    gains = gains_of(rows)
    place = gains.argmax(axis=1)
    best = np.take_along_axis(gains, place[:, None], axis=1)[:, 0]
    runs = np.minimum(place + _EDGE, n - _EDGE - place)
    if passing:
        centred = rows - rows.mean(axis=1, keepdims=True)
        squares = np.maximum(np.einsum("ij,ij->i", centred, centred), _LEAST_SQUARES)
        sums = np.zeros((rows.shape[0], n + 1))
        np.cumsum(centred, axis=1, out=sums[:, 1:])
        inner = np.empty_like(sums)
        for length in (each for each in SPLITS if 2 * each <= n):
            passing_by = np.subtract(sums[:, length:], sums[:, :-length], out=inner[:, length:])
            inside = np.abs(passing_by, out=passing_by).max(axis=1)
            gain = inside**2 * (n / (length * (n - length))) / squares
            best, runs = np.maximum(best, gain), np.where(gain > best, length, runs)
    return best, runs


def places_of(values: Floats, offset: int, rho: float = 0.0) -> tuple[int, int]:
    """The 95% interval of the place of the one change of level in ``values``, whose first run is
    run ``offset`` of the series.

    It contains each place that is not rejected at 5% by permuting the runs on each of its sides;
    the statistic is by how much the best split explains more than this place (L. Dumbgen: The
    asymptotic behavior of some nonparametric change-point estimators, Annals of Statistics 19,
    1991, 1471-1495). Places are tested outwards from the best one.
    """
    n = values.size
    ahead = _explained(values[None, :])[0]
    best = int(ahead.argmax()) + 1
    rest = float(np.sum((values - values.mean()) ** 2)) - float(ahead.max())
    unlikely = _UNLIKELY * max(rest / max(n - 2, 1), FLOOR**2)
    ends = [best, best]
    for side, way in ((0, -1), (1, 1)):
        rejected, place = 0, best + way
        while 1 <= place <= n - 1 and rejected < _ENOUGH:
            gap = float(ahead.max() - ahead[place - 1])
            stride = 1 + abs(place - best) // _STRIDE
            if gap < unlikely and _possible(values, place, rho, gap):
                ends[side], rejected = place + way * (stride - 1), 0
            else:
                rejected += 1
            place += way * stride
    return offset + max(ends[0], 1), offset + min(ends[1], n - 1)


def _possible(values: Floats, place: int, rho: float, gap: float) -> bool:
    """Whether the change may be at ``place``, where a split explains less by ``gap`` than at the
    best place: permutations of its sides do as much at the level of these tests.
    """
    wanted = math.floor(_PLACE_LEVEL * (_PLACE_ORDERS + 1.0))  # with this many p exceeds the level
    found = 0
    for drawn in _rearranged(values, place, rho, _PLACE_PARTS):
        others = _explained(drawn)
        gaps = others.max(axis=1) - others[:, place - 1]
        found += int(np.count_nonzero(gaps >= gap - _ROUNDING))
        if found >= wanted:
            return True
    return False


def _explained(rows: Floats) -> Floats:
    """The sum of squares that a split at each place explains, per row."""
    n = rows.shape[1]
    places = np.arange(1, n)
    sums = np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1)[:, :-1]
    return np.asarray(sums**2 * (n / (places * (n - places))))


def _rearranged(values: Floats, place: int, rho: float, parts: tuple[int, ...]) -> Iterator[Floats]:
    """Permutations of the runs before ``place`` and of those from it on, each side separately."""
    sides = values[:place], values[place:]
    drawn = _drawn(values)
    if rho > 0.0:
        rest = np.concatenate([side - side.mean() for side in sides])
        levels = np.concatenate([np.full(side.size, side.mean()) for side in sides])
    for orders in parts:
        if rho > 0.0:
            yield levels + _dependent(rest, rho, orders, drawn)
        else:
            rows = (np.tile(side, (orders, 1)) for side in sides)
            yield np.concatenate([drawn.permuted(each, axis=1) for each in rows], axis=1)


def remaining_dependence(
    residuals: Floats, steps: int, *, added: float = 0.0, least: float = 0.0
) -> float:
    """The autocorrelation of neighbours as ``estimated_dependence``, but ``least`` or more, and
    ``least`` unless it exceeds one standard error.

    ``added``: up to this number of standard errors is added, the full number where the
    autocorrelation exceeds two.
    """
    found = estimated_dependence(residuals, steps)
    error = math.sqrt(1.0 / max(residuals.size, 1))
    more = added * min(max(found / error - 1.0, 0.0), 1.0) * error
    return max(min(found + more, MOST_DEPENDENCE) if found > error else 0.0, least)


def estimated_dependence(residuals: Floats, steps: int) -> float:
    """The autocorrelation of neighbours, corrected for ``steps`` fitted steps that may be spurious;
    0 of fewer than eight runs.

    A step at the best-fitting place removes part of the autocorrelation. The correction is what the
    best split of series with an autocorrelation of 0 to 0.7 removes on average.
    """
    if residuals.size < _FEWEST:
        return 0.0
    centred = residuals - residuals.mean()
    square = float(centred @ centred)
    if square <= 0.0:
        return 0.0
    left = float(centred[1:] @ centred[:-1]) / square
    return left + (1.0 + 3.0 * steps + 8.0 * max(left, 0.0)) / residuals.size


def scores_of(x: Floats) -> Floats:
    """Deviations from the median of all, in robust standard deviations, clipped."""
    z = (x - np.median(x)) / robust_scale(x - np.median(x))
    clip = clip_of(z)
    return np.asarray(np.clip(z, -clip, clip))


def _shortened(scores: Floats, length: int) -> Floats:
    return np.asarray(scores[scores.size % length :].reshape(-1, length).mean(axis=1))


def gains_of(rows: Floats) -> Floats:
    """The share of the sum of squares that a split at each place explains, per row.

    Places leave two runs on each side.
    """
    n = rows.shape[1]
    centred = rows - rows.mean(axis=1, keepdims=True)
    squares = np.maximum(np.einsum("ij,ij->i", centred, centred), _LEAST_SQUARES)
    places = np.arange(_EDGE, n - _EDGE + 1)
    # In place: new arrays of this size take longer than the arithmetic.
    sums = np.cumsum(centred, axis=1, out=centred)[:, _EDGE - 1 : n - _EDGE]
    gains = np.square(sums, out=sums)
    gains *= n / (places * (n - places))
    gains /= squares[:, None]
    return np.asarray(gains)


def _drawn(scores: Floats) -> np.random.Generator:
    """A generator seeded by the values, so that the same series always has the same result."""
    return np.random.default_rng(zlib.crc32(np.round(scores, 6).tobytes()))


def reordered(scores: Floats, rho: float, orders: int) -> Floats:
    """Permutations of the runs, a row each; of dependent runs the innovations are permuted."""
    return next(_in_parts(scores, rho, (orders,)))


def _in_parts(scores: Floats, rho: float, parts: tuple[int, ...]) -> Iterator[Floats]:
    """Permutations of the runs as ``reordered``, drawn in parts of these numbers."""
    drawn = _drawn(scores)
    for orders in parts:
        if rho > 0.0:
            yield _dependent(scores - scores.mean(), rho, orders, drawn)
        else:
            yield np.asarray(drawn.permuted(np.tile(scores, (orders, 1)), axis=1))


def _dependent(rest: Floats, rho: float, orders: int, drawn: np.random.Generator) -> Floats:
    """First-order autoregressive series of the permuted innovations of ``rest``."""
    first = math.sqrt(1.0 - rho**2)
    added = np.concatenate([[rest[0] * first], rest[1:] - rho * rest[:-1]])
    rows = drawn.permuted(np.tile(added, (orders, 1)), axis=1)
    rows[:, 0] /= first
    # The same as ``scipy.signal.lfilter``; importing that takes longer than a history.
    in_time = np.ascontiguousarray(rows.T)
    before = np.empty(orders)
    for now, then in zip(in_time[1:], in_time[:-1], strict=True):
        now += np.multiply(then, rho, out=before)
    return np.ascontiguousarray(in_time.T)
