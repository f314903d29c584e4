"""How many samples the next launch of a cell is worth.

Of a median over L launches of n samples each the variance goes as (b + s / n) / L, where b is the
variance between launches and s / n that of a launch's median within it. A launch costs f + n * c
seconds. For a given time the variance is least, and for a given variance the time, at
n = sqrt(f / c * s / b) (Cochran, Sampling Techniques, 3rd ed. 1977, section 10.6; for benchmarks
Kalibera & Jones, Rigorous benchmarking in reasonable time, ISMM 2013).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist, median

from assay.model.replication import Replication
from assay.stats.cells.launch_rule import SPACING as LOOKS_APART

# Launches from which on it is told how they differ.
MIN_LAUNCHES = 3
# The question is asked again each time that there are so many times as many launches.
ASKED_AGAIN = 1.25
# Launches are taken to agree while the variance between them is at most so many times that which
# samples alone leave: even a variance of four times that is known to within the precision asked
# for after the fewest launches that tell an interval, so that nothing is to be gained.
AGREEING = 3.0
# A launch that comes to no precision by itself takes so many times as long as it costs beside its
# samples. Of launches that don't differ at all a fifth more time is needed than of a single long
# one, and of those that differ just so much that they count as agreeing half as much more than of
# the best length.
TIMES_AS_LONG = 5.0
# Share of the variance between launches below which that of a launch's median is of no account:
# the interval across launches is at most 2.5% wider for it.
OF_NO_ACCOUNT = 0.05
# The median of n samples of an exponential distribution, whose median has a variance of 1 / n, is
# off by 0.5 / n, however many launches there are. It may be so by a quarter of the precision.
BIAS = 0.5 / 0.25
# The median of squared standard normal deviates: what the median of squared residuals comes to.
_MEDIAN_SQUARE = NormalDist().inv_cdf(0.75) ** 2
# The efficiency of a median: of normal values its variance is so many times that of their mean.
_OF_MEDIAN = math.pi / 2.0
# Halvings of the interval that holds the variance between launches: to a thousandth of it.
_HALVINGS = 20


@dataclass(frozen=True, slots=True)
class LaunchEffort:
    """What one launch gave of a cell, and what that took.

    ``value``: its median. ``half_width``: relative, of that median's interval within the launch;
    None where its samples tell none. ``warmup``: how many of its ``samples`` were left out.
    ``sampling``: seconds that they took, of ``wall`` in all.
    """

    value: float
    half_width: float | None
    samples: int
    warmup: int
    sampling: float
    wall: float


@dataclass(frozen=True)
class LaunchVariation:
    """How a cell's launches and samples vary, relatively, and what they cost.

    ``between``: the variance between launches; None while they are too few. ``precise``: whether
    launches mostly came to the precision asked for by themselves. ``within``: that of a launch's
    median times its steady samples. ``warmup``: leading samples of a launch that count for nothing.
    ``usual``: steady samples of a launch before it was known how launches differ. ``sample``:
    seconds of one. ``beside``: other seconds of a measurement.
    """

    between: float | None
    precise: bool
    within: float
    warmup: int
    usual: float
    sample: float
    beside: float


def asked_at(launches: int) -> int:
    """The number of a cell's first launches by which is decided, when there are ``launches``.

    In between a decision stands, lest each launch be one more chance.
    """
    point, upcoming = min(launches, MIN_LAUNCHES), MIN_LAUNCHES
    while upcoming <= launches:
        point, upcoming = upcoming, max(upcoming + 1, math.ceil(ASKED_AGAIN * upcoming))
    return point


def levels_of(launches: Sequence[LaunchEffort], rule: Replication) -> LaunchVariation | None:
    """The levels told by these launches, in their order; None where they don't tell them."""
    z = _quantile(rule.confidence)
    centre = median([launch.value for launch in launches]) if launches else 0.0
    known = [
        (launch.samples - launch.warmup) * (launch.half_width / z) ** 2
        for launch in launches
        if launch.half_width is not None
    ]
    # Short launches would count among their samples' time what comes before them, such as finding
    # a batch.
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
    """The most samples that the next launch of a cell is to take, within what the plan allows.

    ``shared``: seconds of the launch beside its measurements that are this cell's part.
    ``seconds``: that there are for the cell in all. As many as the plan allows where launches
    agree, as far as is known, and come to the precision by themselves.
    """
    fixed = levels.beside + shared + levels.warmup * levels.sample
    each = seconds / rule.max_launches  # that there are for one, if all allowed are to be had
    if levels.between is None or levels.between <= AGREEING * levels.within / levels.usual:
        if levels.precise:
            return rule.max_samples
        return _within_plan(levels, max(TIMES_AS_LONG * fixed, each) / levels.sample, rule)
    ratio = levels.within / levels.between
    # Launches that differ by their few samples more than by themselves tell too badly how much
    # they do; expensive samples cost twice the least time by that at worst.
    steady = max(math.sqrt(fixed / levels.sample * ratio), ratio, 1.0)
    # Where the time is enough for all launches allowed, they may take longer.
    room = (each - fixed) / levels.sample
    steady = max(steady, min(_allowed(levels.between, levels.within, rule), room))
    launches = min(seconds / (fixed + steady * levels.sample), rule.max_launches)
    variance = (levels.between + levels.within / steady) / max(launches, rule.min_launches)
    return _within_plan(levels, max(steady, _unbiased(levels.within, variance, rule)), rule)


