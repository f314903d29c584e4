"""Change points of a series with one result per run: steps, drifts, changes of scatter.

``scan`` detects changes run by run. This module places them by the whole series, estimates their
sizes with intervals, and distinguishes steps from drifts; changes that later runs refute are left
out. Everything is in logarithms, so that changes are relative. docs/methods/history.md, "Change
points", has the methods with their sources and error rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from assay.arrays import Floats
from assay.errors import AssayError
from assay.stats.changes.mode_share import ModeShare, mean_shift, mode_share
from assay.stats.changes.reordering import (
    estimated_dependence,
    places_of,
    remaining_dependence,
)
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
    FittedDrift,
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
from assay.stats.changes.significance import StepTests, beside, significant_steps
from assay.stats.core.intervals import checked
from assay.units import Interval

Kind = Literal["step", "drift", "spread", "modes"]

# A change is kept if the stretches on both sides differ at this level: LEVEL for changes of level,
# by a permutation test, and _KEPT for changes of scatter, by Brown and Forsythe's test.
LEVEL, _KEPT = 0.05, 1e-3
# Numbers of newest runs that are compared with those before, and the level of each comparison.
_NEWEST, _SUSPECT = (1, 2, 3, 4, 6, 8), 3e-3


@dataclass(frozen=True)
class Change:
    """One change of a series. Places are indices of runs, in order of time."""

    #: ``step``: a sudden change of level. ``drift``: a slow change from run ``earliest`` to run
    #: ``latest``. ``spread``: a change of scatter only. ``modes``: a change in the share of runs at
    #: each of two levels, given in ``modes``.
    kind: Kind
    #: First run after the change.
    at: int
    #: ``earliest``, ``latest``: 95% interval of the first run after the change.
    earliest: int
    latest: int
    #: Run after which the change could first be reported; ``at`` or later.
    found: int
    #: Relative size. For a step or drift: the level after the change divided by the level before,
    #: minus 1 (for a step by the Hodges-Lehmann estimate, for modes by the means). For a change of
    #: scatter: the deviation after the change divided by the deviation before, minus 1.
    size: float
    #: 95% interval of ``size``.
    size_ci95: tuple[float, float]
    #: Probability of a change of this size anywhere in these stretches, if nothing changed.
    p: float
    modes: ModeShare | None = None


@dataclass(frozen=True)
class SeriesSegment:
    """Runs ``start`` to ``stop`` (excluded) between changes of level."""

    start: int
    stop: int
    #: Level of the results, in their unit: the clipped mean of their logarithms; for a drifting
    #: segment, the level at its end.
    level: float
    #: 95% interval of ``level``; null for one run.
    level_ci95: tuple[float, float] | None
    #: Relative standard deviation of runs around the level, without isolated outliers; null for one
    #: run.
    deviation: float | None
    drifting: bool = False

    @property
    def runs(self) -> int:
        """Number of runs."""
        return self.stop - self.start


@dataclass(frozen=True)
class SuspectedChange:
    """The newest ``runs`` runs differ from those before them by ``size`` (relative)."""

    #: Number of newest runs that differ.
    runs: int
    #: Relative difference from the runs before.
    size: float


@dataclass(frozen=True)
class Changes:
    """Changes of a series, segments between changes of level, outliers and suspected changes."""

    changes: list[Change]
    segments: list[SeriesSegment]
    #: Isolated runs far from their segment.
    outliers: list[int]
    #: The newest runs, if they differ from the runs before at a level that chance reaches in 1 of
    #: 100 checks; this is not yet a change.
    suspect: SuspectedChange | None
    #: The autocorrelation of neighbouring runs that the tests allow for.
    dependence: float
    #: Changes as they were detected, including changes that later runs refuted.
    alarms: list[Alarm]
    #: ``dependence`` plus up to one standard error if the dependence is evident; for statements
    #: about many cells together.
    dependence_at_most: float = 0.0
    #: The estimated autocorrelation alone, even if it is less than its standard error.
    dependence_found: float = 0.0


class ObservedSeries(NamedTuple):
    """A series and the alarms raised run by run, which don't depend on the level of a test."""

    rows: Rows
    noticed: list[Alarm]
    steps: list[Alarm]
    tested: StepTests


def series_of(
    values: Sequence[float] | Floats,
    utc: Sequence[float] | Floats | None = None,
    scatter: Sequence[float] | Floats | None = None,
) -> ObservedSeries:
    """Positive ``values``, one per run, in order of time, for ``changes_of``.

    ``utc``: times of the runs, s, for drifts; without it runs count as evenly spaced. ``scatter``:
    the standard error of each value within its run, nan if unknown; runs with a greater one than
    the median have less weight. Raises AssayError for values that are not positive.
    """
    series = checked(values)
    if series.min() <= 0.0:
        raise AssayError(
            f"A history needs results above 0, but one is {series.min():g}.",
            fix="Leave out the run with this result.",
        )
    x = np.log(series)
    times = np.arange(x.size, dtype=np.float64) if utc is None else np.asarray(utc, np.float64)
    weights = _weights(x, series, scatter)
    noticed = alarms(x, weights)
    tidy, outliers = tidied(x, [alarm.at for alarm in noticed if alarm.kind == "step"])
    rows = Rows(x, tidy, weights, times)
    steps = placed(x, outliers, [each for each in noticed if each.kind == "step"])
    return ObservedSeries(rows, noticed, steps, StepTests(rows))


