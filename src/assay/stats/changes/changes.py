"""What a series of results, one a run, has gone through: steps, drifts, changes of scatter.

``scan`` notices changes as runs come in. Here they are put where all that is known by now would
have them, given sizes and intervals, and told from drifts; those that later runs refute are left
out. Everything is in logarithms: a step of 2% is as large for a nanosecond as for an hour.
docs/methods/history.md, "Change points", has the methods with their sources and rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import msgspec
import numpy as np

from assay.errors import AssayError
from assay.stats.changes.mode_share import ModeShare, mean_shift, mode_share
from assay.stats.changes.reordering import changed, places_of, remaining_dependence
from assay.stats.changes.scan import (
    FIRST,
    FLOOR,
    OUTLIER,
    Alarm,
    alarms,
    clipped_scale,
    dependence,
    inflation,
    robust_scale,
)
from assay.stats.changes.segments import (
    CONFIDENCE,
    Rows,
    SegmentDifference,
    bounded,
    difference_of,
    drift_of,
    place_interval,
    placed,
    residuals_of,
    shifted,
    tidied,
)
from assay.stats.core.intervals import Floats, Interval, checked

Kind = Literal["step", "drift", "spread", "modes"]

# A change stays on record while the stretches beside it still differ at this level: of level by the
# orders that their runs might have come in, of scatter by Brown and Forsythe's test.
LEVEL, _KEPT = 0.05, 1e-3
# The newest runs of which one may be suspicious, and the level of each such comparison.
_NEWEST, _SUSPECT = (1, 2, 3, 4, 6, 8), 3e-3


class Change(msgspec.Struct, frozen=True):
    """One change of a series. Places are indices of runs, in order of time.

    ``kind``: ``step``; ``drift``, a slow change from run ``earliest`` to run ``latest``;
    ``spread``, of scatter alone; ``modes``, of the share of runs at each of two levels, ``modes``.
    ``at``: the first run after it; ``earliest``, ``latest``: its 95% interval. ``found``: the run
    after which it could first be reported, ``at`` or later. ``size``: of a step or drift the level
    after it over that before, less 1 (of a step as Hodges and Lehmann estimate it, of modes of the
    means); of scatter the deviation after over that before, less 1. ``size_ci95``: its 95%
    interval. ``p``: how likely so great a change, anywhere in these stretches, is by chance.
    """

    kind: Kind
    at: int
    earliest: int
    latest: int
    found: int
    size: float
    size_ci95: tuple[float, float]
    p: float
    modes: ModeShare | None = None


class SeriesSegment(msgspec.Struct, frozen=True):
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


class SuspectedChange(msgspec.Struct, frozen=True):
    """So many of the newest ``runs`` lie off those before them, by ``size`` (relative)."""

    runs: int
    size: float


class Changes(msgspec.Struct, frozen=True):
    """A series' changes, the stretches between those of level, and what else is odd in it.

    ``outliers``: runs that lie apart alone. ``suspect``: the newest runs, where they are off as
    they are by chance in 1 of 100 looks: no change yet, and perhaps none. ``dependence``: the
    autocorrelation of neighbouring runs that was reckoned with; ``dependence_at_most``: the same
    and a standard error, where it is evident, for what is said of many cells at once. ``alarms``:
    changes as they were noticed, those included that later runs refuted.
    """

    changes: list[Change]
    segments: list[SeriesSegment]
    outliers: list[int]
    suspect: SuspectedChange | None
    dependence: float
    alarms: list[Alarm]
    dependence_at_most: float = 0.0


def find_changes(
    values: Sequence[float] | Floats,
    utc: Sequence[float] | Floats | None = None,
    scatter: Sequence[float] | Floats | None = None,
    level: float = LEVEL,
) -> Changes:
    """The changes of positive ``values``, one a run, in order of time.

    ``utc``: s, when they were measured, for drifts; without it they are taken to be evenly spaced.
    ``scatter``: the standard error of each value within its run, nan where it isn't known: a run
    that is less sure than usual counts for less. ``level``: the greatest ``p`` of a change of level
    that stays on record. Raises AssayError for what is not positive.
    """
    series = checked(values)
    if series.min() <= 0.0:
        raise AssayError("A history needs results above zero.", where=f"{series.min():g}")
    x = np.log(series)
    times = np.arange(x.size, dtype=np.float64) if utc is None else np.asarray(utc, np.float64)
    weights = _weights(x, series, scatter)
    noticed = alarms(x, weights)
    tidy, outliers = tidied(x, [alarm.at for alarm in noticed if alarm.kind == "step"])
    rows = Rows(x, tidy, weights, times)
    steps = _significant_steps(
        rows, placed(x, outliers, [a for a in noticed if a.kind == "step"]), level
    )
    tidy, outliers = tidied(x, [step.at for step in steps])
    rows = Rows(x, tidy, weights, times)
    residuals = residuals_of(rows, steps)
    scores = residuals / robust_scale(residuals)
    rho = remaining_dependence(scores, len(steps))
    changes, segments = _changes_and_segments(rows, steps, rho)
    # Scatter that grew looks like steps that later runs refute.
    kept = {step.found for step in steps}
    for alarm in noticed:
        if alarm.found not in kept:
            changes += _spread(rows, alarm, changes)
    return Changes(
        changes=sorted(changes, key=lambda change: change.at),
        segments=segments,
        outliers=outliers,
        suspect=_suspect(x, segments[-1], dependence(scores)),
        dependence=rho,
        alarms=noticed,
        dependence_at_most=remaining_dependence(scores, len(steps), added=1.0),
    )


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


def _significant_steps(rows: Rows, steps: Sequence[Alarm], level: float) -> list[Alarm]:
    """The steps beside which the runs' order still matters, with how likely it would by chance."""
    kept = list(steps)
    known: dict[tuple[int, int, float], float] = {}
    while kept:
        bounds = [0, *(step.at for step in kept), rows.x.size]
        residuals = residuals_of(rows, kept)
        rho = remaining_dependence(residuals / robust_scale(residuals), len(kept))
        # Stretches were chosen by their values. That anything changed at all is tried in the whole.
        whole = changed(rows.x, rho, passing=True) if len(kept) > 1 else 0.0
        doubts = []
        for i in range(len(kept)):
            low, _, high = _beside(bounds[i : i + 3])
            span = (low, high, rho)
            if span not in known:
                known[span] = changed(rows.x[low:high], rho)
            doubts.append(max(known[span], whole))
        worst = int(np.argmax(doubts))
        if doubts[worst] <= level:
            return [replace(step, p=p) for step, p in zip(kept, doubts, strict=True)]
        del kept[worst]
    return kept


