"""Changes of the share of runs at each of two levels (modes)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.stats.changes.scan import inflation
from assay.stats.changes.segments import CONFIDENCE, SegmentDifference
from assay.stats.core.modes import find_modes

# Minimum number of runs on both sides together; minimum number and share of runs of each mode on a
# side that has both.
_RUNS, _AT_BOTH, _LEAST_SHARE = 20, 2, 0.1
# Level of Fisher's test of the shares.
_LEVEL = 0.01
# Probabilities of tables that differ by less than rounding are equal.
_EQUAL = 1e-7
# Maximum shift of a mode by the change, relative to the distance of the modes; the quantiles of the
# mode that are compared.
_SAME, _INNER = 0.25, (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class ModeShare:
    """The share of runs at the higher of two levels, ``before`` and ``after`` a change."""

    #: Share of runs at the higher level before the change.
    before: float
    #: Share of runs at the higher level after the change.
    after: float
    #: Distance of the higher level from the lower level, relative to the lower level.
    apart: float


def mode_share(before: Floats, after: Floats) -> ModeShare | None:
    """The shares of two modes before and after a change (logarithms); None if it is not a change of
    shares: if there are not two modes, each side has only one, the shares don't differ
    significantly, or the modes moved.

    Modes are found in all runs together (``find_modes``); shares are compared by Fisher's exact
    test (R. Fisher: Statistical Methods for Research Workers, 5th ed., 1934).
    """
    both = np.concatenate([before, after])
    if both.size < _RUNS:
        return None
    modes = find_modes(both)
    if len(modes) != 2:
        return None
    cut = (modes[0].high + modes[1].low) / 2.0
    apart = modes[1].at - modes[0].at
    high = [side > cut for side in (before, after)]
    counts = [[int(np.count_nonzero(at)), int(np.count_nonzero(~at))] for at in high]
    mixed = [min(pair) >= max(_AT_BOTH, _LEAST_SHARE * sum(pair)) for pair in counts]
    if not any(mixed) or fisher_p(counts) > _LEVEL:
        return None
    for way in (True, False):
        parts = [side[at == way] for side, at in zip((before, after), high, strict=True)]
        if min(part.size for part in parts) >= _AT_BOTH:
            moved = np.subtract(*(np.quantile(part, _INNER) for part in parts))
            if np.abs(moved).max() > _SAME * apart:
                return None
    shares = [pair[0] / sum(pair) for pair in counts]
    return ModeShare(shares[0], shares[1], math.expm1(apart))


def fisher_p(counts: Sequence[Sequence[int]]) -> float:
    """Two-sided p of Fisher's exact test of a table of two rows and two columns.

    The same as ``scipy.stats.fisher_exact``; importing that takes longer than a history.
    """
    from scipy.special import gammaln

    (a, b), (c, d) = counts
    low, high = max(0, a - d), min(a + b, a + c)
    x = np.arange(low, high + 1, dtype=np.float64)
    # Logarithms of the probabilities of all tables with these sums, up to a constant.
    log = -(
        gammaln(x + 1) + gammaln(a + b - x + 1) + gammaln(a + c - x + 1) + gammaln(d - a + x + 1)
    )
    share = np.exp(log - log.max())
    rare = share <= share[a - low] * (1.0 + _EQUAL)
    return float(share[rare].sum() / share.sum())


def mean_shift(before: Floats, after: Floats, rho: float) -> SegmentDifference:
    """Difference of the means of logarithms (Welch 1938), with autocorrelation ``rho``."""
    from scipy.special import stdtr, stdtrit

    sides = (before, after)
    errors = [
        float(np.var(side, ddof=1)) / side.size * float(inflation(rho, np.array([side.size]))[0])
        for side in sides
    ]
    df = sum(errors) ** 2 / sum(e**2 / (s.size - 1) for e, s in zip(errors, sides, strict=True))
    size, error = float(after.mean() - before.mean()), math.sqrt(sum(errors))
    half_width = -float(stdtrit(df, (1.0 - CONFIDENCE) / 2.0)) * error
    p = 2.0 * float(stdtr(df, -abs(size) / error))
    return SegmentDifference(size, (size - half_width, size + half_width), p)
