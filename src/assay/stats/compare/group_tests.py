"""Tests of two or more groups; ``groups.py`` chooses between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.stats.core.intervals import checked
from assay.stats.core.summary import thinned
from assay.units import Interval

# Level of differences, and of tests of assumptions.
LEVEL = 0.05
EQUAL_SPREAD = "equal spread"
# Maximum number of values for the approximation of Shapiro and Wilk's test.
_MOST_FOR_SHAPIRO = 5000
# Maximum number of pairwise differences; larger groups are thinned to their quantiles.
_MOST_DIFFERENCES = 4_000_000


@dataclass(frozen=True)
class Check:
    """An assumption, its test, and whether it may be made: p above 5%, or a stated level."""

    #: The assumption.
    assumption: str
    #: The test of the assumption.
    test: str
    #: The p value of the test.
    p: float
    #: Whether the assumption may be made.
    holds: bool


def checks_text(checks: Sequence[Check]) -> str:
    """The results of the checks, as a sentence."""
    texts = [f"{each.test}: {each.assumption} {_found(each)} (p = {each.p:.2g})" for each in checks]
    return "; ".join(texts) + "."


def _found(check: Check) -> str:
    if check.holds:
        return "not rejected"
    return "rejected" if check.p <= LEVEL else "doubtful"


def normality(values: Sequence[float] | Floats) -> Check:
    """Whether values may be normal: Shapiro & Wilk (1965), p by Royston (1995).

    Fewer than three values can't reject it; equal ones do. More than 5,000 values are replaced by
    5,000 evenly spaced quantiles.
    """
    from scipy.stats import shapiro

    array = checked(values)
    p = 1.0
    if array.size >= 3:
        tested = thinned(array, _MOST_FOR_SHAPIRO) if array.size > _MOST_FOR_SHAPIRO else array
        p = float(shapiro(tested).pvalue) if np.ptp(array) > 0.0 else 0.0
    return Check("normal", "Shapiro–Wilk", p, p > LEVEL)


def spread_test(groups: Sequence[Floats], by_f: bool) -> tuple[str, float, float]:
    """Name, statistic and p of the F test of two groups, or of Brown & Forsythe's test (1974)."""
    from scipy.stats import f

    if by_f:
        one, other = groups
        ratio = float(other.var(ddof=1) / one.var(ddof=1))
        upper = float(f.sf(ratio, other.size - 1, one.size - 1))
        return "F", ratio, min(1.0, 2.0 * min(upper, 1.0 - upper))
    # Brown & Forsythe's test is the F test of the distances from the medians.
    statistic, p = one_way([np.abs(values - np.median(values)) for values in groups])
    return "Brown–Forsythe", statistic, p


def one_way(groups: Sequence[Floats]) -> tuple[float, float]:
    """The F statistic between groups and its p (``scipy.stats.f_oneway``).

    (0, 1) for groups of equal means or with no more values than groups; (inf, 0) for others without
    variation within groups.
    """
    from scipy.stats import f_oneway

    means = [float(group.mean()) for group in groups]
    if sum(group.size for group in groups) <= len(groups) or max(means) == min(means):
        return 0.0, 1.0
    if all(np.ptp(group) == 0.0 for group in groups):
        return math.inf, 0.0
    statistic, p = f_oneway(*groups)
    # Rounding can leave a variation between nearly equal means below 0.
    return (float(statistic), float(p)) if statistic > 0.0 else (0.0, 1.0)


def brunner_munzel(one: Floats, other: Floats) -> tuple[float, float]:
    """Statistic and p of P(one < other) + P(equal) / 2 = 1/2 (``scipy.stats.brunnermunzel``).

    For groups that don't overlap the variance of the statistic is 0; p is then the probability that
    permutation separates them.
    """
    from scipy.special import binom
    from scipy.stats import brunnermunzel

    apart = 1.0 if one.max() < other.min() else -1.0 if other.max() < one.min() else 0.0
    if apart:
        return apart * math.inf, min(1.0, 2.0 / float(binom(one.size + other.size, one.size)))
    if one.min() == one.max() == other.min() == other.max():
        return -math.inf, min(1.0, 2.0 / float(binom(one.size + other.size, one.size)))
    statistic, p = brunnermunzel(one, other)
    return float(statistic), float(p)


def hodges_lehmann(
    one: Sequence[float] | Floats, other: Sequence[float] | Floats
) -> tuple[float, Interval | None]:
    """How much greater ``other``'s values are: the median of all differences, with its interval.

    The interval inverts Mann & Whitney's test (normal approximation with correction for ties). None
    where there are too few differences for 95%. Beyond four million differences the groups are
    replaced by their quantiles.
    """
    from scipy.special import ndtri

    x, y = checked(one), checked(other)
    n, m = x.size, y.size
    if n * m > _MOST_DIFFERENCES:
        x, y = thinned(x), thinned(y)
    differences = np.sort((y[None, :] - x[:, None]).ravel())
    shift = float(np.median(differences))
    counts = np.unique(np.concatenate([x, y]), return_counts=True)[1].astype(np.float64)
    ties = float((counts**3 - counts).sum()) / ((n + m) * (n + m - 1.0))
    deviation = math.sqrt(n * m / 12.0 * max(n + m + 1.0 - ties, 0.0))
    # The rank of the lower end among n * m differences, scaled to the number of those computed.
    rank = math.floor(n * m / 2.0 - float(ndtri(0.975)) * deviation + 0.5)
    if rank < 1:
        return shift, None
    place = min(int(rank / (n * m) * differences.size + 0.5), differences.size // 2)
    return shift, (float(differences[max(place, 1) - 1]), float(differences[-max(place, 1)]))


def discounted(p: float, worth: float) -> float:
    """p for the effective number of values: its normal quantile is scaled by sqrt(``worth``)."""
    from scipy.special import ndtr, ndtri

    if worth >= 1.0 or not 0.0 < p < 1.0:
        return p
    return float(2.0 * ndtr(ndtri(p / 2.0) * math.sqrt(worth)))
