"""Where the computing time goes: functions and lines over all ranks, and which rank is slower.

Samples are counts. The share of a function is a proportion of the computing samples, with the
exact interval of Clopper & Pearson (1934). Samples are taken at equal steps of CPU time, so the
samples of a rank are fixed by its CPU time, and the interval of the binomial distribution is wide
enough: a stratified sample varies less.

A rank's excess in a function is its time in the function beyond the mean of all ranks. Its
variance is binomial within each rank. Its p-value is corrected for the number of ranks, among
which the slowest is chosen (Bonferroni), and of functions (Holm 1979).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats, Ints
from assay.models.program.sampled.counts import CodePlace, SampleCounts
from assay.stats.core.multiple import corrected
from assay.stats.core.proportions import clopper_pearson_all
from assay.units import Interval

#: Two-sided 95% quantile of the normal distribution.
Z = 1.959963984540054
# Functions with fewer samples than this over all ranks are not compared between ranks: the normal
# approximation of the excess is poor for them.
_LEAST_SAMPLES = 20
# Share of a rank's excess that a function holds with its callees, and the largest p-value.
_MOST_OF_IT, _LEVEL = 0.7, 0.05


@dataclass(frozen=True)
class FunctionTime:
    """Time in one function or line over all ranks."""

    place: CodePlace
    #: Its own computing samples.
    samples: int
    #: Share of all computing samples, and its 95% interval.
    share: float
    interval: Interval
    #: The same with all functions that it calls.
    inclusive: float
    #: CPU time by rank: mean, least, most, s.
    mean: float
    least: float
    most: float
    #: Rank with the most.
    rank: int

    @property
    def imbalance(self) -> float:
        """Most ÷ mean; 1 if all ranks have the same."""
        return self.most / self.mean if self.mean > 0.0 else 1.0


@dataclass(frozen=True)
class FunctionExcess:
    """A rank's time in a function beyond the mean of all ranks."""

    place: CodePlace
    rank: int
    #: Time beyond the mean, s, and its 95% interval.
    seconds: float
    interval: Interval
    #: Share of the rank's excess over all functions.
    share: float
    #: Probability of at least this excess if all ranks spend the same time in it, corrected.
    p: float


@dataclass(frozen=True)
class RankExcess:
    """The rank that computes longest, and the functions that hold its excess."""

    rank: int
    #: Its computing time, and the mean of all ranks, s.
    seconds: float
    mean: float
    #: Functions with more time than on the mean rank, the greatest excess first.
    functions: list[FunctionExcess]
    #: The most specific function that holds most of the excess together with its callees; None if
    #: none surely does. It differs from the first of ``functions`` if that one has several callers.
    holder: FunctionExcess | None

    @property
    def excess(self) -> float:
        """Time beyond the mean, s."""
        return self.seconds - self.mean


def function_times(counts: SampleCounts) -> list[FunctionTime]:
    """Each function or line with samples, those with the most own samples first."""
    own, inclusive = counts.own.sum(axis=0), counts.inclusive.sum(axis=0)
    whole = int(counts.computing.sum())
    if not whole:
        return []
    low, high = clopper_pearson_all(own, np.asarray(whole))
    seconds = counts.own * counts.seconds[:, None]
    mean, least, most = seconds.mean(axis=0), seconds.min(axis=0), seconds.max(axis=0)
    slowest = seconds.argmax(axis=0)
    order = np.lexsort((-inclusive, -own))
    return [
        FunctionTime(
            place=counts.places[at],
            samples=int(own[at]),
            share=int(own[at]) / whole,
            interval=(float(low[at]), float(high[at])),
            inclusive=int(inclusive[at]) / whole,
            mean=float(mean[at]),
            least=float(least[at]),
            most=float(most[at]),
            rank=counts.ranks[int(slowest[at])],
        )
        for at in order
        if inclusive[at]
    ]


def rank_excess(counts: SampleCounts) -> RankExcess | None:
    """The excess of the rank that computes longest; None with a single rank or without samples."""
    computing = counts.computing * counts.seconds
    if len(counts.ranks) < 2 or not computing.any():
        return None
    row = int(computing.argmax())
    total = float(computing[row] - computing.mean())
    own = _function_excess(counts, counts.own, row, total)
    return RankExcess(
        rank=counts.ranks[row],
        seconds=float(computing[row]),
        mean=float(computing.mean()),
        functions=[one for one in own if one.seconds > 0.0],
        holder=_holder(counts, row, total),
    )


def _holder(counts: SampleCounts, row: int, total: float) -> FunctionExcess | None:
    """Of the functions that hold most of the excess with their callees, the shortest one."""
    found = _function_excess(counts, counts.inclusive, row, total)
    times = dict(zip(counts.places, counts.inclusive.sum(axis=0).tolist(), strict=True))
    most = [one for one in found if one.share >= _MOST_OF_IT and one.p < _LEVEL]
    return min(most, key=lambda one: times[one.place], default=None)


def _function_excess(
    counts: SampleCounts, samples: Ints, row: int, total: float
) -> list[FunctionExcess]:
    """Each function's excess on a rank, the greatest first. ``samples``: own or inclusive ones."""
    excess, error = _excess(counts, samples, row)
    tested = samples.sum(axis=0) >= _LEAST_SAMPLES
    p = np.full(len(counts.places), np.nan)
    p[tested] = corrected(
        np.minimum(_upper_tail(excess[tested], error[tested]) * len(counts.ranks), 1.0)
    )
    return [
        FunctionExcess(
            place=counts.places[at],
            rank=counts.ranks[row],
            seconds=float(excess[at]),
            interval=(float(excess[at] - Z * error[at]), float(excess[at] + Z * error[at])),
            share=float(excess[at]) / total if total > 0.0 else 0.0,
            p=1.0 if np.isnan(p[at]) else float(p[at]),
        )
        for at in np.argsort(-excess, kind="stable")
    ]


def _excess(counts: SampleCounts, samples: Ints, row: int) -> tuple[Floats, Floats]:
    """Seconds beyond the mean of all ranks by function, and their standard error.

    The error has at least the variance of one sample, since a function without a sample may have
    taken time.
    """
    seconds = samples * counts.seconds[:, None]
    taken = np.maximum(counts.activities.sum(axis=1), 1)[:, None]
    variance = np.maximum(samples * (1.0 - samples / taken), 0.0)
    variance = variance * counts.seconds[:, None] ** 2
    ranks = len(counts.ranks)
    others = variance.sum(axis=0) - variance[row]
    own = np.maximum(variance[row], counts.seconds[row] ** 2)
    error = np.sqrt(own * (1.0 - 1.0 / ranks) ** 2 + others / ranks**2)
    return np.asarray(seconds[row] - seconds.mean(axis=0)), np.asarray(error)


def _upper_tail(excess: Floats, error: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(-excess / error))
