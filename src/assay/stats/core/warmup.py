"""Detection of the warm-up at the start of a series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.arrays import Floats
from assay.stats.core.intervals import checked

# A series of fewer samples has no warm-up.
SHORTEST = 2


def mid_ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of their ranks."""
    order = np.argsort(values)
    ordered = values[order]
    if bool((ordered[1:] > ordered[:-1]).all()):
        ranks = np.empty(values.size)
        ranks[order] = np.arange(1.0, values.size + 1.0)
        return ranks
    _, position, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[position])


def warmup(values: Sequence[float] | Floats) -> int:
    """How many leading samples to drop as not yet steady, at most half of them.

    MSER (White 1997) on ranks: the cut d that minimises the squared standard error of the rest,
    sum((r - mean)**2) / (n - d)**2. With times instead of ranks a single interrupted sample could
    be mistaken for the end of the warm-up. Only cuts in the first half are searched: the statistic
    is unreliable near the end (Hoad, Robinson & Davies 2010). Of equal cuts the shortest is taken.
    The native harness uses the same rule and records the result.
    """
    series = checked(values)
    n = series.size
    if n < SHORTEST:
        return 0
    # Twice the distance from the mean rank is an integer, so sums and comparisons are exact.
    ranks = np.rint(2.0 * mid_ranks(series)) - (n + 1)
    left = np.arange(n, 0, -1, dtype=np.float64)
    sums = np.cumsum(ranks[::-1])[::-1]
    squares = np.cumsum(ranks[::-1] ** 2)[::-1]
    error = (left * squares - sums**2) / left**3
    return int(np.argmin(error[: n // 2 + 1]))
