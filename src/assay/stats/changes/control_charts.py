"""CUSUM charts of sequential ranks, for ``online.py``."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

_INVERSE = NormalDist().inv_cdf
# Expected overshoot of a discrete sum over its limit, in standard deviations (Siegmund 1985, 10.4).
_OVERSHOOT = 1.166
# Maximum score of a step, in standard deviations, so that two interruptions in a row don't raise an
# alarm.
_MOST_SCORE = 2.5
# Shares stay this far from 0 and 1, whose normal scores are infinite.
_LEAST_SHARE = 1e-9


@dataclass(frozen=True)
class ControlRange:
    """The normal range: 1%, 50% and 99% quantiles of ``n`` steps, seconds."""

    n: int
    low: float
    median: float
    high: float


@lru_cache(maxsize=64)
def limit(allowance: float, run_length: float) -> float:
    """The limit of a one-sided CUSUM of standard normal scores for an average run length.

    Siegmund (1985, eq. 2.57): with b the limit plus the overshoot and k the ``allowance``, the run
    length is (exp(2kb) − 2kb − 1) / (2k²). Accurate to about 5% for the limits used here.
    """
    low, high = 0.0, 700.0 / (2.0 * allowance)
    for _ in range(100):
        midpoint = 0.5 * (low + high)
        x = 2.0 * allowance * midpoint
        if (math.exp(x) - x - 1.0) / (2.0 * allowance**2) < run_length:
            low = midpoint
        else:
            high = midpoint
    return max(0.5 * (low + high) - _OVERSHOOT, 0.5)


class ControlChart:
    """One CUSUM: the sum of scores beyond the allowance since it was last at zero."""

    __slots__ = ("allowance", "limit", "since", "value")

    def __init__(self, allowance: float, run_length: float) -> None:
        self.allowance = allowance
        self.limit = limit(allowance, run_length)
        self.value = 0.0
        self.since = 0

    def add(self, score: float, step: int) -> None:
        """Add the score of a step."""
        value = self.value + score - self.allowance
        if value <= 0.0:
            self.value = 0.0
            self.since = step + 1
        else:
            self.value = value

    def reset(self, step: int) -> None:
        """Restart with the next step."""
        self.value = 0.0
        self.since = step + 1


class Reference:
    """Reference values for ranks, in order of size and in order of time."""

    def __init__(self, values: Sequence[float] = ()) -> None:
        self.in_time = list(values)
        self.ordered = sorted(values)

    def __len__(self) -> int:
        return len(self.ordered)

    def add(self, value: float) -> None:
        """Add the latest value."""
        self.in_time.append(value)
        insort(self.ordered, value)

    def share(self, value: float) -> float:
        """The rank of ``value`` among them, between 0 and 1; ties count half."""
        below = bisect_left(self.ordered, value)
        equal = bisect_right(self.ordered, value) - below
        return (below + 0.5 * equal + 0.5) / (len(self.ordered) + 1)

    def quantile(self, p: float) -> float:
        """The p-quantile, linear between order statistics."""
        position = p * (len(self.ordered) - 1)
        below = int(position)
        above = min(below + 1, len(self.ordered) - 1)
        weight = position - below
        return (1.0 - weight) * self.ordered[below] + weight * self.ordered[above]

    def range(self) -> ControlRange:
        """Their 1%, 50% and 99% quantiles."""
        return ControlRange(len(self), self.quantile(0.01), self.quantile(0.5), self.quantile(0.99))


def score_of(share: float) -> float:
    """The normal score of a share, clipped."""
    return min(max(_INVERSE(share), -_MOST_SCORE), _MOST_SCORE)


def width_of(share: float) -> float:
    """The normal score of a share's distance from 1/2, on either side, clipped."""
    return score_of(min(max(abs(2.0 * share - 1.0), _LEAST_SHARE), 1.0 - _LEAST_SHARE))
