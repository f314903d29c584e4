"""Cost and variation of a cell's past launches, and the number of samples of its next launch.

The variance of a median over L launches of n samples each is proportional to (b + s / n) / L, where
b is the variance between launches and s / n the variance of a launch's median within the launch. A
launch costs f + n * c seconds. For a given time the variance is minimal, and for a given variance
the time, at n = sqrt(f / c * s / b) (Cochran, Sampling Techniques, 3rd ed. 1977, section 10.6; for
benchmarks Kalibera & Jones, Rigorous benchmarking in reasonable time, ISMM 2013).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist, median

from assay.model.replication import Replication
from assay.stats.cells.launch_rule import SPACING as LOOKS_APART

# Minimum number of launches for an estimate of the variance between them.
MIN_LAUNCHES = 3
# The number of samples is reconsidered each time the number of launches has grown by this factor.
ASKED_AGAIN = 1.25
# Launches agree if the variance between them is at most this multiple of the variance that the
# samples alone leave. Even at four times that variance the minimum number of launches for an
# interval yields the requested precision, so that shorter launches would gain nothing.
AGREEING = 3.0
# A launch that does not reach the precision alone samples for this multiple of its fixed cost. If
# launches don't differ at all, this takes a fifth more time than a single long launch. If they
# differ as much as agreeing launches can, it takes half again as much time as launches of the best
# length.
TIMES_AS_LONG = 5.0
# Share of the variance between launches below which the variance of a launch's median is
# negligible: it widens the interval across launches by at most 2.5%.
OF_NO_ACCOUNT = 0.05
# The median of n samples of an exponential distribution, whose median has a variance of 1 / n, has
# a bias of 0.5 / n, however many launches there are. The bias may be a quarter of the precision.
BIAS = 0.5 / 0.25
# The median of squared standard normal deviates.
_MEDIAN_SQUARE = NormalDist().inv_cdf(0.75) ** 2
# The variance of a median of normal values over the variance of their mean.
_OF_MEDIAN = math.pi / 2.0
# Bisection steps in the search for the variance between launches.
_HALVINGS = 20


@dataclass(frozen=True, slots=True)
class LaunchEffort:
    """Result and cost of one launch of a cell."""

    #: Median of the launch.
    value: float
    #: Relative half-width of the median's interval within the launch; None if it has too few
    #: samples.
    half_width: float | None
    samples: int
    #: Number of ``samples`` that were left out as warm-up.
    warmup: int
    #: Seconds that the samples took.
    sampling: float
    #: Seconds of the whole measurement.
    wall: float


@dataclass(frozen=True)
class LaunchVariation:
    """Relative variation of a cell's launches and samples, and their cost."""

    #: Variance between launches; None while there are too few.
    between: float | None
    #: Whether at least half of the launches reached the requested precision alone.
    precise: bool
    #: Variance of a launch's median, times its number of steady samples.
    within: float
    #: Warm-up samples per launch.
    warmup: int
    #: Steady samples per launch among the first launches.
    usual: float
    #: Seconds per sample.
    sample: float
    #: Seconds of a measurement outside sampling.
    beside: float


def requested_at(launches: int) -> int:
    """The number of a cell's first launches on which the decision is based, out of ``launches``.

    Between these numbers the decision stays, because each new decision is another chance to err.
    """
    point, upcoming = min(launches, MIN_LAUNCHES), MIN_LAUNCHES
    while upcoming <= launches:
        point, upcoming = upcoming, max(upcoming + 1, math.ceil(ASKED_AGAIN * upcoming))
    return point


def levels_of(launches: Sequence[LaunchEffort], rule: Replication) -> LaunchVariation | None:
    """Variation and cost of these launches, in their order; None where they can't be estimated."""
    z = _quantile(rule.confidence)
    centre = median([launch.value for launch in launches]) if launches else 0.0
    known = [
        (launch.samples - launch.warmup) * (launch.half_width / z) ** 2
        for launch in launches
        if launch.half_width is not None
    ]
    # Only from the first launches: in later, short launches the time before the samples, such as
    # the search for a batch, would be too large a part.
    first = launches[:MIN_LAUNCHES]
    taken = sum(launch.samples for launch in first)
    sample = sum(launch.sampling for launch in first) / taken if taken else 0.0
    if not known or centre <= 0.0 or sample <= 0.0:
        return None
    within = median(known)
    steady = [max(launch.samples - launch.warmup, 1) for launch in launches]
    squares = [(launch.value / centre - 1.0) ** 2 for launch in launches]
    precise = [
        launch.half_width is not None and launch.half_width <= rule.precision for launch in launches
    ]
    return LaunchVariation(
        between=_between(squares, [within / count for count in steady])
        if len(launches) >= MIN_LAUNCHES
        else None,
        precise=2 * sum(precise) >= len(precise),
        within=within,
        warmup=round(median([launch.warmup for launch in launches])),
        usual=median(steady[:MIN_LAUNCHES]),
        sample=sample,
        beside=median([launch.wall - launch.sampling for launch in launches]),
    )


