"""Runs that lie at one of two levels: whether a change is one of how many lie at which."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from assay.stats.changes.scan import inflation
from assay.stats.changes.segments import CONFIDENCE, SegmentDifference
from assay.stats.core.intervals import Floats
from assay.stats.core.modes import find_modes

# Fewest runs on both sides together, and of a mode on a side that is at both.
_RUNS, _AT_BOTH, _LEAST_SHARE = 20, 2, 0.1
# Level of Fisher's test of the shares.
_LEVEL = 0.01
# By how much of their distance a mode may lie elsewhere after the change.
_SAME, _INNER = 0.25, (0.1, 0.5, 0.9)


class ModeShare(msgspec.Struct, frozen=True):
    """Of runs at two levels the share at the higher one ``before`` and ``after`` a change.

    ``apart``: how far the higher level lies above the lower one, relative.
    """

    before: float
    after: float
    apart: float


def mode_share(before: Floats, after: Floats) -> ModeShare | None:
    """The shares of two modes that both stretches (logarithms) lie at; None where the change is not
    one of shares: where there is one mode, or each side lies at one, or the modes moved.

    Modes are those of all runs together (``find_modes``); shares are compared by Fisher's exact
    test (R. Fisher: Statistical Methods for Research Workers, 5th ed., 1934).
    """
    both = np.concatenate([before, after])
    if both.size < _RUNS:
        return None
    modes = find_modes(both)
    if len(modes) != 2:
        return None
    from scipy.stats import fisher_exact

    cut = (modes[0].high + modes[1].low) / 2.0
    apart = modes[1].at - modes[0].at
    high = [side > cut for side in (before, after)]
    counts = [[int(np.count_nonzero(at)), int(np.count_nonzero(~at))] for at in high]
    mixed = [min(pair) >= max(_AT_BOTH, _LEAST_SHARE * sum(pair)) for pair in counts]
    if not any(mixed) or float(fisher_exact(counts).pvalue) > _LEVEL:
        return None
    for way in (True, False):
        parts = [side[at == way] for side, at in zip((before, after), high, strict=True)]
        if min(part.size for part in parts) >= _AT_BOTH:
            moved = np.subtract(*(np.quantile(part, _INNER) for part in parts))
            if np.abs(moved).max() > _SAME * apart:
                return None
    shares = [pair[0] / sum(pair) for pair in counts]
    return ModeShare(shares[0], shares[1], math.expm1(apart))


def mean_shift(before: Floats, after: Floats, rho: float) -> SegmentDifference:
    """By how much the mean of logarithms is another (Welch 1938), for neighbours that depend."""
    from scipy.special import stdtr, stdtrit

    sides = (before, after)
    errors = [
        float(np.var(side, ddof=1)) / side.size * float(inflation(rho, np.array([side.size]))[0])
        for side in sides
    ]
    df = sum(errors) ** 2 / sum(e**2 / (s.size - 1) for e, s in zip(errors, sides, strict=True))
    size, error = float(after.mean() - before.mean()), math.sqrt(sum(errors))
    reach = -float(stdtrit(df, (1.0 - CONFIDENCE) / 2.0)) * error
    p = 2.0 * float(stdtr(df, -abs(size) / error))
    return SegmentDifference(size, (size - reach, size + reach), p)
