"""Segments of a series between changes: their boundaries, differences and drifts.

Series are logarithms of results, so that differences are relative. docs/methods/history.md, "Change
points", has the error rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assay.arrays import Floats
from assay.stats.changes.scan import (
    FLOOR,
    OUTLIER,
    Alarm,
    clip_of,
    clipped_scale,
    inflation,
    robust_scale,
)
from assay.units import Interval

CONFIDENCE = 0.95
# Minimum advantage of a drift in the Bayesian information criterion over one step, and over several
# steps.
_RATHER, _RATHER_SEVERAL = 6.0, 0.0
# Minimum length of a drift, in runs; number of places that are tried as its ends.
_DRIFT, _PLACES = 8, 24
# Maximum number of runs on each side of a change whose pairs are compared.
_MOST_PAIRED = 400
# Minimum length of a ramp, in seconds or runs: avoids a division by 0 for runs at the same time.
_LEAST_WIDTH = 1e-9
# Changes closer than _NEAR runs are placed together, with up to _AROUND runs on each side.
_NEAR, _AROUND = 40, 150
# Maximum number of values of a series whose matrix of costs is computed.
_SHORT = 600


class Rows(NamedTuple):
    """A series: logarithms, the same clipped, weights, times."""

    x: Floats
    tidy: Floats
    weights: Floats
    utc: Floats


def tidied(x: Floats, ats: Sequence[int]) -> tuple[Floats, list[int]]:
    """The series with values clipped around their segment's median, and the isolated outliers.

    An outlier is a run far from the median of its segment and far from both neighbours.
    """
    tidy = x.copy()
    apart = np.zeros(x.size, dtype=bool)
    bounds = [0, *ats, x.size]
    for start, stop in pairwise(bounds):
        part = x[start:stop]
        centre = float(np.median(part))
        scale = robust_scale(part - centre) if part.size > 2 else math.inf
        z = (part - centre) / scale
        clip = clip_of(z)
        tidy[start:stop] = centre + np.clip(z, -clip, clip) * (scale if part.size > 2 else 0.0)
        if part.size <= 2:
            tidy[start:stop] = part
            continue
        far = np.flatnonzero(np.abs(z) > OUTLIER) + start
        for place in far:
            near = [x[i] for i in (place - 1, place + 1) if 0 <= i < x.size]
            if all(abs(x[place] - each) > OUTLIER * scale for each in near):
                apart[place] = True
                tidy[place] = centre
    return tidy, [int(place) for place in np.flatnonzero(apart)]


def segmented(values: Floats, count: int) -> list[int]:
    """The best places of ``count`` changes of level, by least squares, at least two values apart.

    One is found in a single pass; several exactly, by dynamic programming (C. Truong, L. Oudre, N.
    Vayatis: Selective review of offline change point detection methods, Signal Processing 167,
    2020). Importing ruptures takes longer than to examine a hundred cells, so only long series use
    it: their matrix of costs would be large.
    """
    if count == 1:
        n, sums = values.size, np.cumsum(values - values.mean())
        places = np.arange(2, n - 1)
        return [int(places[np.argmax(sums[places - 1] ** 2 * n / (places * (n - places)))])]
    if values.size <= _SHORT:
        return _divided(values, count)
    from ruptures import KernelCPD

    found = KernelCPD(kernel="linear", min_size=2).fit(values[:, None]).predict(n_bkps=count)
    return [int(place) for place in found[:-1]]


def _divided(values: Floats, count: int) -> list[int]:
    """``segmented`` by the costs of all stretches."""
    n = values.size
    centred = values - values.mean()
    sums = np.concatenate([[0.0], np.cumsum(centred)])
    squares = np.concatenate([[0.0], np.cumsum(centred**2)])
    length = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    cost = squares[None, :] - squares[:, None]
    cost -= (sums[None, :] - sums[:, None]) ** 2 / np.maximum(length, 1)
    cost[length < 2] = np.inf
    least, chosen = cost[0], []
    for _ in range(count):
        total = least[:, None] + cost
        chosen.append(total.argmin(axis=0))
        least = total.min(axis=0)
    places = [n]
    for before in reversed(chosen):
        places.append(int(before[places[-1]]))
    return places[:0:-1]


def bounded(x: Floats, outliers: Sequence[int], bounds: Sequence[int]) -> Floats:
    """The values of neighbouring stretches, clipped below the lowest and above the highest level.

    Values between these levels are not clipped: that would bias places towards the assumed ones.
    Isolated outliers are replaced by the mean of their neighbours.
    """
    low, high = bounds[0], bounds[-1]
    values = x[low:high].copy()
    for place in outliers:
        if low < place < high - 1:
            values[place - low] = (x[place - 1] + x[place + 1]) / 2.0
    parts = [values[a - low : b - low] for a, b in pairwise(bounds)]
    levels = [float(np.median(part)) for part in parts]
    rest = np.concatenate([part - level for part, level in zip(parts, levels, strict=True)])
    margin = 3.0 * clipped_scale(rest)
    return np.clip(values, min(levels) - margin, max(levels) + margin)


def placed(x: Floats, outliers: Sequence[int], noticed: Sequence[Alarm]) -> list[Alarm]:
    """The steps placed by least squares in the whole series, nearby ones jointly."""
    alarms: list[Alarm] = []
    groups: list[list[Alarm]] = []
    for alarm in noticed:
        if groups and alarm.at - groups[-1][-1].at <= _NEAR and len(groups[-1]) < _NEAR:
            groups[-1].append(alarm)
        else:
            groups.append([alarm])
    for number, group in enumerate(groups):
        before = alarms[-1].at if alarms else 0
        after = groups[number + 1][0].at if number + 1 < len(groups) else x.size
        low = max(before, group[0].at - _AROUND)
        high = min(after, group[-1].at + _AROUND)
        if high - low < 2 * (len(group) + 1):
            alarms += group
            continue
        inner = [low, *(alarm.at for alarm in group), high]
        places = segmented(bounded(x, outliers, inner), len(group))
        alarms += [
            Alarm(alarm.kind, low + place, alarm.found, alarm.p)
            for alarm, place in zip(group, places, strict=True)
        ]
    return alarms


class SegmentDifference(NamedTuple):
    """Difference of two neighbouring stretches' levels: log of their ratio, its interval, p."""

    size: float
    #: 95% interval; None where there is none.
    interval: Interval
    p: float