def _changes_and_segments(
    rows: Rows, steps: Sequence[Alarm], rho: float
) -> tuple[list[Change], list[SeriesSegment]]:
    """The steps as changes, those of them that are rather a drift as one."""
    bounds = [0, *(step.at for step in steps), rows.x.size]
    changes: list[Change] = []
    segments: list[SeriesSegment] = []
    sizes = [difference_of(rows, bounds[i : i + 3], rho) for i in range(len(steps))]
    i = 0
    while i < len(steps):
        j = i + 1
        while j < len(steps) and sizes[j].size * sizes[i].size > 0:
            j += 1
        span = bounds[i : j + 2]
        drift = drift_of(rows, span, rho)
        if drift is not None:
            first, last, difference = drift
            p = max(difference.p, max(step.p for step in steps[i:j]))
            found = max(steps[i].found, first)
            changes.append(Change("drift", first, first, last, found, *_relative(difference), p))
            if first > span[0]:
                segments.append(_segment(rows, span[0], first, rho))
            segments.append(_drifting(rows, first, last, rho))
            rest = last
        else:
            for k in range(i, j):
                low, at, high = _beside(bounds[k : k + 3])
                # Few runs like those beyond a place are seldom beside it; for normal noise it may
                # be likely nevertheless.
                near = bounded(rows.x, (), (low, at, high))
                sets = (places_of(near, low, rho), place_interval(near, low, rho))
                early, late = min(each[0] for each in sets), max(each[1] for each in sets)
                step, sides = steps[k], (rows.x[low:at], rows.x[at:high])
                modes = mode_share(*sides)
                difference = mean_shift(*sides, rho) if modes else shifted(*sides, rho=rho)
                changes.append(
                    Change("modes" if modes else "step", step.at, min(early, step.at),
                           max(late, step.at), max(step.found, step.at), *_relative(difference),
                           step.p, modes)
                )  # fmt: skip
                segments.append(_segment(rows, bounds[k], bounds[k + 1], rho))
            rest = bounds[j]
        bounds[j] = rest  # what follows begins where the drift ended
        i = j
    if bounds[len(steps)] < rows.x.size:
        segments.append(_segment(rows, bounds[len(steps)], rows.x.size, rho))
    return changes, segments


