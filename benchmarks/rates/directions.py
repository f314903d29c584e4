"""Words of direction in the answers on equal cells, by question

The runs are planted as in tests/questions/test_equal_cells.py, with other seeds. An answer counts
if any of its sentences says that one of several equal things is more or less.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from rate import Rate

from equal_answers import EQUAL, directions_of

# Answers on one in 200 runs may have a word of direction (docs/methods/speed.md).
STATED = 0.005


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """Answers on equal runs with a word of direction, of each question."""
    for name, planted in EQUAL.items():
        found = of = 0
        for trial in range(trials):
            for answer in planted(np.random.default_rng((seed, trial)), 1.0):
                of += 1
                found += bool(directions_of(answer))
        if of:
            yield Rate(
                "an answer on equal cells has a word of direction",
                f"{name}, {trials:,} runs",
                found,
                of,
                STATED,
                "false alarm",
            )