class FittedDrift(NamedTuple):
    """A slow change from run ``first`` to run ``last``."""

    first: int
    last: int
    #: Logarithm of the ratio of the level after the drift to the level before.
    size: float
    #: 95% interval of ``size``.
    interval: Interval


def difference_of(rows: Rows, bounds: Sequence[int], rho: float) -> SegmentDifference:
    """Student's comparison of two stretches' clipped values, with pooled variance."""
    low, at, high = bounds
    parts = (slice(low, at), slice(at, high))
    return compared(*((rows.tidy[part], rows.weights[part]) for part in parts), rho=rho)


def shifted(before: Floats, after: Floats, *, rho: float = 0.0) -> SegmentDifference:
    """How far ``after`` lies above ``before``, both logarithms; distribution-free.

    The median of the differences between all pairs, with the interval that inverts Mann and
    Whitney's test (J. Hodges, E. Lehmann: Estimates of location based on rank tests, Annals of
    Mathematical Statistics 34, 1963, 598-611). Its variance is inflated for dependent runs like
    that of means. Of long stretches only the runs next to the change are used.
    """
    from scipy.special import ndtr, ndtri

    before, after = before[-_MOST_PAIRED:], after[:_MOST_PAIRED]
    m, n = before.size, after.size
    pairs = np.sort(np.subtract.outer(after, before).ravel())
    variances = inflation(rho, np.array([m, n])) / np.array([m, n])
    deviation = math.sqrt(m * n * (m + n + 1) / 12.0 * float(variances.sum()) / (1.0 / m + 1.0 / n))
    centre = m * n / 2.0
    left = max(math.floor(centre + float(ndtri((1.0 - CONFIDENCE) / 2.0)) * deviation), 0)
    interval = (float(pairs[left]), float(pairs[-left - 1]))
    score = float(np.count_nonzero(pairs > 0.0) + 0.5 * np.count_nonzero(pairs == 0.0)) - centre
    p = min(1.0, 2.0 * float(ndtr(-max(abs(score) - 0.5, 0.0) / deviation)))
    return SegmentDifference(float(np.median(pairs)), interval, p)


