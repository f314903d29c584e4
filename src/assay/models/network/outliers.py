"""Which values stand out above the rest, at a stated rate of false alarms.

Sorted downwards, the spacings of a sample near its greatest values, each multiplied by its rank,
are independent exponentials with one mean if the tail is exponential (Rényi 1953; David & Nagaraja,
Order Statistics, 3rd ed., 2.5), and their means shrink towards the end if it is lighter. So under
the k-th value there is a gap that belongs to no tail where k times the spacing is more than an F
distribution with 2 and 2m degrees of freedom allows against the mean of m spacings below. On
logarithms of times that covers anything up to a Pareto tail; lighter tails make it the stricter.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# At most one in so many values can stand out, and at most so many in all.
_VALUES_PER_OUTLIER = 5
_MAX_OUTLIERS = 10
_MAX_REFERENCE = 30  # spacings that the mean spacing is taken from, at most
_MIN_REFERENCE = 4  # and at least; with fewer no value stands out


def upper_outliers(values: Floats, alpha: float, least: float = 0.0) -> list[int]:
    """Indices of the values that stand out above the others, the greatest first.

    ``alpha``: the probability of any at all where there is none. ``least``: how far above the
    median each of them must lie, in the unit of the values. Up to a fifth of the values, ten at
    most, are considered. None stands out of fewer than six.
    """
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    most = max(1, min(_MAX_OUTLIERS, values.size // _VALUES_PER_OUTLIER))
    # Below the median, spacings are wider in any lighter tail.
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
