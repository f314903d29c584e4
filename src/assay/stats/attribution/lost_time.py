"""The most that a cause can have cost, where its covariates count the seconds that were lost to it.

What goes with a cost need not have made it. Where a rank is stopped for half of the time and waits
for a CPU for a moment whenever it goes on, the waits go with the cost as closely as the stops; but
the seconds that they took are known, and they are few.
"""

from __future__ import annotations

import numpy as np

from assay.stats.attribution.covariates import KNOWN, Cause, CovariateReading, scaled_covariate
from assay.stats.core.intervals import Floats
from assay.stats.repeats.repeats import Repeats


def most_lost(repeats: Repeats, cause: Cause) -> Floats | None:
    """How much greater the logarithm of each cost can be for the seconds lost to the cause.

    Of a share w of the sampling that all ranks together lost, ln((1 + w) / (1 - w)): if a sample's
    work takes b and x is lost in the mean, w = x / (b + x); the cost is the samples' median; and of
    losses, which are never negative, the median is at most twice the mean (Markov's inequality), so
    that the cost is at most b + 2x. Ranks that wait for each other may lose what each lost at
    another time, hence all of them together. None where nothing counts seconds, and where somewhere
    they are as many as there were: then they bound nothing.
    """
    shares = [_share_lost(repeats, reading) for reading in cause.readings]
    known = [share for share in shares if share is not None]
    if not known:
        return None
    least = np.asarray(np.minimum.reduce(known), dtype=np.float64)
    return 2.0 * np.arctanh(least) if least.max() < 1.0 else None


def _share_lost(repeats: Repeats, reading: CovariateReading) -> Floats | None:
    """Share of the time that all ranks together lost at most, by one reading; may be above 1."""
    if not reading.lost or "sampling_seconds" not in repeats.covariates:
        return None
    if reading.covariate not in repeats.covariates:
        return None
    rate = scaled_covariate(repeats, reading.covariate)
    known = np.isfinite(rate)
    if known.mean() < KNOWN:
        return None
    # What isn't known is taken as usual.
    share = np.maximum(np.where(known, rate, np.median(rate[known])), 0.0)
    placement = repeats.cell.placement
    if reading.lost == "a rank":
        share = share * placement.ranks
    elif reading.lost == "a thread":
        share = share * placement.ranks * placement.threads
    return share