def compared(
    before: tuple[Floats, Floats], after: tuple[Floats, Floats], *, rho: float = 0.0
) -> SegmentDifference:
    """Difference of the weighted means of two stretches of logarithms: after minus before."""
    from scipy.special import stdtr, stdtrit

    means, errors, squares, count = [], 0.0, 0.0, 0
    for values, weights in (before, after):
        mean = float(np.average(values, weights=weights))
        means.append(mean)
        errors += float(inflation(rho, np.array([values.size]))[0]) / float(weights.sum())
        squares += float(np.sum(weights * (values - mean) ** 2))
        count += values.size
    df = max(count - 2, 1)
    error = math.sqrt(max(squares / df, FLOOR**2) * errors)
    size = means[1] - means[0]
    half_width = -float(stdtrit(df, (1.0 - CONFIDENCE) / 2.0)) * error
    p = 2.0 * float(stdtr(df, -abs(size) / error))
    return SegmentDifference(size, (size - half_width, size + half_width), p)


def residuals_of(rows: Rows, steps: Sequence[Alarm]) -> Floats:
    """The values minus their segments' means."""
    bounds = [0, *(step.at for step in steps), rows.x.size]
    spans = pairwise(bounds)
    return np.concatenate([rows.tidy[a:b] - rows.tidy[a:b].mean() for a, b in spans])


def place_interval(values: Floats, offset: int, rho: float) -> tuple[int, int]:
    """The range of the 95% set of places of the one change in ``values``, from their likelihoods.

    G. Cobb: The problem of the Nile: conditional solution to a changepoint problem. Biometrika 65
    (1978) 243-251, with the levels estimated at each place.
    """
    n = values.size
    places = np.arange(1, n)
    sums, squares = np.cumsum(values), float(values @ values)
    before, after = sums[:-1], sums[-1] - sums[:-1]
    rest = squares - before**2 / places - after**2 / (n - places)
    best = int(np.argmin(rest))
    variance = max(float(rest[best]) / max(n - 3, 1), FLOOR**2)
    variance *= (1.0 + rho) / (1.0 - rho)
    weight = np.exp(-(rest - rest[best]) / (2.0 * variance))
    order = np.argsort(-weight, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    inside = places[order[: int(np.searchsorted(share, CONFIDENCE)) + 1]]
    return offset + int(inside.min()), offset + int(inside.max())


def drift_of(rows: Rows, span: Sequence[int], rho: float) -> FittedDrift | None:
    """The drift that fits better than these steps; None if there is none.

    A drift is a level, a linear ramp, and a level; either level may be missing. Steps and drift are
    compared by the Bayesian information criterion (Schwarz 1978).
    """
    from scipy.special import stdtrit

    low, high = span[0], span[-1]
    y, t = rows.tidy[low:high], rows.utc[low:high]
    n, steps = y.size, len(span) - 2
    if n < 2 * _DRIFT:
        return None
    inner = [place - low for place in span]
    by_steps = sum(float(np.sum((y[a:b] - y[a:b].mean()) ** 2)) for a, b in pairwise(inner))
    places = np.unique(np.linspace(0, n - 1, _PLACES).round().astype(int))
    first, last = (np.array(each) for each in zip(
        *((a, b) for a in places for b in places if b - a >= _DRIFT), strict=True))  # fmt: skip
    width = np.maximum(t[last] - t[first], _LEAST_WIDTH)[:, None]
    ramp = np.clip((t[None, :] - t[first][:, None]) / width, 0.0, 1.0)
    ramp -= ramp.mean(axis=1, keepdims=True)
    square = np.sum(ramp**2, axis=1)
    slope = ramp @ (y - y.mean()) / square
    rest = float(np.sum((y - y.mean()) ** 2)) - slope**2 * square
    rest = np.maximum(rest, n * FLOOR**2)
    factor = (1.0 + rho) / (1.0 - rho)
    free = 2 + (first > 0) + (last < n - 1)  # each end within the stretch is one more parameter
    criterion = n / factor * np.log(rest) + free * math.log(n / factor)
    best = int(np.argmin(criterion))
    gain = n / factor * math.log(max(by_steps, n * FLOOR**2))
    gain += (2 * steps + 1) * math.log(n / factor) - float(criterion[best])
    if gain < (_RATHER if steps == 1 else _RATHER_SEVERAL):
        return None
    size = float(slope[best])
    df = max(n - 4, 1)
    error = math.sqrt(float(rest[best]) / df * factor / float(square[best]))
    half_width = -float(stdtrit(df, (1.0 - CONFIDENCE) / 2.0)) * error
    end = low + int(last[best])
    if end == high - 1:  # before a further change, leave some runs to compare it with
        end = high if high == rows.x.size else high - 3
    return FittedDrift(low + int(first[best]), end, size, (size - half_width, size + half_width))
