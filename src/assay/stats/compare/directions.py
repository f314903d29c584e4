"""The direction of a ratio: stated only if its interval excludes equality.

A word of direction ("faster", "grows", "saturates") claims more than a number. Answers compare many
pairs of values, and some 95% intervals of equal values exclude 1. The range that decides is
therefore wider than the 95% interval: of 1,000 answers on equal values at most one states a
direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from assay.units import Interval

Direction = Literal["more", "less", "open"]
# Share of answers on equal values that state a direction.
LEVEL = 0.001
_LEVEL_95 = 0.05


@dataclass(frozen=True)
class Comparison:
    """A ratio, the range that decides on its direction, and the direction."""

    #: The ratio, without unit.
    value: float
    #: The range with an error of ``LEVEL`` for all comparisons of the answer together; None if the
    #: ratio has no 95% interval.
    range: Interval | None
    #: "more" or "less" if the range lies on one side of equality, else "open".
    direction: Direction

    def word(self, more: str, less: str, open_: str) -> str:
        """One of three wordings, by the direction."""
        return {"more": more, "less": less, "open": open_}[self.direction]


def compared(
    value: float,
    interval: Interval | None,
    *,
    launches: int | None = None,
    comparisons: int = 1,
    equal: float = 1.0,
) -> Comparison:
    """The direction of a positive ratio by its 95% interval.

    ``launches``: number of launches of both values together; None if the interval does not come
    from few launches. ``comparisons``: number of comparisons among which the answer may choose
    (Bonferroni). ``equal``: the ratio that means equality, and from which a direction is seen, such
    as 1.05 for "at least 5% more". The distances from the ratio to the ends of the interval are
    stretched, on logarithms, by the ratio of Student's quantiles at the two levels.
    """
    if interval is None or not 0.0 < interval[0] <= value <= interval[1]:
        return Comparison(value, None, "open")
    by = _stretch(launches, comparisons)
    low = value * (interval[0] / value) ** by
    high = value * math.exp(min(by * math.log(interval[1] / value), 700.0))
    direction: Direction = "more" if low > equal else "less" if high < equal else "open"
    return Comparison(value, (low, high), direction)


def _stretch(launches: int | None, comparisons: int) -> float:
    """Student's quantile at the level of an answer over its quantile at 5%."""
    from scipy.special import ndtri, stdtrit

    tail = LEVEL / max(comparisons, 1) / 2.0
    if launches is None:
        return float(ndtri(tail) / ndtri(_LEVEL_95 / 2.0))
    freedom = max(launches - 2, 1)
    return float(stdtrit(freedom, tail) / stdtrit(freedom, _LEVEL_95 / 2.0))
