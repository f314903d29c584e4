"""The interval of a cell's median over launches, and whether launches depend on each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from assay.arrays import Floats
from assay.stats.core.correlation import (
    evidence_of_dependence,
    fractional_rank,
    integrated_time,
)
from assay.stats.core.intervals import at_rank, checked, median_interval
from assay.stats.core.warmup import mid_ranks
from assay.units import Interval

# With fewer launches the dependence can't be estimated: their interval assumes independence, and is
# valid only for the period in which they were made.
ENOUGH = 20
# Minimum number of launches for a test of their order at the 1% level.
MIN_ORDERED = 6
_LEVEL = 0.01
# Random orders that are drawn for the limits of few launches; above _MANY launches the
# normal approximation gives the limits.
_ORDERS, _MANY = 20_000, 100
# Standard errors of the autocorrelation that count as evidence, and that are added to it.
_EVIDENT, _EVIDENT_IF_FEW, _ADDED = 1.0, 2.33, 1.0
# Standard errors that are added for the interval of one cell: with 1.5 instead of 1, 30 launches of
# an autocorrelation of 0.7 are covered in 95% instead of 94%, and intervals are 3% wider.
_ADDED_FOR_INTERVAL = 1.5
# Two groups of launches are modes if their means differ by this many standard deviations within
# groups, and modes last if at most this share of random orders has as few changes
# between them.
_APART, _LASTING = 4.0, 0.02
# With this number of stays in two levels, a level has returned.
_RETURNED = 3
# Upper limit of the autocorrelation, and number of lags that are summed.
_MOST, _LAGS = 0.95, 200
# Lower upper limit for short groups, in which neighbours often look alike by chance, so that a
# shift of five deviations is still detected.
_MOST_IF_FEW = 0.6


def launch_interval(values: Sequence[float] | Floats, confidence: float = 0.95) -> Interval | None:
    """The interval of the median of launches, in order of time; None where they are too few.

    From twenty launches on the interval allows for dependence by an effective number of launches.
    The autocorrelation r is computed from the normal scores of ranks, so that tails have no
    influence, corrected for the bias of an estimated mean (F. Marriott, J. Pope: Bias in the
    estimation of autocorrelations, Biometrika 41, 1954, 390-402) and raised by 1.5 standard errors.
    The autocorrelation of 1{x <= median}, which determines the variance of the median, is
    2 asin(r) / pi in a first-order autoregressive series of normal scores. If launches have two
    modes that last for several launches, each stay in a mode counts as one launch.
    """
    series = checked(values)
    if series.size < ENOUGH:
        return median_interval(series, confidence)
    worth = effective_launches(series)
    if worth >= series.size:
        return median_interval(series, confidence)
    n = series.size
    size = np.array([worth])
    tail = (1.0 - confidence) / 2.0
    rank = float(fractional_rank(size, 0.5, tail)[0]) * (n + 1.0) / (worth + 1.0)
    ordered = np.sort(series)
    return float(at_rank(ordered, rank)), float(at_rank(ordered, n + 1.0 - rank))


def effective_launches(values: Floats) -> float:
    """The effective number of independent launches for the median; at most their number.

    Under twenty launches it is their number.
    """
    n = int(values.size)
    if n < ENOUGH:
        return float(n)
    split = mode_split(values, least=2)
    stays = float(n) if split is None or split.chance > _LASTING else float(split.stays)
    rho = dependence_of(values, added=_ADDED_FOR_INTERVAL)
    return min(autoregressive_size(n, rho), stays)


def autoregressive_size(n: int, rho: float) -> float:
    """The number of independent values whose median varies as much as the median of n normal
    values with a first-order autocorrelation of ``rho``.
    """
    if rho <= 0.0:
        return float(n)
    lags = np.arange(1, min(n, _LAGS))
    correlations = 2.0 / math.pi * np.arcsin(rho**lags)
    return n / float(1.0 + 2.0 * np.sum(correlations * (1.0 - lags / n)))


@dataclass(frozen=True)
class ModeSplit:
    """Two modes of successive launches: the order in which launches were in them."""

    #: Number of stays: successive launches in one mode are one stay.
    stays: int
    #: The mean and the variance of this number in random orders of the launches.
    expected: float
    variance: float
    #: Share of random orders with at most this number of stays.
    chance: float


def mode_split(values: Floats, least: int = 1) -> ModeSplit | None:
    """The two modes of launches in order of time; None if they aren't clearly apart.

    The launches are split at the widest gap between sorted values that leaves at least ``least``
    launches on each side. Moments and distribution of the number of runs of two kinds: A. Wald, J.
    Wolfowitz: On a test whether two samples are from the same population, Annals of Mathematical
    Statistics 11, 1940, 147-162.
    """
    n = int(values.size)
    if n < 2 * least + 1:
        return None
    ordered = np.sort(values)
    gaps = np.diff(ordered)[least - 1 : n - least]
    low = least + int(np.argmax(gaps))
    high = n - low
    below, above = ordered[:low], ordered[low:]
    (centre, squares), (other, more) = _moments(below), _moments(above)
    apart = other - centre
    within = math.sqrt((squares + more) / (n - 2))
    if gaps.max() <= 0.0 or apart < _APART * within:
        return None
    sides = values > ordered[low - 1]
    stays = 1 + int(np.count_nonzero(sides[1:] != sides[:-1]))
    pairs = 2.0 * low * high
    expected, variance = 1.0 + pairs / n, pairs * (pairs - n) / (n * n * (n - 1.0))
    if n <= _MANY:
        chance = _chance_of_stays(low, high, stays)
    else:
        chance = NormalDist().cdf((stays + 0.5 - expected) / math.sqrt(variance))
    return ModeSplit(stays, expected, variance, chance)


def _moments(values: Floats) -> tuple[float, float]:
    """The mean, and the sum of the squares of the distances from it."""
    mean = float(np.add.reduce(values)) / values.size
    away = values - mean
    return mean, float(away @ away)


def levels_return(values: Sequence[float] | Floats) -> bool:
    """Whether results in order of time have two levels that last for several results and return.

    Changes between such levels look like lasting changes.
    """
    split = mode_split(checked(values), least=2)
    return split is not None and split.stays >= _RETURNED and split.chance <= _LASTING


@lru_cache(maxsize=4096)
def _chance_of_stays(one: int, other: int, stays: int) -> float:
    """The share of orders of two kinds of launches that have at most this number of runs."""
    ways = 0
    for runs in range(2, stays + 1):
        half = runs // 2
        least = math.comb(one - 1, half - 1) * math.comb(other - 1, half - 1)
        if runs % 2 == 0:
            ways += 2 * least
        else:
            ways += math.comb(one - 1, half) * math.comb(other - 1, half - 1)
            ways += math.comb(one - 1, half - 1) * math.comb(other - 1, half)
    return ways / math.comb(one + other, one)


def dependence_of(*groups: Floats, evident: float = _EVIDENT, added: float = _ADDED) -> float:
    """The lag-1 autocorrelation to allow for; 0 without evidence of any.

    Several groups, each in order of time, are pooled. ``evident``: number of standard errors that
    count as evidence (from ``ENOUGH`` values on). ``added``: number of them that are added.
    """
    from scipy.special import ndtri

    above = below = 0.0
    count = taken = 0
    for values in groups:
        n = int(values.size)
        if n < 3 or np.ptp(values) == 0.0:
            continue
        scores = np.asarray(ndtri((mid_ranks(values) - 0.375) / (n + 0.25)))
        scores = scores - scores.mean()
        above += float(scores[1:] @ scores[:-1])
        below += float(scores @ scores)
        count, taken = count + n, taken + 1
    if count < MIN_ORDERED or below <= 0.0:
        return 0.0
    found = above / below
    found += taken * (1.0 + 4.0 * max(found, 0.0)) / count
    error = 1.0 / math.sqrt(count)
    few = count < ENOUGH
    if found <= (_EVIDENT_IF_FEW if few else evident) * error:
        return 0.0
    found += 0.0 if few else added * error
    return min(found, _MOST_IF_FEW if count < taken * ENOUGH else _MOST)


def span_of(begun: Sequence[float], seconds: Sequence[float]) -> float | None:
    """Seconds from the start of the first launch to the end of the last; None without launches."""
    ends = [at + long for at, long in zip(begun, seconds, strict=True)]
    return max(ends) - min(begun) if ends else None


def are_ordered(values: Floats) -> bool:
    """Whether successive launches are more alike than in 99 of 100 random orders of them.

    The rank version of von Neumann's ratio (R. Bartels: The rank version of von Neumann's ratio
    test for randomness, Journal of the American Statistical Association 77, 1982, 40-46). Its limit
    comes from random orders, so that it is also valid for few launches; with fewer than six there
    are too few orders. Equal values have mid-ranks.
    """
    n = int(values.size)
    if n < MIN_ORDERED or np.ptp(values) == 0.0:
        return False
    ranks = mid_ranks(values)
    return bool(_ratio(ranks[None, :])[0] <= _limit(n))


def _ratio(ranks: Floats) -> Floats:
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    return np.asarray(np.sum(np.diff(ranks, axis=1) ** 2, axis=1) / np.sum(centred**2, axis=1))


@lru_cache(maxsize=256)
def _limit(n: int) -> float:
    """The greatest ratio that at most 1% of orders of n launches don't exceed."""
    if n > _MANY:
        from scipy.special import ndtri

        return 2.0 + float(ndtri(_LEVEL)) * math.sqrt(20.0 / (5.0 * n + 7.0))
    drawn = np.random.default_rng(n)
    orders = drawn.permuted(np.tile(np.arange(1.0, n + 1.0), (_ORDERS, 1)), axis=1)
    ratios = np.sort(_ratio(orders))
    limit = float(ratios[int(_LEVEL * _ORDERS) - 1])
    # Where too many orders share the ratio at the limit, the limit is the next smaller ratio.
    if np.count_nonzero(ratios <= limit) > 1.5 * _LEVEL * _ORDERS:
        limit = float(ratios[ratios < limit - 1e-9].max(initial=-1.0))
    return limit


# Standard errors of the autocorrelation that count as evidence: of several groups (exceeded by 5%
# of independent ones), and of one.
_EVIDENT_OF_SEVERAL, _EVIDENT_OF_ONE = 1.64, 2.33


def effective_sample_ratio(*groups: Floats) -> float:
    """Effective number of independent values per value; 1 without evidence of dependence.

    Several groups, each in order of time, are pooled as first-order autoregressive series. For one
    group the integrated autocorrelation time is used, and only on strong evidence.
    """
    if len(groups) == 1:
        if evidence_of_dependence(groups[0]) <= _EVIDENT_OF_ONE:
            return 1.0
        return float(1.0 / integrated_time(mid_ranks(groups[0])[None, :])[0])
    rho = dependence_of(*groups, evident=_EVIDENT_OF_SEVERAL)
    if rho <= 0.0:
        return 1.0
    n = float(min(values.size for values in groups))
    return 1.0 / float(
        (1.0 + rho) / (1.0 - rho) - 2.0 * rho * (1.0 - rho**n) / (n * (1.0 - rho) ** 2)
    )