def _beside(bounds: Sequence[int]) -> tuple[int, int, int]:
    """The runs among which a change's place is sought, and the place.

    Of a long stretch beside a short one as many as are comparable: thousands of unlikely places
    would outweigh a likely one.
    """
    low, at, high = bounds
    return max(low, at - 8 * (high - at) - 32), at, min(high, at + 8 * (at - low) + 32)


def _relative(difference: SegmentDifference) -> tuple[float, Interval]:
    low, high = difference.interval
    return math.expm1(difference.size), (math.expm1(low), math.expm1(high))


def _segment(rows: Rows, start: int, stop: int, rho: float) -> SeriesSegment:
    from scipy.special import stdtrit

    values, weights = rows.tidy[start:stop], rows.weights[start:stop]
    mean = float(np.average(values, weights=weights))
    if values.size < 2:
        return SeriesSegment(start, stop, math.exp(mean), None, None)
    deviation = float(np.std(values, ddof=1))
    grown = float(inflation(rho, np.array([values.size]))[0])
    reach = deviation * math.sqrt(grown / float(weights.sum()))
    reach *= -float(stdtrit(values.size - 1, (1.0 - CONFIDENCE) / 2.0))
    interval = (math.exp(mean - reach), math.exp(mean + reach))
    return SeriesSegment(start, stop, math.exp(mean), interval, deviation)


def _drifting(rows: Rows, start: int, stop: int, rho: float) -> SeriesSegment:
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
    reach *= -float(stdtrit(df, (1.0 - CONFIDENCE) / 2.0))
    interval = (math.exp(end - reach), math.exp(end + reach))
    return SeriesSegment(start, stop, math.exp(end), interval, deviation, drifting=True)


def _spread(rows: Rows, alarm: Alarm, changes: Sequence[Change]) -> list[Change]:
    """A change of scatter, if it is one: around each side's own middle (Brown & Forsythe, 1974)."""
    from scipy.special import stdtrit
    from scipy.stats import levene

    at, others = alarm.at, [change.at for change in changes]
    low = max((each for each in others if each <= at), default=0)
    high = min((each for each in others if each > at), default=rows.x.size)
    sides = [rows.x[low:at], rows.x[at:high]]
    if min(side.size for side in sides) < FIRST:
        return []
    p = float(levene(*sides, center="median").pvalue) * (high - low)
    if not p <= _KEPT:
        return []
    logs = [np.log(np.maximum(np.abs(side - np.median(side)), FLOOR)) for side in sides]
    deviations = [robust_scale(side - np.median(side)) for side in sides]
    size = math.log(deviations[1] / deviations[0])
    error = math.sqrt(sum(float(np.var(each, ddof=1)) / each.size for each in logs))
    reach = -float(stdtrit(sum(side.size for side in sides) - 2, 0.025)) * error
    interval = (math.expm1(size - reach), math.expm1(size + reach))
    return [Change("spread", at, at, at, alarm.found, math.expm1(size), interval, p)]


def _suspect(x: Floats, segment: SeriesSegment, rho: float) -> SuspectedChange | None:
    """The newest runs, if they are off those before them as 1 look in 100 has it by chance."""
    from scipy.special import stdtrit

    if segment.drifting:
        return None
    part = x[segment.start : segment.stop]
    found: tuple[float, SuspectedChange] | None = None
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
            found = ratio, SuspectedChange(k, math.expm1(off))
    return found[1] if found else None
