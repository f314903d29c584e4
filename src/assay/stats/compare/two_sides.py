"""Two sides' results of one cell: their ratio, and the launches that a verdict would need."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from assay.arrays import Floats
from assay.stats.compare.group_tests import hodges_lehmann
from assay.stats.compare.run_scatter import RunDifference, RunScatter, run_difference
from assay.stats.core.combinations import least_p
from assay.stats.core.intervals import checked
from assay.units import Interval

# More launches per side than this are not proposed.
MOST_LAUNCHES = 1000
# More runs or sessions per side than this are not proposed.
MOST_RUNS = 100
_POWER = 0.8


def ratio_of_sides(
    one: Sequence[float] | Floats, other: Sequence[float] | Floats
) -> tuple[float | None, Interval | None]:
    """The factor by which ``other``'s values are greater, with its 95% interval.

    Hodges and Lehmann's (1963) estimate of the shift of logarithms: the median of all ratios. The
    interval inverts Mann and Whitney's test, so that it needs no normal distribution; it is None
    where there are too few values (under four per side), and both are None where a value is not
    positive.
    """
    x, y = checked(one), checked(other)
    if min(x.min(), y.min()) <= 0.0:
        return None, None
    shift, interval = hodges_lehmann(np.log(x), np.log(y))
    # Equal values must not yield an interval if there are too few values for one.
    if interval is None or 2.0 * least_p(x.size + y.size, x.size) > 0.05:
        return math.exp(shift), None
    return math.exp(shift), (math.exp(interval[0]), math.exp(interval[1]))


def widened(value: float, interval: Interval, worth: float) -> Interval:
    """The interval of a positive value for ``worth`` independent launches per launch (at most 1).

    The distances to the ends, in logarithms, are divided by the square root of ``worth``.
    """
    factor = 1.0 / math.sqrt(worth)
    low, high = (value * (end / value) ** factor for end in interval)
    return low, high


def launches_needed(
    one: Sequence[float] | Floats,
    other: Sequence[float] | Floats,
    margin: float,
    tests: int,
    worth: float = 1.0,
) -> int | None:
    """Launches per side with which these differences would probably (80%) give a verdict.

    Either the difference becomes significant at 5% after Holm's correction for ``tests`` tests, or
    its interval lies within ``margin``. Normal approximation with the standard deviation of
    logarithms within the sides; ``worth``: effective number of launches per launch. None for more
    than ``MOST_LAUNCHES``, for values that are not positive, and for a side with a single value.
    """
    from scipy.special import ndtr, ndtri

    x, y = checked(one), checked(other)
    if min(x.min(), y.min()) <= 0.0 or min(x.size, y.size) < 2:
        return None
    logs = (np.log(x), np.log(y))
    variance = float(np.mean([values.var(ddof=1) for values in logs]))
    difference = abs(float(np.median(logs[1]) - np.median(logs[0])))
    limit = math.log1p(margin)
    significant = -float(ndtri(0.025 / max(tests, 1)))
    n = np.arange(2, MOST_LAUNCHES + 1, dtype=np.float64)
    error = np.sqrt(2.0 * variance / (n * worth)) if variance > 0.0 else np.full(n.size, 1e-12)
    differs = ndtr(difference / error - significant)
    room = limit / error - 1.96
    alike = ndtr(room - difference / error) - ndtr(-room - difference / error)
    enough = np.flatnonzero(np.maximum(differs, np.maximum(alike, 0.0)) >= _POWER)
    return int(n[enough[0]]) if enough.size else None


def runs_needed(
    between: RunDifference, speed: float | None, margin: float, tests: int
) -> int | None:
    """Runs, or sessions, per side with which this difference would probably (80%) be decided.

    Each with as many launches as these runs; two-sided at 5% after Holm's correction for ``tests``
    tests, or within ``margin``; Student's t with the scatter of the runs of both sides. At least
    three, which a comparison by sessions needs; None for more than ``MOST_RUNS``.
    """
    from scipy.special import nctdtr, stdtr, stdtrit

    if not speed or speed <= 0.0 or between.variance <= 0.0:
        return None
    difference, limit = abs(math.log(speed)), math.log1p(margin)
    n = np.arange(3, MOST_RUNS + 1, dtype=np.float64)
    error, freedom = np.sqrt(between.variance / n), 2.0 * (n - 1.0)
    significant = stdtrit(freedom, 1.0 - 0.025 / max(tests, 1))
    differs = 1.0 - nctdtr(freedom, difference / error, significant)
    room = limit / error - stdtrit(freedom, 0.975)
    alike = stdtr(freedom, room - difference / error) - stdtr(freedom, -room - difference / error)
    enough = np.flatnonzero(np.fmax(differs, alike) >= _POWER)
    return int(n[enough[0]]) if enough.size else None


def mean_ratio(
    one: Sequence[Floats],
    other: Sequence[Floats],
    worth: float = 1.0,
    *,
    separate: bool = False,
    scatter: RunScatter | None = None,
) -> tuple[float | None, Interval | None]:
    """The geometric mean over cells of ``other``'s ratio to ``one``, with its 95% interval.

    ``one``, ``other``: the values of each cell by launch, cells in the same order. The ratio
    divides medians. The interval is Welch's, from each block's mean logarithm over all cells: the
    r-th launches of all cells are a block, so that the interval allows for their common variation;
    ``worth``: effective number of launches per launch. ``separate``: the sides are two runs, which
    are assumed to scatter as their blocks do; with ``scatter``, of the mean logarithms of other
    runs, they scatter as those. None where a value is not positive; the interval is None under
    three blocks per side.
    """
    from scipy import stats

    if not one or min(float(values.min()) for values in (*one, *other)) <= 0.0:
        return None, None
    centres = [
        math.log(float(np.median(y)) / float(np.median(x))) for x, y in zip(one, other, strict=True)
    ]
    mean = sum(centres) / len(centres)
    sides = [_blocks(one), _blocks(other)]
    if min(side.size for side in sides) < 3:
        return math.exp(mean), None
    assumed = separate and scatter is None
    variances = [float(side.var(ddof=1)) * (1.0 / (side.size * worth) + assumed) for side in sides]
    total = sum(variances)
    if total <= 0.0:
        return math.exp(mean), (math.exp(mean), math.exp(mean))
    freedom = total**2 / sum(
        variance**2 / (side.size - 1) for variance, side in zip(variances, sides, strict=True)
    )
    half = float(stats.t.ppf(0.975, freedom)) * math.sqrt(total)
    low, high = math.exp(mean - half), math.exp(mean + half)
    if separate and scatter is not None:
        between = run_difference(np.exp(sides[0]), np.exp(sides[1] + mean), scatter, worth)
        if between is not None:
            low, high = min(low, between.interval[0]), max(high, between.interval[1])
    return math.exp(mean), (low, high)


def contributions(
    one: Sequence[Floats], other: Sequence[Floats]
) -> list[tuple[float, float | None]]:
    """What each cell contributes to ``mean_ratio``: its factor, and its share of the logarithm.

    The factors multiply to the mean; the shares add up to 1, and are negative for cells that
    change it the other way. The shares are None where the cells cancel each other to less than a
    hundredth of their sizes. Values must be positive.
    """
    logs = [
        math.log(float(np.median(y)) / float(np.median(x))) for x, y in zip(one, other, strict=True)
    ]
    total = sum(logs)
    known = abs(total) > 0.01 * sum(map(abs, logs))
    return [(math.exp(each / len(logs)), each / total if known else None) for each in logs]


def _blocks(cells: Sequence[Floats]) -> Floats:
    """The mean logarithm over cells of each block that all cells have."""
    count = min(values.size for values in cells)
    logs = np.array([np.log(values[:count] / np.median(values)) for values in cells])
    return np.asarray(logs.mean(axis=0))
