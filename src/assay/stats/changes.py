"""What a series of results, one a run, has gone through: steps, drifts, changes of scatter.

``scan`` notices changes as runs come in. Here they are put where all that is known by now would
have them, given sizes and intervals, and told from drifts; those that later runs refute are left
out. Everything is in logarithms: a step of 2% is as large for a nanosecond as for an hour.
docs/methods.md, "Change points", has the methods with their sources and rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from assay.errors import AssayError
from assay.stats.intervals import Floats, Interval, checked
from assay.stats.scan import (
    FIRST,
    FLOOR,
    OUTLIER,
    Alarm,
    alarms,
    clip_of,
    clipped_scale,
    dependence,
    inflation,
    robust_scale,
)

Kind = Literal["step", "drift", "spread"]

# A change stays on record while the stretches beside it still differ at this level.
_KEPT = 1e-3
# By how much the Bayesian information criterion must favour a drift over one step, over several.
_RATHER, _RATHER_SEVERAL = 6.0, 0.0
# Shortest drift, in runs; places between which one is tried.
_DRIFT, _PLACES = 8, 24
# Changes closer than this are placed together, with so many runs around them.
_NEAR, _AROUND = 40, 150
_CONFIDENCE = 0.95
# The newest runs of which one may be suspicious, and the level of each such comparison.
_NEWEST, _SUSPECT = (1, 2, 3, 4, 6, 8), 3e-3


class Change(msgspec.Struct, frozen=True):
    """One change of a series. Places are indices of runs, in order of time.

    ``kind``: ``step``; ``drift``, a slow change from run ``earliest`` to run ``latest``;
    ``spread``, of scatter alone. ``at``: the first run after it; ``earliest``, ``latest``: its 95%
    interval. ``found``: the run after which it could first be told. ``size``: of a step or drift
    the level after it over that before, less 1; of scatter the deviation after over that before,
    less 1. ``size_ci95``: its 95% interval. ``p``: of the comparison that told it, for all splits
    that were looked at after that run.
    """

    kind: Kind
    at: int
    earliest: int
    latest: int
    found: int
    size: float
    size_ci95: tuple[float, float]
    p: float


class Segment(msgspec.Struct, frozen=True):
    """Runs ``start`` to ``stop`` (excluded) between changes of level.

    ``level``: where the results lie, in their unit (the clipped mean of their logarithms; of a
    drifting stretch, its end), with its 95% interval, null for one run. ``deviation``: the relative
    standard deviation of runs around it, outliers that are alone left out; null for one run.
    """

    start: int
    stop: int
    level: float
    level_ci95: tuple[float, float] | None
    deviation: float | None
    drifting: bool = False

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return self.stop - self.start


class Suspect(msgspec.Struct, frozen=True):
    """So many of the newest ``runs`` lie off those before them, by ``size`` (relative)."""

    runs: int
    size: float


class Changes(msgspec.Struct, frozen=True):
    """A series' changes, the stretches between those of level, and what else is odd in it.

    ``outliers``: runs that lie apart alone. ``suspect``: the newest runs, where they are off as they
    are by chance in 1 of 100 looks: no change yet, and perhaps none. ``dependence``: the
    autocorrelation of neighbouring runs that was reckoned with. ``alarms``: changes as they were
    noticed, those included that later runs refuted.
    """

    changes: list[Change]
    segments: list[Segment]
    outliers: list[int]
    suspect: Suspect | None
    dependence: float
    alarms: list[Alarm]


def find_changes(
    values: Sequence[float] | Floats,
    utc: Sequence[float] | Floats | None = None,
    scatter: Sequence[float] | Floats | None = None,
) -> Changes:
    """The changes of positive ``values``, one a run, in order of time.

    ``utc``: s, when they were measured, for drifts; without it they are taken to be evenly spaced.
    ``scatter``: the standard error of each value within its run, nan where it isn't known: a run
    that is less sure than usual counts for less. Raises AssayError for what is not positive.
    """
    series = checked(values)
    if series.min() <= 0.0:
        raise AssayError("A history needs results above zero.", where=f"{series.min():g}")
    x = np.log(series)
    times = np.arange(x.size, dtype=np.float64) if utc is None else np.asarray(utc, np.float64)
    weights = _weights(x, series, scatter)
    noticed = alarms(x, weights)
    tidy, outliers = _tidy(x, [alarm.at for alarm in noticed if alarm.kind == "step"])
    rows = _Rows(x, tidy, weights, times)
    steps = _kept(rows, _placed(x, outliers, [a for a in noticed if a.kind == "step"]))
    tidy, outliers = _tidy(x, [step.at for step in steps])
    rows = _Rows(x, tidy, weights, times)
    residuals = _residuals(rows, steps)
    rho = dependence(residuals / robust_scale(residuals))
    changes, segments = _told(rows, outliers, steps, rho)
    spreads = [_spread(rows, a, changes) for a in noticed if a.kind == "spread"]
    changes += [spread for spread in spreads if spread is not None]
    return Changes(
        changes=sorted(changes, key=lambda change: change.at),
        segments=segments,
        outliers=outliers,
        suspect=_suspect(x, segments[-1], rho),
        dependence=rho,
        alarms=noticed,
    )


class _Rows(NamedTuple):
    """A series: logarithms, the same with outliers drawn in, weights, times."""

    x: Floats
    tidy: Floats
    weights: Floats
    utc: Floats


def _weights(x: Floats, values: Floats, scatter: Sequence[float] | Floats | None) -> Floats:
    """A run's scatter beyond the usual adds to its variance, and so lessens its weight."""
    if scatter is None or x.size < FIRST:
        return np.ones(x.size)
    own = (np.asarray(scatter, dtype=np.float64) / values) ** 2
    if np.isnan(own).all():
        return np.ones(x.size)
    steps = np.diff(x)
    variance = robust_scale(steps) ** 2 / 2.0
    more = np.nan_to_num(np.maximum(own - np.nanmedian(own), 0.0))
    return np.maximum(1.0 / (1.0 + more / variance), 0.05)


