"""Whether the coefficients of variation of two samples differ: a permutation test of their ratio.

Intervals of a spread rest on the kurtosis, which few values show badly, so that they must be wide.
Permutations of the values' relative deviations from their medians need no kurtosis: with equal
distributions every assignment of the deviations to the samples is equally likely (G. Box, S.
Andersen: Permutation theory in the derivation of robust criteria and the study of departures from
assumption, Journal of the Royal Statistical Society B 17, 1955, 1-34).
"""

from __future__ import annotations

import math

import numpy as np

from assay.arrays import Floats

# Permutations of a first look; if its p is above the limit, the test ends.
_FIRST, _HOPELESS = 2000, 0.05
# The number of permutations is this multiple of the inverse level.
_PER_LEVEL = 10
# Permutations at once, and the seed that makes the result repeatable.
_AT_ONCE, _SEED = 2000, 2003


def spreads_differ(one: Floats, other: Floats, level: float) -> bool:
    """Whether the coefficients of variation of two samples differ at this level, two-sided.

    The statistic is the ratio of the mean squares of relative deviations from the median.
    False for samples of fewer than two values, with a mean of zero, and without variation.
    """
    samples = [relative_deviations(one), relative_deviations(other)]
    if any(each is None for each in samples):
        return False
    pooled = np.concatenate([each**2 for each in samples if each is not None])
    size = int(one.size)
    found = float(_log_ratios(pooled[None, :], size)[0])
    random = np.random.default_rng(_SEED)
    total = max(math.ceil(_PER_LEVEL / level), _FIRST)
    above = below = done = 0
    while done < total:
        count = min(_AT_ONCE, total - done)
        drawn = random.permuted(np.broadcast_to(pooled, (count, pooled.size)), axis=1)
        ratios = _log_ratios(drawn, size)
        above += int(np.count_nonzero(ratios >= found))
        below += int(np.count_nonzero(ratios <= found))
        done += count
        p = 2.0 * (1 + min(above, below)) / (done + 1)
        if done >= _FIRST and p > _HOPELESS:
            return False
    return p <= level


def relative_deviations(values: Floats) -> Floats | None:
    """Deviations from the median, relative to the mean; None for values without variation.

    The factor allows for the median's own error. Deviations from the mean would not be
    exchangeable: a late launch shifts the deviations of all others of its sample, so that with a
    long tail 2.6 instead of 0.1% of equal pairs of twelve launches are called different.
    """
    n = int(values.size)
    if n < 2 or float(values.mean()) == 0.0 or float(np.ptp(values)) == 0.0:
        return None
    centred = values - np.median(values)
    return np.asarray(centred / values.mean() * math.sqrt(n / (n - 1.0)))


def _log_ratios(squares: Floats, size: int) -> Floats:
    """The logarithm of the mean of the first ``size`` values over that of the others, by row.

    Infinite where either is zero.
    """
    with np.errstate(divide="ignore"):
        above, below = (
            np.log(squares[:, :size].mean(axis=1)),
            np.log(squares[:, size:].mean(axis=1)),
        )
    return np.asarray(above - below)
