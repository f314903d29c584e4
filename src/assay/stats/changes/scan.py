"""Sequential detection of changes: the series is tested after every run.

After each run the last 2, 3, … runs are compared with those before, back to the last change. The
result for a run depends only on the runs up to it. So a nightly evaluation gives the same results
as a single one at the end, and the rate of false alarms is a rate per run of the series.

The statistic is Student's for two means of Huber's clipped scores (P. Huber, Robust Statistics,
1981, 1.2). Its maximum over the splits is a test for a change at an unknown place (D. Hawkins, P.
Qiu, C. Kang: The changepoint model for statistical process control, Journal of Quality Technology
35, 2003). docs/methods/history.md, "Change points", has the calibration.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from assay.arrays import Floats

# Minimum number of runs before the first change, and between successive changes.
FIRST, NEXT = 8, 6
# Numbers of last runs that are compared with those before.
SPLITS = (2, 3, 4, 5, 6, 7, 8, 11, 16, 24, 32, 48, 64, 96)
SPREAD_SPLITS = (8, 11, 16, 24, 32, 48, 64, 96)
# The two-sided level of a single comparison. With it, alarms come 0.6 to 0.8 times in 1,000 clean
# independent runs; more often with a rare mode or autocorrelation. benchmarks/rates/changes.py
# counts them.
LEVEL = 1.8e-4
# The level is stricter for two to four runs: a long tail sometimes yields this many high values
# together.
LEVELS = (2e-5, 5e-5, 1.5e-4, *(LEVEL,) * (len(SPLITS) - 3))
SPREAD_LEVELS = (1e-5,) * len(SPREAD_SPLITS)
# Number of preceding runs that the last ones are compared with.
WINDOW = 256
# Number of runs of earlier stretches whose scatter counts for the current stretch.
_PAST = 40
# In robust standard deviations: an isolated run beyond OUTLIER is an outlier and no change. It is
# not isolated if a neighbour lies beyond _NEIGHBOUR on the same side.
OUTLIER, _NEIGHBOUR = 4.0, 1.5
# Where scores are clipped: in series with normal tails, and in series with heavy tails, which have
# a greater share than _HEAVY of runs beyond 2.5 standard deviations (1.2% of normal values, 6.6%
# of Student's t3).
_CLIP, _CLIP_HEAVY, _FAR, _HEAVY = 3.0, 2.25, 2.5, 0.035
# Relative scatter below which differences are attributed to clocks and rounding.
FLOOR = 1e-6
ROBUST = 1.4826
_MOST_DF = 400
# Number of runs at the end that may belong to a change that is not yet detected.
_UNDER_WAY = 12
# Minimum variance of scores before a change; it is usually about 1, and 0.4 for absolute scores.
LEAST_VARIANCE = 0.05


@dataclass(frozen=True)
class Alarm:
    """A detected change."""

    kind: Literal["step", "spread"]
    #: First run after the change, as estimated at detection.
    at: int
    #: Run after which the change was detected.
    found: int
    #: p of the comparison, times the number of comparisons made after a run.
    p: float


class _Scores(NamedTuple):
    """Runs as clipped scores: distances from the centre in units of the scale."""

    raw: Floats
    #: Scores with isolated outliers set to 0.
    clean: Floats
    #: Scores whose outliers are judged only by the preceding run, as for the newest run.
    newest: Floats


def alarms(x: Floats, weights: Floats) -> list[Alarm]:
    """Every change detected in ``x`` (logarithms of results, in order of time).

    ``weights``: of the runs, 1 for a run with the usual standard error.
    """
    found: list[Alarm] = []
    past = np.empty(0)
    start, after = 0, -1
    while True:
        alarm = _next(x, weights, start, after, past)
        if alarm is None:
            return found
        found.append(alarm)
        stretch = x[start : alarm.at]
        if alarm.kind == "step":
            past = np.concatenate([past, stretch - np.median(stretch)])[-_PAST:]
        else:
            past = np.empty(0)  # scatter before the change doesn't apply after it
        start, after = alarm.at, alarm.found


def robust_scale(residuals: Floats) -> float:
    """The standard deviation of normal values with this median absolute deviation."""
    scale = ROBUST * float(np.median(np.abs(residuals)))
    if scale <= FLOOR:  # more than half of them are equal
        scale = float(np.mean(np.abs(residuals))) * 1.2533
    return max(scale, FLOOR)


def clipped_scale(residuals: Floats) -> float:
    """The standard deviation of residuals clipped at three robust ones: for few values more precise
    than the median absolute deviation, and hardly affected by outliers.
    """
    limit = 3.0 * robust_scale(residuals)
    return max(float(np.sqrt(np.mean(np.clip(residuals, -limit, limit) ** 2))), FLOOR)


def clip_of(z: Floats) -> float:
    """Where scores are clipped, depending on the tails of the known scores ``z``."""
    heavy = (np.count_nonzero(np.abs(z) > _FAR) + 0.5) / (z.size + 1) > _HEAVY
    return _CLIP_HEAVY if heavy else _CLIP


def clips_of(rows: Floats) -> Floats:
    """``clip_of`` of each row."""
    heavy = (np.count_nonzero(np.abs(rows) > _FAR, axis=1) + 0.5) / (rows.shape[1] + 1) > _HEAVY
    return np.where(heavy, _CLIP_HEAVY, _CLIP)


def _scores_of(z: Floats, clip: float) -> _Scores:
    """Scores of residuals in units of the scale."""
    raw = np.clip(z, -clip, clip)
    far = np.abs(z) > OUTLIER
    with_previous = np.zeros(z.size, dtype=bool)
    with_previous[1:] = z[:-1] * np.sign(z[1:]) > _NEIGHBOUR
    with_next = np.zeros(z.size, dtype=bool)
    with_next[:-1] = z[1:] * np.sign(z[:-1]) > _NEIGHBOUR
    newest = np.where(far & ~with_previous, 0.0, raw)
    return _Scores(raw, np.where(far & ~with_previous & ~with_next, 0.0, raw), newest)


def dependence(scores: Floats) -> float:
    """The autocorrelation of neighbours, where it is positive at 5% (one-sided); else 0."""
    if scores.size < FIRST:
        return 0.0
    centred = scores - scores.mean()
    square = float(centred @ centred)
    if square <= 0.0:
        return 0.0
    found = float(centred[1:] @ centred[:-1]) / square + 1.0 / scores.size
    return min(found, 0.9) if found > 1.645 / np.sqrt(scores.size) else 0.0


def inflation(rho: float, count: Floats) -> Floats:
    """Variance of a mean of ``count`` neighbours over the variance for independent values, for a
    first-order autoregressive series with autocorrelation ``rho``.
    """
    if rho == 0.0:
        return np.ones_like(count)
    n = np.maximum(count, 1.0)
    return np.asarray(
        (1.0 + rho) / (1.0 - rho) - 2.0 * rho * (1.0 - rho**n) / (n * (1.0 - rho) ** 2)
    )


def _next(x: Floats, weights: Floats, start: int, after: int, past: Floats) -> Alarm | None:
    """The first alarm after run ``after`` of the stretch that begins at ``start``."""
    minimum = NEXT if past.size >= FIRST else FIRST
    first = max(after + 1, start + minimum + SPLITS[0] - 1)
    while first < x.size:
        have = first - start
        last = min(x.size, first + _block(have))
        alarm = _first_alarm(x, weights, (start, first, last), minimum, past)
        if alarm is not None:
            return alarm
        first = last
    return None


def _block(have: int) -> int:
    """The number of runs that are scored by the same ``have`` runs before them."""
    return min(max(have // 3, 4), 100)


def block_of(run: int) -> int:
    """The number of runs at the beginning of a series by which ``run`` is scored."""
    first = FIRST + SPLITS[0] - 1
    while (then := first + _block(first)) <= run:
        first = then
    return first


def settled_runs(known: int) -> int:
    """The number of ``known`` runs that certainly precede a change not detected yet."""
    return max(known - min(_UNDER_WAY, known // 4), FIRST)


def _first_alarm(
    x: Floats, weights: Floats, block: tuple[int, int, int], minimum: int, past: Floats
) -> Alarm | None:
    """The first alarm of runs ``first`` to ``last``, scored by the runs before them."""
    start, first, last = block
    back = max(start, first - WINDOW - SPLITS[-1])
    known = x[back:first]
    centre = float(np.median(known))
    # The newest runs are left out: an undetected change would appear as heavy tails and dependence.
    settled = np.concatenate([past, known[: settled_runs(known.size)] - centre])
    scale = clipped_scale(settled)
    settled = settled / scale
    clip = clip_of(settled)
    scores = _scores_of((x[back:last] - centre) / scale, clip)
    before = np.clip(past / scale, -clip, clip)
    rho = dependence(np.clip(settled, -clip, clip))
    w = weights[back:last]
    newest = np.arange(first - back, last - back)
    step = _exceeding(
        scores=scores,
        w=w,
        newest=newest,
        splits=SPLITS,
        levels=LEVELS,
        minimum=minimum,
        before=before,
        rho=rho,
        pooled=True,
    )
    found = _first(step, SPLITS)
    size = np.abs(scores.raw)
    spread_minimum = max(minimum, FIRST)
    spread = _exceeding(
        scores=_Scores(size, size, size),
        w=w,
        newest=newest,
        splits=SPREAD_SPLITS,
        levels=SPREAD_LEVELS,
        minimum=spread_minimum,
        before=np.abs(before),
        rho=0.0,
        pooled=False,
    )
    wider = _first(spread, SPREAD_SPLITS)
    if found is None and wider is None:
        return None
    if found is not None and (wider is None or found[0] <= wider[0]):
        row, k, ratio = found
        n = first + row
        at = back + _place(scores.clean[: n - back + 1], k)
        return Alarm("step", at, n, _p_of(ratio, k, SPLITS, LEVELS))
    assert wider is not None
    row, k, ratio = wider
    n = first + row
    return Alarm("spread", n - k + 1, n, _p_of(ratio, k, SPREAD_SPLITS, SPREAD_LEVELS))


class _Table(NamedTuple):
    """Statistics and their thresholds, one row per run, one column per split."""

    statistic: Floats
    threshold: Floats


def _exceeding(
    scores: _Scores,
    w: Floats,
    newest: np.ndarray[tuple[int], np.dtype[np.int64]],
    splits: tuple[int, ...],
    levels: tuple[float, ...],
    minimum: int,
    before: Floats,
    rho: float,
    *,
    pooled: bool,
) -> _Table:
    """The statistic of each split after each of the newest runs, by cumulative sums.

    ``pooled``: the variance is computed from the runs before and after together, each around its
    mean; otherwise only from the runs before.
    """
    k = np.array(splits)[None, :]
    n = newest[:, None]
    edge = n - k + 1  # the first run on the far side
    low = np.maximum(edge - WINDOW, 0)
    m = edge - low
    usable = m >= minimum
    edge, m = np.where(usable, edge, 1), np.where(usable, m, 1)

    def sums(values: Floats) -> Floats:
        return np.concatenate([[0.0], np.cumsum(values)])

    total, clean = sums(w), sums(w * scores.clean)
    raw, square = sums(w * scores.raw), sums(w * scores.raw**2)
    far = total[n + 1] - total[edge]
    far_mean = (clean[n] - clean[edge] + w[n] * scores.newest[n]) / far
    near = total[edge] - total[low]
    near_mean = (clean[edge] - clean[low]) / near
    spread = square[edge] - square[low] - (raw[edge] - raw[low]) ** 2 / near
    df = m - 1 + max(before.size - 1, 0)
    if pooled:
        spread += square[n + 1] - square[edge] - (raw[n + 1] - raw[edge]) ** 2 / far
        df += k - 1
    df = np.minimum(df, _MOST_DF)
    own = float(np.sum((before - before.mean()) ** 2)) if before.size else 0.0
    variance = np.maximum((spread + own) / np.maximum(df, 1), LEAST_VARIANCE)
    error = inflation(rho, k.astype(float)) / far + inflation(rho, m.astype(float)) / near
    statistic = (far_mean - near_mean) / np.sqrt(variance * error)
    bounds = np.stack([thresholds(level) for level in levels])
    return _Table(
        np.where(usable, statistic, 0.0), bounds[np.arange(len(splits))[None, :], np.maximum(df, 1)]
    )


def _first(table: _Table, splits: tuple[int, ...]) -> tuple[int, int, float] | None:
    """The row of the first alarm, its split, and its statistic divided by the threshold."""
    ratio = np.abs(table.statistic) / table.threshold
    rows = np.flatnonzero((ratio > 1.0).any(axis=1))
    if rows.size == 0:
        return None
    row = int(rows[0])
    place = int(np.argmax(ratio[row]))
    return row, splits[place], float(ratio[row, place])


@lru_cache(maxsize=8)
def thresholds(level: float) -> Floats:
    """Student's quantile of a two-sided level by degrees of freedom."""
    from scipy.special import stdtrit

    df = np.arange(_MOST_DF + 1, dtype=np.float64)
    return np.asarray(-stdtrit(np.maximum(df, 1.0), level / 2.0))


def _p_of(ratio: float, k: int, splits: tuple[int, ...], levels: tuple[float, ...]) -> float:
    """p, for all splits, of a statistic ``ratio`` times its threshold, by the normal tail."""
    from scipy.special import ndtr, ndtri

    level = levels[splits.index(k)]
    return float(min(1.0, len(splits) * 2.0 * ndtr(ndtri(level / 2.0) * ratio)))


def _place(scores: Floats, k: int) -> int:
    """The place of a change among scores that was detected with about ``k`` of them after it."""
    n = scores.size
    low, high = max(1, n - 2 * k - 2), n - 1
    places = np.arange(low, high)
    sums = np.cumsum(scores)
    after = (sums[-1] - sums[places - 1]) / (n - places)
    before = sums[places - 1] / places
    gain = (after - before) ** 2 * (n - places) * places / n
    return int(places[np.argmax(gain)])
