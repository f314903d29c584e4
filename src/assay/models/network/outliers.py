"""Detection of outliers above the other values, at a stated rate of false alarms.

In descending order, the spacings of a sample near its greatest values, each multiplied by its rank,
are independent exponentials with one mean if the tail is exponential (Rényi 1953; David & Nagaraja
2003, 2.5); if the tail is lighter, their means shrink towards the maximum. The first k values are
outliers if k times the spacing below the k-th exceeds the quantile of an F distribution with 2 and
2m degrees of freedom against the mean of m spacings below. On logarithms of times that covers tails
up to Pareto's; for lighter tails the test is conservative.
"""

from __future__ import annotations

import numpy as np

from assay.arrays import Floats

# Minimum number of values per outlier, and maximum number of outliers.
_VALUES_PER_OUTLIER = 5
_MAX_OUTLIERS = 10
_MAX_REFERENCE = 30  # maximum number of spacings for the mean spacing
_MIN_REFERENCE = 4  # minimum number; with fewer there are no outliers


def upper_outliers(values: Floats, alpha: float, least: float = 0.0) -> list[int]:
    """Indices of the outliers above the other values, the greatest first.

    ``alpha``: the probability of finding an outlier if there is none. ``least``: minimum distance
    above the median, in the unit of the values. At most a fifth of the values, and at most ten, are
    outliers. Fewer than six values have none.
    """
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    most = max(1, min(_MAX_OUTLIERS, values.size // _VALUES_PER_OUTLIER))
    # Use only spacings above the median: in lighter tails, spacings below it are wider.
    above_median = values.size // 2 - most
    reference = min(_MAX_REFERENCE, max(above_median, _MIN_REFERENCE))
    if reference > values.size - most - 1:
        return []
    spacings = np.arange(1, values.size) * (ordered[:-1] - ordered[1:])
    usual = float(spacings[most : most + reference].mean())
    least = max(least, 0.0) + float(np.median(values))
    for count in range(most, 0, -1):
        gap = float(spacings[count - 1])
        if gap > 0 and ordered[count - 1] >= least:
            tail = (1 + gap / (reference * usual)) ** -reference if usual > 0 else 0.0
            if tail <= alpha / most:
                return [int(index) for index in order[:count]]
    return []