def changes_of(
    series: ObservedSeries, level: float = LEVEL, least_dependence: float = 0.0
) -> Changes:
    """The changes of a series.

    ``level``: the greatest ``p`` of a change of level that is kept. ``least_dependence``: the
    autocorrelation of neighbours to allow for at least.
    """
    (x, _, weights, times), noticed = series.rows, series.noticed
    steps = significant_steps(series.tested, series.steps, level, least_dependence)
    tidy, outliers = tidied(x, [step.at for step in steps])
    rows = Rows(x, tidy, weights, times)
    residuals = residuals_of(rows, steps)
    scores = residuals / robust_scale(residuals)
    rho = remaining_dependence(scores, len(steps), least=least_dependence)
    changes, segments = _changes_and_segments(rows, steps, rho)
    # Increased scatter appears as steps that later runs refute.
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
        dependence_at_most=remaining_dependence(
            scores, len(steps), added=1.0, least=least_dependence
        ),
        dependence_found=estimated_dependence(scores, len(steps)),
    )


def newest_deviation(values: Floats) -> SuspectedChange | None:
    """What is suspected of the newest of these runs, which had one level so far."""
    x = np.log(checked(values))
    tidy, _ = tidied(x, [])
    residuals = tidy - tidy.mean()
    rho = dependence(residuals / robust_scale(residuals))
    whole = SeriesSegment(0, x.size, float(values[-1]), None, None)
    return _suspect(x, whole, rho)


def _weights(x: Floats, values: Floats, scatter: Sequence[float] | Floats | None) -> Floats:
    """Weights of runs: scatter above the median adds to a run's variance and lowers its weight."""
    if scatter is None or x.size < FIRST:
        return np.ones(x.size)
    own = (np.asarray(scatter, dtype=np.float64) / values) ** 2
    if np.isnan(own).all():
        return np.ones(x.size)
    steps = np.diff(x)
    variance = robust_scale(steps) ** 2 / 2.0
    more = np.nan_to_num(np.maximum(own - np.nanmedian(own), 0.0))
    return np.maximum(1.0 / (1.0 + more / variance), 0.05)


def _changes_and_segments(
    rows: Rows, steps: Sequence[Alarm], rho: float
) -> tuple[list[Change], list[SeriesSegment]]:
    """The changes and segments; successive steps that a drift explains better become one change."""
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
            first, last, *_ = drift
            found = max(steps[i].found, first)
            size, interval = _relative(drift)
            changes.append(
                Change(
                    kind="drift",
                    at=first,
                    earliest=first,
                    latest=last,
                    found=found,
                    size=size,
                    size_ci95=interval,
                    # The permutation tests find any change; the criterion only chooses its form.
                    p=max(step.p for step in steps[i:j]),
                )
            )
            if first > span[0]:
                segments.append(_segment(rows, span[0], first, rho))
            segments.append(_drifting(rows, first, last, rho))
            rest = last
        else:
            for k in range(i, j):
                low, at, high = beside(bounds[k : k + 3])
                # The union of both intervals: the permutation interval may exclude a place that is
                # likely under normal noise.
                near = bounded(rows.x, (), (low, at, high))
                sets = (places_of(near, low, rho), place_interval(near, low, rho))
                early, late = min(each[0] for each in sets), max(each[1] for each in sets)
                step, sides = steps[k], (rows.x[low:at], rows.x[at:high])
                modes = mode_share(*sides)
                difference = mean_shift(*sides, rho) if modes else shifted(*sides, rho=rho)
                size, interval = _relative(difference)
                changes.append(
                    Change(
                        kind="modes" if modes else "step",
                        at=step.at,
                        earliest=min(early, step.at),
                        latest=max(late, step.at),
                        found=max(step.found, step.at),
                        size=size,
                        size_ci95=interval,
                        p=step.p,
                        modes=modes,
                    )
                )
                segments.append(_segment(rows, bounds[k], bounds[k + 1], rho))
            rest = bounds[j]
        bounds[j] = rest  # the next stretch begins at the end of the drift
        i = j
    if bounds[len(steps)] < rows.x.size:
        segments.append(_segment(rows, bounds[len(steps)], rows.x.size, rho))
    return changes, segments


def _relative(difference: SegmentDifference | FittedDrift) -> tuple[float, Interval]:
    low, high = difference.interval
    return math.expm1(difference.size), (math.expm1(low), math.expm1(high))