def _tidy(x: Floats, ats: Sequence[int]) -> tuple[Floats, list[int]]:
    """The series with each value clipped around its stretch's middle, and its outliers.

    A run is an outlier that lies far from its stretch, and as far from both of its neighbours.
    """
    tidy = x.copy()
    apart = np.zeros(x.size, dtype=bool)
    bounds = [0, *ats, x.size]
    for start, stop in zip(bounds, bounds[1:], strict=False):
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
    """The best places of so many changes of level (least squares, exact, by ruptures)."""
    from ruptures import KernelCPD

    found = KernelCPD(kernel="linear", min_size=2).fit(values[:, None]).predict(n_bkps=count)
    return [int(place) for place in found[:-1]]


def _bounded(x: Floats, outliers: Sequence[int], bounds: Sequence[int]) -> Floats:
    """The values of neighbouring stretches, clipped beyond the lowest and the highest of them.

    Between those levels nothing is clipped: it would be drawn to the stretch that it was thought to
    belong to, and places with it. Outliers that are alone become the mean of their neighbours.
    """
    low, high = bounds[0], bounds[-1]
    values = x[low:high].copy()
    for place in outliers:
        if low < place < high - 1:
            values[place - low] = (x[place - 1] + x[place + 1]) / 2.0
    parts = [values[a - low : b - low] for a, b in zip(bounds, bounds[1:], strict=False)]
    levels = [float(np.median(part)) for part in parts]
    rest = np.concatenate([part - level for part, level in zip(parts, levels, strict=True)])
    reach = 3.0 * clipped_scale(rest)
    return np.clip(values, min(levels) - reach, max(levels) + reach)


def _placed(x: Floats, outliers: Sequence[int], noticed: Sequence[Alarm]) -> list[Alarm]:
    """The steps where the whole series would have them, those near each other together."""
    made: list[Alarm] = []
    groups: list[list[Alarm]] = []
    for alarm in noticed:
        if groups and alarm.at - groups[-1][-1].at <= _NEAR and len(groups[-1]) < _NEAR:
            groups[-1].append(alarm)
        else:
            groups.append([alarm])
    for number, group in enumerate(groups):
        before = made[-1].at if made else 0
        after = groups[number + 1][0].at if number + 1 < len(groups) else x.size
        low = max(before, group[0].at - _AROUND)
        high = min(after, group[-1].at + _AROUND)
        if high - low < 2 * (len(group) + 1):
            made += group
            continue
        inner = [low, *(alarm.at for alarm in group), high]
        places = segmented(_bounded(x, outliers, inner), len(group))
        made += [
            Alarm(alarm.kind, low + place, alarm.found, alarm.p)
            for alarm, place in zip(group, places, strict=True)
        ]
    return made


def _kept(rows: _Rows, steps: Sequence[Alarm]) -> list[Alarm]:
    """The steps at which the stretches beside them still differ, by all their runs."""
    kept = list(steps)
    while kept:
        bounds = [0, *(step.at for step in kept), rows.x.size]
        residuals = _residuals(rows, kept)
        rho = dependence(residuals / robust_scale(residuals))
        doubts = [
            _difference(rows, bounds[i : i + 3], rho).p for i in range(len(kept))
        ]  # fmt: skip
        worst = int(np.argmax(doubts))
        if doubts[worst] <= _KEPT:
            break
        del kept[worst]
    return kept


