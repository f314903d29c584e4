"""Probabilities of large deviations, as a table that a check can read without numerical libraries.

A table holds, for each probability of ``GRID``, the deviation that is exceeded with this
probability. Between two of them the logarithm of the probability is linear in the deviation.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

#: Probabilities of exceedance, from the highest.
GRID = (
    0.99, 0.95, 0.9, 0.75, 0.5, 0.35, 0.2, 0.1, 0.05, 0.03, 0.02, 0.015, 0.01, 0.007, 0.005,
    0.003, 0.002, 1e-3, 5e-4, 2e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 1e-7,
)  # fmt: skip
#: No table claims to know smaller probabilities.
SMALLEST = GRID[-1]
_LOGS = tuple(math.log(each) for each in GRID)


def log_exceedance(table: Sequence[float], deviation: float) -> float:
    """The logarithm of the probability that a deviation is larger than this one; at most 0.

    It never increases with the deviation. A deviation below the table has probability 1, one
    beyond it the table's smallest.
    """
    if deviation <= table[0]:
        return 0.0
    place = bisect_right(table, deviation)
    if place >= len(table):
        return _LOGS[-1]
    low, high = table[place - 1], table[place]
    share = (deviation - low) / (high - low)
    return _LOGS[place - 1] + share * (_LOGS[place] - _LOGS[place - 1])


def exceeded_with(table: Sequence[float], probability: float) -> float:
    """The deviation that is exceeded with this probability, at most the table's largest."""
    wanted = math.log(max(probability, SMALLEST))
    if wanted >= _LOGS[0]:
        return table[0]
    place = next(number for number, each in enumerate(_LOGS) if each <= wanted)
    share = (_LOGS[place - 1] - wanted) / (_LOGS[place - 1] - _LOGS[place])
    return table[place - 1] + share * (table[place] - table[place - 1])
