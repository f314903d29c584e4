"""How much runs of one machine differ, and whether two runs differ by more than this.

Launches of a run share its state of the machine: what other virtual machines do on the host, where
the kernel placed memory, clock rates. The scatter of launches therefore understates the scatter of
runs. Two runs show a difference of machines only if they differ by more than runs of one machine
(Kalibera & Jones 2013, "Rigorous benchmarking in reasonable time", section 6: the highest level of
repetition determines the interval).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.units import Interval

# Fewer degrees of freedom permit no useful interval: Student's t with two needs 4.3 standard
# errors for a single comparison.
MIN_FREEDOM = 3
# Maximum expected share of false positives among the cells of which a change of level is reported,
# by a history or by a comparison of two runs.
FALSE_DISCOVERIES = 0.01
# With more values than this, the centre is their median: computing all pairs takes too long.
_MOST_FOR_PAIRS = 200


@dataclass(frozen=True)
class RunScatter:
    """The scatter of one cell between runs of a machine, from runs other than the compared runs."""

    #: Variance between runs of the centre of a run's logarithms.
    variance: float
    #: Part of ``variance`` that the scatter of launches explains: the mean squared standard error
    #: of these centres.
    within: float
    #: Degrees of freedom of ``variance``.
    freedom: int
    #: Number of runs that ``variance`` comes from.
    runs: int


@dataclass(frozen=True)
class RunStep:
    """A change of level of a cell between two runs, by all runs around both.

    It belongs to the machine, not to the two runs: all runs between two changes determine a level.
    """

    #: The level around the other run divided by the level around the first one.
    ratio: float
    #: 95% interval of ``ratio``.
    interval: Interval
    #: p of no change, over all runs at which it could lie.
    p: float
    #: Number of runs around both.
    runs: int

    def inverse(self) -> RunStep:
        """The same with the runs exchanged."""
        low, high = self.interval
        return RunStep(1.0 / self.ratio, (1.0 / high, 1.0 / low), self.p, self.runs)


@dataclass(frozen=True)
class RunDifference:
    """The difference of two runs, judged by the scatter between runs."""

    #: p of no difference.
    p: float
    #: 95% interval of the other run's value divided by the first run's value.
    interval: Interval
    #: Variance of the difference of logarithms.
    variance: float
    #: Degrees of freedom of ``variance``.
    freedom: float


def run_scatter(groups: Sequence[Sequence[Floats]], *, slopes: int = 0) -> RunScatter | None:
    """The scatter within groups of runs, pooled; None with fewer than three degrees of freedom.

    ``groups``: of runs, each the positive values of its launches. Differences between groups do not
    count, so that the machine may have changed from one group to the other. Runs with a single
    launch, and with values that are not positive, are left out. ``slopes``: number of groups whose
    values were divided by a fitted line; each takes a degree of freedom.
    """
    squares, freedom, errors = 0.0, -slopes, []
    for group in groups:
        logs = [np.log(values) for values in group if values.size > 1 and values.min() > 0.0]
        if len(logs) < 2:
            continue
        centres = np.array([centre(each) for each in logs])
        squares += float(((centres - centres.mean()) ** 2).sum())
        freedom += len(logs) - 1
        errors += [float(each.var(ddof=1)) / each.size for each in logs]
    if freedom < MIN_FREEDOM:
        return None
    return RunScatter(squares / freedom, float(np.mean(errors)), freedom, len(errors))


def run_difference(
    one: Floats, other: Floats, scatter: RunScatter | None, worth: float = 1.0
) -> RunDifference | None:
    """Whether two runs differ by more than runs of one machine do; Student's t of logarithms.

    With ``scatter``, the variance of a centre is the variance between other runs, plus the excess
    scatter of this run's launches over theirs. Without, runs are assumed to scatter as much as
    launches within a run do: a run counts as a single launch, whatever the number of its launches.
    ``worth``: effective number of independent launches per launch. None where a value is not
    positive, and for a single launch.
    """
    from scipy.special import stdtr, stdtrit

    if min(one.size, other.size) < 2 or min(one.min(), other.min()) <= 0.0:
        return None
    sides = [np.log(one), np.log(other)]
    difference = centre(sides[1]) - centre(sides[0])
    variances = [float(each.var(ddof=1)) for each in sides]
    errors = [
        variance / (each.size * worth) for variance, each in zip(variances, sides, strict=True)
    ]
    if scatter is not None:
        total = sum(scatter.variance + max(error - scatter.within, 0.0) for error in errors)
        freedom = float(scatter.freedom)
    else:
        parts = [error + variance for error, variance in zip(errors, variances, strict=True)]
        total = sum(parts)
        # Welch and Satterthwaite.
        squares = sum(p**2 / (each.size - 1) for p, each in zip(parts, sides, strict=True))
        freedom = total**2 / squares if squares > 0.0 else 1.0
    if total <= 0.0:
        ratio = math.exp(difference)
        return RunDifference(float(difference == 0.0), (ratio, ratio), 0.0, freedom)
    error = math.sqrt(total)
    half = float(stdtrit(freedom, 0.975)) * error
    return RunDifference(
        p=float(2.0 * stdtr(freedom, -abs(difference) / error)),
        interval=(math.exp(difference - half), math.exp(difference + half)),
        variance=total,
        freedom=freedom,
    )


def centre(values: Floats) -> float:
    """The median of all means of two values (Hodges & Lehmann 1963), which outliers hardly move."""
    if values.size > _MOST_FOR_PAIRS:
        return float(np.median(values))
    rows, columns = np.triu_indices(values.size)
    return float(np.median((values[rows] + values[columns]) / 2.0))