class _Difference(NamedTuple):
    """Of two neighbouring stretches' levels: logarithm of their ratio, its interval, p."""

    size: float
    interval: Interval
    p: float


def _difference(rows: _Rows, bounds: Sequence[int], rho: float) -> _Difference:
    """Student's comparison of two stretches' clipped values, with pooled variance."""
    low, at, high = bounds
    parts = (slice(low, at), slice(at, high))
    return compared(*((rows.tidy[part], rows.weights[part]) for part in parts), rho=rho)


def compared(
    before: tuple[Floats, Floats], after: tuple[Floats, Floats], *, rho: float = 0.0
) -> _Difference:
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
    reach = -float(stdtrit(df, (1.0 - _CONFIDENCE) / 2.0)) * error
    p = 2.0 * float(stdtr(df, -abs(size) / error))
    return _Difference(size, (size - reach, size + reach), p)


def _residuals(rows: _Rows, steps: Sequence[Alarm]) -> Floats:
    """The values less their stretches' means."""
    bounds = [0, *(step.at for step in steps), rows.x.size]
    spans = zip(bounds, bounds[1:], strict=False)
    return np.concatenate([rows.tidy[a:b] - rows.tidy[a:b].mean() for a, b in spans])


def _told(
    rows: _Rows, outliers: Sequence[int], steps: Sequence[Alarm], rho: float
) -> tuple[list[Change], list[Segment]]:
    """The steps as changes, those of them that are rather a drift as one."""
    bounds = [0, *(step.at for step in steps), rows.x.size]
    changes: list[Change] = []
    segments: list[Segment] = []
    sizes = [_difference(rows, bounds[i : i + 3], rho) for i in range(len(steps))]
    i = 0
    while i < len(steps):
        j = i + 1
        while j < len(steps) and sizes[j].size * sizes[i].size > 0:
            j += 1
        span = bounds[i : j + 2]
        drift = _drift(rows, span, rho)
        if drift is not None:
            first, last, difference = drift
            noticed, p = steps[i].found, min(step.p for step in steps[i:j])
            changes.append(
                Change(
                    "drift", first, first, last, noticed, *_relative(difference), p
                )
            )
            if first > span[0]:
                segments.append(_segment(rows, span[0], first, rho))
            segments.append(_drifting(rows, first, last, rho))
            rest = last
        else:
            for k in range(i, j):
                beside = _bounded(rows.x, outliers, bounds[k : k + 3])
                early, late = _place_interval(beside, bounds[k], rho)
                step = steps[k]
                changes.append(
                    Change("step", step.at, min(early, step.at), max(late, step.at), step.found,
                           *_relative(_difference(rows, bounds[k : k + 3], rho)), step.p)
                )  # fmt: skip
                segments.append(_segment(rows, bounds[k], bounds[k + 1], rho))
            rest = bounds[j]
        bounds[j] = rest  # what follows begins where the drift ended
        i = j
    if bounds[len(steps)] < rows.x.size:
        segments.append(_segment(rows, bounds[len(steps)], rows.x.size, rho))
    return changes, segments


def _relative(difference: _Difference) -> tuple[float, Interval]:
    low, high = difference.interval
    return math.expm1(difference.size), (math.expm1(low), math.expm1(high))


def _segment(rows: _Rows, start: int, stop: int, rho: float) -> Segment:
    from scipy.special import stdtrit

    values, weights = rows.tidy[start:stop], rows.weights[start:stop]
    mean = float(np.average(values, weights=weights))
    if values.size < 2:
        return Segment(start, stop, math.exp(mean), None, None)
    deviation = float(np.std(values, ddof=1))
    grown = float(inflation(rho, np.array([values.size]))[0])
    reach = deviation * math.sqrt(grown / float(weights.sum()))
    reach *= -float(stdtrit(values.size - 1, (1.0 - _CONFIDENCE) / 2.0))
    interval = (math.exp(mean - reach), math.exp(mean + reach))
    return Segment(start, stop, math.exp(mean), interval, deviation)


def _drifting(rows: _Rows, start: int, stop: int, rho: float) -> Segment:
    """A drifting stretch: its level is where its line ends."""
    from scipy.special import stdtrit

    t, y = rows.utc[start:stop], rows.tidy[start:stop]
    centred = t - t.mean()
    square = float(centred @ centred) or 1.0
    slope = float(centred @ (y - y.mean())) / square
    rest = y - y.mean() - slope * centred
    df = max(y.size - 2, 1)
    deviation = math.sqrt(float(rest @ rest) / df)
    grown = float(inflation(rho, np.array([y.size]))[0])
    end = float(y.mean() + slope * centred[-1])
    reach = deviation * math.sqrt(grown * (1.0 / y.size + float(centred[-1]) ** 2 / square))
    reach *= -float(stdtrit(df, (1.0 - _CONFIDENCE) / 2.0))
    interval = (math.exp(end - reach), math.exp(end + reach))
    return Segment(start, stop, math.exp(end), interval, deviation, drifting=True)


