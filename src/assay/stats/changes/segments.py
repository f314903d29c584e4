"""Stretches of a series between changes: where they part, how they differ, whether they drift.

Series are logarithms of results, so that differences are relative. docs/methods/history.md, "Change
points", says how well each works.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assay.stats.changes.scan import (
    FLOOR,
    OUTLIER,
    Alarm,
    clip_of,
    clipped_scale,
    inflation,
    robust_scale,
)
from assay.stats.core.intervals import Floats, Interval

CONFIDENCE = 0.95
# By how much the Bayesian information criterion must favour a drift over one step, over several.
_RATHER, _RATHER_SEVERAL = 6.0, 0.0
# Shortest drift, in runs; places between which one is tried.
_DRIFT, _PLACES = 8, 24
# Runs on each side of a change that are compared in pairs.
_MOST_PAIRED = 400
# The shortest ramp, in seconds or runs: runs at the same time must not divide by 0.
_LEAST_WIDTH = 1e-9
# Changes closer than this are placed together, with so many runs around them.
_NEAR, _AROUND = 40, 150


class Rows(NamedTuple):
    """A series: logarithms, the same with outliers drawn in, weights, times."""

    x: Floats
    tidy: Floats
    weights: Floats
    utc: Floats


def tidied(x: Floats, ats: Sequence[int]) -> tuple[Floats, list[int]]:
    """The series with each value clipped around its stretch's middle, and its outliers.

    A run is an outlier that lies far from its stretch, and as far from both of its neighbours.
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
    """The best places of so many changes of level, by least squares, two values apart at least.

    One is found in a single pass; several by ruptures (C. Truong, L. Oudre, N. Vayatis: Selective
    review of offline change point detection methods, Signal Processing 167, 2020), exactly.
    """
    if count == 1:
        n, sums = values.size, np.cumsum(values - values.mean())
        places = np.arange(2, n - 1)
        return [int(places[np.argmax(sums[places - 1] ** 2 * n / (places * (n - places)))])]
    from ruptures import KernelCPD

    found = KernelCPD(kernel="linear", min_size=2).fit(values[:, None]).predict(n_bkps=count)
    return [int(place) for place in found[:-1]]


def bounded(x: Floats, outliers: Sequence[int], bounds: Sequence[int]) -> Floats:
    """The values of neighbouring stretches, clipped beyond the lowest and the highest of them.

    Between those levels nothing is clipped: it would be drawn to the stretch that it was thought to
    belong to, and places with it. Outliers that are alone become the mean of their neighbours.
    """
    low, high = bounds[0], bounds[-1]
    values = x[low:high].copy()
    for place in outliers:
        if low < place < high - 1:
            values[place - low] = (x[place - 1] + x[place + 1]) / 2.0
    parts = [values[a - low : b - low] for a, b in pairwise(bounds)]
    levels = [float(np.median(part)) for part in parts]
    rest = np.concatenate([part - level for part, level in zip(parts, levels, strict=True)])
    reach = 3.0 * clipped_scale(rest)
    return np.clip(values, min(levels) - reach, max(levels) + reach)


def placed(x: Floats, outliers: Sequence[int], noticed: Sequence[Alarm]) -> list[Alarm]:
    """The steps where the whole series would have them, those near each other together."""
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
    """Of two neighbouring stretches' levels: logarithm of their ratio, its interval, p."""

    size: float
    interval: Interval
    p: float


def difference_of(rows: Rows, bounds: Sequence[int], rho: float) -> SegmentDifference:
    """Student's comparison of two stretches' clipped values, with pooled variance."""
    low, at, high = bounds
    parts = (slice(low, at), slice(at, high))
    return compared(*((rows.tidy[part], rows.weights[part]) for part in parts), rho=rho)