def most_samples(levels: LaunchVariation, shared: float, seconds: float, rule: Replication) -> int:
    """The maximum number of samples of the next launch of a cell, within the plan's limits.

    ``shared``: the cell's part of the launch's seconds outside measurements. ``seconds``: time for
    the cell in total. It is the plan's maximum where launches agree, as far as is known, and reach
    the precision alone.
    """
    fixed = levels.beside + shared + levels.warmup * levels.sample
    each = seconds / rule.max_launches  # time per launch if all allowed launches are made
    if levels.between is None or levels.between <= AGREEING * levels.within / levels.usual:
        if levels.precise:
            return rule.max_samples
        return _within_plan(levels, max(TIMES_AS_LONG * fixed, each) / levels.sample, rule)
    ratio = levels.within / levels.between
    # With fewer than `ratio` samples, differences of launches come mostly from their samples, and
    # the variance between launches is poorly known. At worst, with expensive samples, this minimum
    # doubles the time.
    steady = max(math.sqrt(fixed / levels.sample * ratio), ratio, 1.0)
    # If the time is sufficient for all allowed launches, they may take longer.
    room = (each - fixed) / levels.sample
    steady = max(steady, min(_allowed(levels.between, levels.within, rule), room))
    launches = min(seconds / (fixed + steady * levels.sample), rule.max_launches)
    variance = (levels.between + levels.within / steady) / max(launches, rule.min_launches)
    return _within_plan(levels, max(steady, _unbiased(levels.within, variance, rule)), rule)


def _within_plan(levels: LaunchVariation, steady: float, rule: Replication) -> int:
    """Samples including warm-up, at least twice the warm-up so that it can be detected."""
    wanted = levels.warmup + max(math.ceil(min(steady, rule.max_samples)), levels.warmup)
    return min(max(wanted, rule.min_samples), rule.max_samples)


def _allowed(between: float, within: float, rule: Replication) -> float:
    """Samples per launch with which the allowed launches reach the precision; if they can't, the
    number beyond which more samples make a negligible difference.
    """
    launches = rule.max_launches / LOOKS_APART  # the precision must hold at two checks
    spread = launches / _OF_MEDIAN * (rule.precision / _quantile(rule.confidence)) ** 2
    most = within / (OF_NO_ACCOUNT * between)
    left = spread - between
    return min(within / left, most) if left > 0.0 else most


def _unbiased(within: float, variance: float, rule: Replication) -> float:
    """Samples whose median has a bias small against the requested or the attainable precision."""
    found = _quantile(rule.confidence) * math.sqrt(_OF_MEDIAN * variance)
    return BIAS * math.sqrt(within) / max(rule.precision, found)


def _between(squares: Sequence[float], within: Sequence[float]) -> float:
    """The variance between launches, from their squared distances from the median and each launch's
    variance within.

    The variance at which squares over variances have their expected median (Paule & Mandel, J. Res.
    NBS 87, 1982), which weights launches of many and of few samples correctly. Medians replace
    means, so that a disturbed launch has no influence. Few launches give rather too low an estimate
    (Croux & Rousseeuw 1992, section 4) and so count as agreeing a little longer.
    """

    def excess(between: float) -> bool:
        parts = zip(squares, within, strict=True)
        return median([_ratio(square, between + own) for square, own in parts]) > _MEDIAN_SQUARE

    low, high = 0.0, median(squares) / _MEDIAN_SQUARE
    if not excess(low):
        return 0.0
    for _ in range(_HALVINGS):
        midpoint = 0.5 * (low + high)
        low, high = (midpoint, high) if excess(midpoint) else (low, midpoint)
    return 0.5 * (low + high)


def _ratio(square: float, variance: float) -> float:
    if variance > 0.0:
        return square / variance
    return math.inf if square > 0.0 else 0.0


@cache
def _quantile(confidence: float) -> float:
    """Half-width of the two-sided normal interval of this confidence, in standard deviations."""
    return NormalDist().inv_cdf(0.5 + confidence / 2.0)
