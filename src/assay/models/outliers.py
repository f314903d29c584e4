"""Which values stand out above the rest, at a rate of false alarms that is kept.

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

# At most this part of the values can stand out, and at most so many.
_MOST_PART = 5
_MOST = 10
_REFERENCE = 30  # spacings that say what is usual, at most
_FEWEST = 4  # and at least; with fewer nothing is said


def upper_outliers(values: Floats, alpha: float, least: float = 0.0) -> list[int]:
    """Indices of the values that stand out above the others, the greatest first.

    ``alpha``: the probability of any at all where there is none. ``least``: how far above the
    median each of them must lie, in the unit of the values. Up to a fifth of the values, ten at
    most, are looked at. Nothing stands out of fewer than six.
    """
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    most = max(1, min(_MOST, values.size // _MOST_PART))
    above_median = (
        values.size // 2 - most
    )  # spacings below it are wider in any tail that is lighter
    reference = min(_REFERENCE, max(above_median, _FEWEST))
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