def _segment(rows: Rows, start: int, stop: int, rho: float) -> SeriesSegment:
    from scipy.special import stdtrit

    values, weights = rows.tidy[start:stop], rows.weights[start:stop]
    mean = float(np.average(values, weights=weights))
    if values.size < 2:
        return SeriesSegment(start, stop, math.exp(mean), None, None)
    deviation = float(np.std(values, ddof=1))
    factor = float(inflation(rho, np.array([values.size]))[0])
    half_width = deviation * math.sqrt(factor / float(weights.sum()))
    half_width *= -float(stdtrit(values.size - 1, (1.0 - CONFIDENCE) / 2.0))
    interval = (math.exp(mean - half_width), math.exp(mean + half_width))
    return SeriesSegment(start, stop, math.exp(mean), interval, deviation)


def _drifting(rows: Rows, start: int, stop: int, rho: float) -> SeriesSegment:
    """A drifting segment: its level is the end of the regression line."""
    from scipy.special import stdtrit

    t, y = rows.utc[start:stop], rows.tidy[start:stop]
    centred = t - t.mean()
    square = float(centred @ centred) or 1.0
    slope = float(centred @ (y - y.mean())) / square
    rest = y - y.mean() - slope * centred
    df = max(y.size - 2, 1)
    deviation = math.sqrt(float(rest @ rest) / df)
    factor = float(inflation(rho, np.array([y.size]))[0])
    end = float(y.mean() + slope * centred[-1])
    half_width = deviation * math.sqrt(factor * (1.0 / y.size + float(centred[-1]) ** 2 / square))
    half_width *= -float(stdtrit(df, (1.0 - CONFIDENCE) / 2.0))
    interval = (math.exp(end - half_width), math.exp(end + half_width))
    return SeriesSegment(start, stop, math.exp(end), interval, deviation, drifting=True)


def _spread(rows: Rows, alarm: Alarm, changes: Sequence[Change]) -> list[Change]:
    """A change of scatter around each side's median, if significant (Brown & Forsythe 1974)."""
    from scipy.special import stdtrit

    at, others = alarm.at, [change.at for change in changes]
    low = max((each for each in others if each <= at), default=0)
    high = min((each for each in others if each > at), default=rows.x.size)
    sides = [rows.x[low:at], rows.x[at:high]]
    if min(side.size for side in sides) < FIRST:
        return []
    p = _scatter_p(*sides) * (high - low)
    if not p <= _KEPT:
        return []
    logs = [np.log(np.maximum(np.abs(side - np.median(side)), FLOOR)) for side in sides]
    deviations = [robust_scale(side - np.median(side)) for side in sides]
    size = math.log(deviations[1] / deviations[0])
    error = math.sqrt(sum(float(np.var(each, ddof=1)) / each.size for each in logs))
    half_width = -float(stdtrit(sum(side.size for side in sides) - 2, 0.025)) * error
    interval = (math.expm1(size - half_width), math.expm1(size + half_width))
    return [
        Change(
            kind="spread",
            at=at,
            earliest=at,
            latest=at,
            found=alarm.found,
            size=math.expm1(size),
            size_ci95=interval,
            p=p,
        )
    ]


def _scatter_p(one: Floats, other: Floats) -> float:
    """p of Brown and Forsythe's test of equal scatter; nan if neither varies.

    The same as ``scipy.stats.levene`` around medians; importing that takes longer than a history.
    """
    from scipy.special import fdtrc

    z = [np.abs(side - np.median(side)) for side in (one, other)]
    n = one.size + other.size
    mean = sum(float(each.sum()) for each in z) / n
    between = sum(each.size * (float(each.mean()) - mean) ** 2 for each in z)
    within = sum(float(np.sum((each - each.mean()) ** 2)) for each in z)
    if within <= 0.0:
        return 0.0 if between > 0.0 else math.nan
    return float(fdtrc(1.0, n - 2.0, (n - 2.0) * between / within))


def _suspect(x: Floats, segment: SeriesSegment, rho: float) -> SuspectedChange | None:
    """The newest runs, if they differ from those before at a level that chance reaches in 1 of 100
    checks.
    """
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
        variances = inflation(rho, np.array([k, near.size])) / np.array([k, near.size])
        error = float(near.std(ddof=1)) * math.sqrt(float(variances.sum()))
        mean = float(far.mean())
        statistic = (mean - float(near.mean())) / max(error, FLOOR)
        ratio = abs(statistic) / -float(stdtrit(near.size - 1, _SUSPECT / 2.0))
        # The lower half of the runs must differ in the same direction: a single one is an outlier.
        lower = float(np.sort(far * np.sign(mean))[(k - 1) // 2])
        if ratio > max(1.0, found[0] if found else 0.0) and lower > 0.3 * abs(mean):
            found = ratio, SuspectedChange(k, math.expm1(off))
    return found[1] if found else None