def shifted(before: Floats, after: Floats, *, rho: float = 0.0) -> SegmentDifference:
    """By how much ``after`` lies above ``before``, logarithms both, whatever their distribution.

    The median of the differences between all pairs, with the interval that inverts Mann and
    Whitney's test (J. Hodges, E. Lehmann: Estimates of location based on rank tests, Annals of
    Mathematical Statistics 34, 1963, 598-611), its variance multiplied for runs that depend on the
    one before as that of means is. Of long stretches the runs beside the change count.
    """
    from scipy.special import ndtr, ndtri

    before, after = before[-_MOST_PAIRED:], after[:_MOST_PAIRED]
    m, n = before.size, after.size
    pairs = np.sort(np.subtract.outer(after, before).ravel())
    grown = inflation(rho, np.array([m, n])) / np.array([m, n])
    deviation = math.sqrt(m * n * (m + n + 1) / 12.0 * float(grown.sum()) / (1.0 / m + 1.0 / n))
    middle = m * n / 2.0
    left = max(math.floor(middle + float(ndtri((1.0 - CONFIDENCE) / 2.0)) * deviation), 0)
    interval = (float(pairs[left]), float(pairs[-left - 1]))
    score = float(np.count_nonzero(pairs > 0.0) + 0.5 * np.count_nonzero(pairs == 0.0)) - middle
    p = min(1.0, 2.0 * float(ndtr(-max(abs(score) - 0.5, 0.0) / deviation)))
    return SegmentDifference(float(np.median(pairs)), interval, p)


def compared(
    before: tuple[Floats, Floats], after: tuple[Floats, Floats], *, rho: float = 0.0
) -> SegmentDifference:
    """Two stretches of logarithms with their weights: after less before."""
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
    reach = -float(stdtrit(df, (1.0 - CONFIDENCE) / 2.0)) * error
    p = 2.0 * float(stdtr(df, -abs(size) / error))
    return SegmentDifference(size, (size - reach, size + reach), p)


def residuals_of(rows: Rows, steps: Sequence[Alarm]) -> Floats:
    """The values less their stretches' means."""
    bounds = [0, *(step.at for step in steps), rows.x.size]
    spans = pairwise(bounds)
    return np.concatenate([rows.tidy[a:b] - rows.tidy[a:b].mean() for a, b in spans])


def place_interval(values: Floats, offset: int, rho: float) -> tuple[int, int]:
    """The 95% set of places of the one change in ``values``, from its likelihood at each place.

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


def drift_of(
    rows: Rows, span: Sequence[int], rho: float
) -> tuple[int, int, SegmentDifference] | None:
    """First and last run of a drift that tells these steps better than they do, and its size.

    A drift is a level, a line up or down, and a level, either of which may be missing. Steps and
    drift are compared by the Bayesian information criterion (Schwarz, 1978).
    """
    from scipy.special import stdtr, stdtrit

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
    grown = (1.0 + rho) / (1.0 - rho)
    free = 2 + (first > 0) + (last < n - 1)  # a level before it and one after cost a place each
    criterion = n / grown * np.log(rest) + free * math.log(n / grown)
    best = int(np.argmin(criterion))
    gain = n / grown * math.log(max(by_steps, n * FLOOR**2))
    gain += (2 * steps + 1) * math.log(n / grown) - float(criterion[best])
    if gain < (_RATHER if steps == 1 else _RATHER_SEVERAL):
        return None
    size = float(slope[best])
    df = max(n - 4, 1)
    error = math.sqrt(float(rest[best]) / df * grown / float(square[best]))
    reach = -float(stdtrit(df, (1.0 - CONFIDENCE) / 2.0)) * error
    p = min(1.0, first.size * 2.0 * float(stdtr(df, -abs(size) / error)))
    difference = SegmentDifference(size, (size - reach, size + reach), p)
    end = low + int(last[best])
    if end == high - 1:  # to its last run; before a further change something stays to compare with
        end = high if high == rows.x.size else high - 3
    return low + int(first[best]), end, difference