def _place_interval(values: Floats, offset: int, rho: float) -> tuple[int, int]:
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
    inside = places[order[: int(np.searchsorted(share, _CONFIDENCE)) + 1]]
    return offset + int(inside.min()), offset + int(inside.max())


def _drift(
    rows: _Rows, span: Sequence[int], rho: float
) -> tuple[int, int, _Difference] | None:
    """First and last run of a drift that tells these steps better than they do, and its size.

    A drift is a level, a line up or down, and a level, either of which may be missing. Steps and
    drift are compared by the Bayesian information criterion (Schwarz, 1978).
    """
    from scipy.special import stdtrit

    low, high = span[0], span[-1]
    y, t = rows.tidy[low:high], rows.utc[low:high]
    n, steps = y.size, len(span) - 2
    if n < 2 * _DRIFT:
        return None
    inner = [place - low for place in span]
    by_steps = sum(
        float(np.sum((y[a:b] - y[a:b].mean()) ** 2)) for a, b in zip(inner, inner[1:], strict=False)
    )
    places = np.unique(np.linspace(0, n - 1, _PLACES).round().astype(int))
    first, last = (np.array(each) for each in zip(
        *((a, b) for a in places for b in places if b - a >= _DRIFT), strict=True))  # fmt: skip
    width = np.maximum(t[last] - t[first], 1e-9)[:, None]
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
    reach = -float(stdtrit(df, (1.0 - _CONFIDENCE) / 2.0)) * error
    difference = _Difference(size, (size - reach, size + reach), 0.0)
    end = low + int(last[best])
    if end == high - 1:  # to its last run; before a further change something stays to compare with
        end = high if high == rows.x.size else high - 3
    return low + int(first[best]), end, difference


def _spread(rows: _Rows, alarm: Alarm, changes: Sequence[Change]) -> Change | None:
    """A change of scatter, if it is one: around each side's own middle (Brown & Forsythe, 1974)."""
    from scipy.special import stdtrit
    from scipy.stats import levene

    levels = [change.at for change in changes if change.kind != "spread"]
    low = max((at for at in levels if at <= alarm.at - FIRST), default=0)
    high = min((at for at in levels if at >= alarm.at + FIRST), default=rows.x.size)
    sides = [rows.tidy[low : alarm.at], rows.tidy[alarm.at : high]]
    if min(side.size for side in sides) < FIRST:
        return None
    if float(levene(*sides, center="median").pvalue) > _KEPT:
        return None
    logs = [np.log(np.maximum(np.abs(side - np.median(side)), FLOOR)) for side in sides]
    deviations = [robust_scale(side - np.median(side)) for side in sides]
    size = math.log(deviations[1] / deviations[0])
    error = math.sqrt(sum(float(np.var(each, ddof=1)) / each.size for each in logs))
    reach = -float(stdtrit(sum(side.size for side in sides) - 2, 0.025)) * error
    interval = (math.expm1(size - reach), math.expm1(size + reach))
    return Change(
        "spread", alarm.at, alarm.at, alarm.at, alarm.found, math.expm1(size), interval, alarm.p
    )


def _suspect(x: Floats, segment: Segment, rho: float) -> Suspect | None:
    """The newest runs, if they are off those before them as 1 look in 100 has it by chance."""
    from scipy.special import stdtrit

    if segment.drifting:
        return None
    part = x[segment.start : segment.stop]
    found: tuple[float, Suspect] | None = None
    for k in _NEWEST:
        near, far = part[:-k], part[-k:]
        if near.size < FIRST:
            break
        centre = float(np.median(near))
        scale = clipped_scale(near - centre)
        off = float(np.median(far)) - centre
        near, far = (np.clip((each - centre) / scale, -OUTLIER, OUTLIER) for each in (near, far))
        grown = inflation(rho, np.array([k, near.size])) / np.array([k, near.size])
        error = float(near.std(ddof=1)) * math.sqrt(float(grown.sum()))
        mean = float(far.mean())
        statistic = (mean - float(near.mean())) / max(error, FLOOR)
        ratio = abs(statistic) / -float(stdtrit(near.size - 1, _SUSPECT / 2.0))
        # Of several runs the lower half too must be off that way: one alone is an outlier.
        lower = float(np.sort(far * np.sign(mean))[(k - 1) // 2])
        if ratio > max(1.0, found[0] if found else 0.0) and lower > 0.3 * abs(mean):
            found = ratio, Suspect(k, math.expm1(off))
    return found[1] if found else None