def _within_plan(levels: LaunchVariation, steady: float, rule: Replication) -> int:
    """Samples with the warm-up, which is found if it makes up at most half of a launch."""
    wanted = levels.warmup + max(math.ceil(min(steady, rule.max_samples)), levels.warmup)
    return min(max(wanted, rule.min_samples), rule.max_samples)


def _allowed(between: float, within: float, rule: Replication) -> float:
    """Samples by which the launches allowed come to the precision; where they can't, those beyond
    which more would make next to no difference.
    """
    launches = rule.max_launches / LOOKS_APART  # the precision must hold at two looks
    spread = launches / _OF_MEDIAN * (rule.precision / _quantile(rule.confidence)) ** 2
    most = within / (OF_NO_ACCOUNT * between)
    left = spread - between
    return min(within / left, most) if left > 0.0 else most


def _unbiased(within: float, variance: float, rule: Replication) -> float:
    """Samples whose median is off by little beside the precision, or beside what can be known."""
    found = _quantile(rule.confidence) * math.sqrt(_OF_MEDIAN * variance)
    return BIAS * math.sqrt(within) / max(rule.precision, found)


def _between(squares: Sequence[float], within: Sequence[float]) -> float:
    """The variance between launches by the squares of their values' distances from the middle, and
    each one's variance within.

    The one that makes squares over variances what they are to be (Paule & Mandel, J. Res. NBS 87,
    1982), which does justice to launches of many samples and of few. Medians stand in for means, so
    that a disturbed launch has no say. Of few launches the outcome is rather too low than too high
    (Croux & Rousseeuw 1992, section 4): then they are taken to agree for a little longer.
    """

    def excess(between: float) -> bool:
        parts = zip(squares, within, strict=True)
        return median([_ratio(square, between + own) for square, own in parts]) > _MEDIAN_SQUARE

    low, high = 0.0, median(squares) / _MEDIAN_SQUARE
    if not excess(low):
        return 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) else (low, middle)
    return 0.5 * (low + high)


def _ratio(square: float, variance: float) -> float:
    if variance > 0.0:
        return square / variance
    return math.inf if square > 0.0 else 0.0


@cache
def _quantile(confidence: float) -> float:
    """How many deviations from the middle the ends of such an interval are."""
    return NormalDist().inv_cdf(0.5 + confidence / 2.0)
