"""Intervals of a change over resampled loads."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from assay.questions.usage.queue.model import Bounds
from assay.usage.jobs import Floats

# Fewest resampled loads, and fewest whole weeks of a load, from which there is an interval:
# benchmarks/rates/README.md has the coverage.
LEAST_RESAMPLES = 20
LEAST_WEEKS = 8
_LEVELS = (0.025, 0.975)
_NORMAL = NormalDist()


def interval_of(change: float, resampled: Floats) -> Bounds | None:
    """The 95% interval of a change whose values on resampled loads are ``resampled``.

    Bias-corrected percentiles (B. Efron: Better bootstrap confidence intervals, JASA 82, 1987,
    section 2 with acceleration 0): the share of resampled values below the change corrects the
    levels, so that change and interval are of one quantity, and the change is within. None from
    fewer than 20 values, or where the change is not among the middle 95% of them: the resampled
    loads then say nothing of the load's own order of weeks.
    """
    if resampled.size < LEAST_RESAMPLES:
        return None
    below = float(np.mean(resampled < change) + 0.5 * np.mean(resampled == change))
    if not _LEVELS[0] <= below <= _LEVELS[1]:
        return None
    bias = _NORMAL.inv_cdf(below)
    levels = [_NORMAL.cdf(2.0 * bias + _NORMAL.inv_cdf(level)) for level in _LEVELS]
    low, high = np.quantile(resampled, levels)
    return float(low), float(high)
