"""Where a series becomes steady."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.stats.core.intervals import Floats, checked

# Fewer samples have no beginning to drop.
SHORTEST = 2


def mid_ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs."""
    _, position, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[position])


def warmup(values: Sequence[float] | Floats) -> int:
    """How many leading samples to drop as not yet steady, at most half of them.

    MSER (White 1997) on ranks: the cut d that minimises the squared standard error of what is left,
    sum((r - mean)**2) / (n - d)**2. Ranks, because with times themselves one interrupted sample in
    the middle would pass for the end of the warm-up. A cut is looked for in the first half only:
    the statistic means nothing near the end (Hoad, Robinson & Davies 2010). Of equal cuts the
    shortest is taken. The native harness follows the same rule and records what it found.
    """
    series = checked(values)
    n = series.size
    if n < SHORTEST:
        return 0
    # Twice the distance from the mean rank is a whole number: sums are exact, equals are equal.
    ranks = np.rint(2.0 * mid_ranks(series)) - (n + 1)
    left = np.arange(n, 0, -1, dtype=np.float64)
    sums = np.cumsum(ranks[::-1])[::-1]
    squares = np.cumsum(ranks[::-1] ** 2)[::-1]
    error = (left * squares - sums**2) / left**3
    return int(np.argmin(error[: n // 2 + 1]))
