"""A time that is left, shared among cells of which some need less of it than others."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

# What a cell that had enough may take more than last time.
SPARE = 1.5
# Fewest seconds a measurement is granted, however little of the budget is left for it.
LEAST_BUDGET = 0.005


def fair_share(left: float, cells: Sequence[tuple[float, float]]) -> float:
    """The share at which cells take ``left`` seconds together, each no less than the first and no
    more than the second of its two numbers (the most may be inf).
    """
    leasts = sorted(least for least, _ in cells)
    needs = sorted(max(pair) for pair in cells)
    least_sums = [0.0, *accumulate(leasts)]
    need_sums = [0.0, *accumulate(needs)]

    def sharing(share: float) -> tuple[int, int]:
        """How many take no more than the share at least, and how many of them have enough of it."""
        return bisect_right(leasts, share), bisect_right(needs, share)

    def taken(share: float) -> float:
        reached, precise = sharing(share)
        above = least_sums[-1] - least_sums[reached]
        return need_sums[precise] + share * (reached - precise) + above

    most = needs[-1] if needs else math.inf
    # Between two neighbouring ends the cells that take just the share are the same ones.
    ends = sorted({0.0, *leasts, *(need for need in needs if need < math.inf)})
    if taken(ends[-1]) <= left and most < math.inf:
        # All have enough with what they took: the same again, and a little more.
        return max(SPARE * most, LEAST_BUDGET)
    place = bisect_right(ends, left, key=taken)
    if place == 0:
        return LEAST_BUDGET
    low = ends[place - 1]
    reached, precise = sharing(low)
    return max(low + (left - taken(low)) / max(reached - precise, 1), LEAST_BUDGET)
