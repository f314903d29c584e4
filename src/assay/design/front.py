"""The Pareto front: candidates that no other candidate beats in price, power and rate at once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

from assay.arrays import Floats


def pareto_front(price: Floats, power: Floats, score: Floats) -> NDArray[np.int64]:
    """Indices of the Pareto-optimal candidates, by increasing price.

    No other candidate has at most the same price and power and at least the same score, with one of
    them strictly better. Of equal candidates, the first counts.

    Kung, Luccio and Preparata (1975): in order of price, a candidate is on the front if no earlier
    candidate with at most its power has its score. The time is n log n, apart from the length of
    the front.
    """
    order = np.lexsort((power, -score, price))
    powers: list[float] = []  # ascending, and so are the scores
    best: list[float] = []
    front: list[int] = []
    for index, drawn, rate in zip(
        order.tolist(), power[order].tolist(), score[order].tolist(), strict=True
    ):
        at = bisect_right(powers, drawn)
        if at and best[at - 1] >= rate:
            continue
        front.append(index)
        first = bisect_left(powers, drawn)
        last = first
        while last < len(best) and best[last] <= rate:
            last += 1
        powers[first:last] = [drawn]
        best[first:last] = [rate]
    return np.array(front, dtype=np.int64)
