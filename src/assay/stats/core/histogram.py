"""Histogram and kernel density estimate of a list of values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.arrays import Floats

# Minimum and maximum number of bins: fewer bins show no shape, and more bins are harder to read.
MIN_BINS, MAX_BINS = 5, 50
# Maximum number of bins below the lower and above the upper quartile: with distant outliers inside
# the range all other values would fall into one bin. Slow runs matter more, so the limit above is
# greater.
_BELOW, _ABOVE = 15, 30
# Share of the values that may lie outside on either side, small enough that a group of slow runs
# never does; and the margin beyond such a group, relative to the distance between these two
# quantiles.
_CUT, _ROOM = 0.02, 0.25
# Bins of the fine grid on which values are counted before they are smoothed.
_FINE = 2048


class Histogram(NamedTuple):
    """Histogram."""

    #: Edges of the bins, one more than ``counts``.
    edges: Floats
    counts: Floats
    #: ``below``, ``above``: numbers of values outside the bins.
    below: int
    above: int


def histogram(values: Floats) -> Histogram | None:
    """Counts in equal bins of the width of Freedman & Diaconis (1981), 2 IQR / n^(1/3).

    The 5 to 50 bins span the minimum to the maximum, but at most 15 bins below the lower and 30
    above the upper quartile, unless more than 2% of the values lie beyond. None where all values
    are equal.
    """
    levels = (0.0, _CUT, 0.25, 0.75, 1.0 - _CUT, 1.0)
    least, first, low, high, last, most = (float(q) for q in np.quantile(values, levels))
    if most == least:
        return None
    width = 2.0 * (high - low) / values.size ** (1.0 / 3.0)
    if width > 0.0:
        room = _ROOM * (last - first)
        bottom, top = low - _BELOW * width, high + _ABOVE * width
        least = max(least, bottom if bottom <= first else first - room)
        most = min(most, top if top >= last else last + room)
        count = int(np.clip(np.ceil((most - least) / width), MIN_BINS, MAX_BINS))
    else:
        count = MAX_BINS  # at least half of the values are equal
    edges = np.linspace(least, most, count + 1)
    counts, _ = np.histogram(values, edges)
    return Histogram(
        edges,
        counts.astype(np.float64),
        int((values < least).sum()),
        int((values > most).sum()),
    )


def density(values: Floats, at: Floats) -> Floats:
    """The density of the values at the points ``at`` (1 over their unit), by a Gaussian kernel.

    Bandwidth 0.9 min(deviation, IQR / 1.34) / n^(1/5) (Silverman 1986, 3.31). Many values are first
    counted on a fine grid, so that the cost hardly depends on their number. Zero where the values
    have no spread.
    """
    low, high = np.quantile(values, (0.25, 0.75))
    spreads = [float(values.std(ddof=1)) if values.size > 1 else 0.0, float(high - low) / 1.34]
    spread = min((each for each in spreads if each > 0.0), default=0.0)
    if spread == 0.0:
        return np.zeros(at.size)
    bandwidth = 0.9 * spread / values.size**0.2
    # Only values within five bandwidths of the points count; others would coarsen the grid.
    margin = 5.0 * bandwidth
    near = values[(values >= at.min() - margin) & (values <= at.max() + margin)]
    if near.size == 0:
        return np.zeros(at.size)
    if near.size <= _FINE:
        centres, counts = near, np.ones(near.size)
    else:
        found, edges = np.histogram(near, _FINE)
        centres, counts = (edges[:-1] + edges[1:]) / 2.0, found.astype(np.float64)
    far = (at[:, None] - centres[None, :]) / bandwidth
    kernel = np.exp(-0.5 * far**2) / np.sqrt(2.0 * np.pi)
    return np.asarray(kernel @ counts / (values.size * bandwidth))
