"""Upper bound of the cost of a cause whose covariates count the seconds lost to it.

Correlation with the cost is not causation. If a rank is stopped for half of the time and briefly
waits for a CPU whenever it continues, the waits correlate with the cost as closely as the stops.
But the seconds lost by waiting are known, and they are few.
"""

from __future__ import annotations

import numpy as np

from assay.arrays import Floats
from assay.stats.attribution.covariates import KNOWN, Cause, CovariateReading, scaled_covariate
from assay.stats.repeats.repeats import Repeats


def most_lost(repeats: Repeats, cause: Cause) -> Floats | None:
    """The maximum increase of the logarithm of each cost by the seconds lost to the cause.

    ln((1 + w) / (1 - w)), where w is the share of the sampling that all ranks together lost. If a
    sample's work takes b and the mean loss is x, w = x / (b + x). The cost is the median of
    samples, and the median of losses, which are not negative, is at most twice their mean (Markov's
    inequality), so that the cost is at most b + 2x. The losses of all ranks are summed because
    ranks that wait for each other may lose each one's time. None if no covariate counts seconds,
    and if a measurement lost all of the sampling, so that there is no bound.
    """
    shares = [_share_lost(repeats, reading) for reading in cause.readings]
    known = [share for share in shares if share is not None]
    if not known:
        return None
    least = np.asarray(np.minimum.reduce(known), dtype=np.float64)
    return 2.0 * np.arctanh(least) if least.max() < 1.0 else None


def _share_lost(repeats: Repeats, reading: CovariateReading) -> Floats | None:
    """Upper bound of the share of the time that all ranks together lost, by one reading; may exceed
    1.
    """
    if not reading.lost or "sampling_seconds" not in repeats.covariates:
        return None
    if reading.covariate not in repeats.covariates:
        return None
    rate = scaled_covariate(repeats, reading.covariate)
    known = np.isfinite(rate)
    if known.mean() < KNOWN:
        return None
    # Unknown values are replaced by the median.
    share = np.maximum(np.where(known, rate, np.median(rate[known])), 0.0)
    placement = repeats.cell.placement
    if reading.lost == "a rank":
        share = share * placement.ranks
    elif reading.lost == "a thread":
        share = share * placement.ranks * placement.threads
    return share
