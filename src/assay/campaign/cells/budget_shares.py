"""Divides the remaining time among cells, some of which need less than others."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

# Maximum ratio of the next to the last time of a cell that reached its precision.
SPARE = 1.5
# Minimum seconds granted to a measurement, even if less of the budget is left.
LEAST_BUDGET = 0.005


def fair_share(left: float, cells: Sequence[tuple[float, float]]) -> float:
    """The share (s) at which the cells take ``left`` seconds in total (water-filling).

    ``cells``: minimum and maximum seconds of each cell; the maximum may be inf.
    """
    leasts = sorted(least for least, _ in cells)
    needs = sorted(max(pair) for pair in cells)
    least_sums = [0.0, *accumulate(leasts)]
    need_sums = [0.0, *accumulate(needs)]

    def sharing(share: float) -> tuple[int, int]:
        """Numbers of cells whose minimum, and whose maximum, is at most the share."""
        return bisect_right(leasts, share), bisect_right(needs, share)

    def taken(share: float) -> float:
        reached, precise = sharing(share)
        above = least_sums[-1] - least_sums[reached]
        return need_sums[precise] + share * (reached - precise) + above

    most = needs[-1] if needs else math.inf
    # Between two adjacent ends, the set of cells that take exactly the share is constant.
    ends = sorted({0.0, *leasts, *(need for need in needs if need < math.inf)})
    if taken(ends[-1]) <= left and most < math.inf:
        # All cells can have their maximum: grant the maximum and a reserve.
        return max(SPARE * most, LEAST_BUDGET)
    place = bisect_right(ends, left, key=taken)
    if place == 0:
        return LEAST_BUDGET
    low = ends[place - 1]
    reached, precise = sharing(low)
    return max(low + (left - taken(low)) / max(reached - precise, 1), LEAST_BUDGET)
