"""Tests of two groups or more: each alone, without the choice between them (``compare.py``)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from assay.stats.core.correlation import evidence_of_dependence, integrated_time
from assay.stats.core.intervals import Floats, Interval, checked
from assay.stats.core.launches import dependence_of
from assay.stats.core.warmup import mid_ranks

# At which a difference counts, and an assumption as refuted.
LEVEL = 0.05
EQUAL_SPREAD = "equal spread"
# What Shapiro and Wilk's approximation is made for.
_MOST_FOR_SHAPIRO = 5000
# Standard deviations from independence at which a group's values count as dependent.

# Pairwise differences that are sorted at once; larger groups are thinned to their quantiles.
_MOST_DIFFERENCES = 4_000_000


class Check(msgspec.Struct, frozen=True):
    """An assumption, the test of it, and whether it may be made: p above 5%, or what is said.

    ``assumption``, ``test``, its ``p``, and whether it ``holds``.
    """

    assumption: str
    test: str
    p: float
    holds: bool


def checks_text(checks: Sequence[Check]) -> str:
    """What the checks gave, as a sentence."""
    said = [f"{each.test}: {each.assumption} {_found(each)} (p = {each.p:.2g})" for each in checks]
    return "; ".join(said) + "."


def _found(check: Check) -> str:
    if check.holds:
        return "not refuted"
    return "refuted" if check.p <= LEVEL else "doubtful"


def normality(values: Sequence[float] | Floats) -> Check:
    """Whether values may be normal: Shapiro & Wilk (1965), p by Royston (1995).

    Fewer than three values can't refute it; equal ones do. Of more than 5,000 as many evenly spaced
    quantiles are looked at.
    """
    from scipy.stats import shapiro

    array = checked(values)
    p = 1.0
    if array.size >= 3:
        looked_at = thinned(array, _MOST_FOR_SHAPIRO) if array.size > _MOST_FOR_SHAPIRO else array
        p = float(shapiro(looked_at).pvalue) if np.ptp(array) > 0.0 else 0.0
    return Check("normal", "Shapiro–Wilk", p, p > LEVEL)


def spread_test(groups: Sequence[Floats], by_f: bool) -> tuple[str, float, float]:
    """Name, statistic and p of F, of two groups, or of Brown & Forsythe's test (1974)."""
    from scipy.stats import f

    if by_f:
        one, other = groups
        ratio = float(other.var(ddof=1) / one.var(ddof=1))
        upper = float(f.sf(ratio, other.size - 1, one.size - 1))
        return "F", ratio, min(1.0, 2.0 * min(upper, 1.0 - upper))
    # Levene's test around medians is F between the distances from them.
    statistic, p = one_way([np.abs(values - np.median(values)) for values in groups])
    return "Brown–Forsythe", statistic, p


def one_way(groups: Sequence[Floats]) -> tuple[float, float]:
    """The F statistic between groups and its p (``scipy.stats.f_oneway``).

    Groups of equal means, or of no more values than groups, give (0, 1); others that don't vary
    within give (inf, 0).
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

    Groups that don't overlap leave the statistic without a variance; p is then that of the one
    order of so many values that keeps them apart.
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
    """By how much ``other``'s values are greater: the median of all differences, with interval.

    The interval inverts Mann & Whitney's test (normal approximation, ties heeded). None where there
    are too few differences for 95%. Beyond four million differences the groups' quantiles stand for
    them.
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
    # The rank of the lower end, of n * m differences, and as a share of those that are there.
    rank = math.floor(n * m / 2.0 - float(ndtri(0.975)) * deviation + 0.5)
    if rank < 1:
        return shift, None
    place = min(int(rank / (n * m) * differences.size + 0.5), differences.size // 2)
    return shift, (float(differences[max(place, 1) - 1]), float(differences[-max(place, 1)]))


# Standard errors of the groups' autocorrelation that are evidence (of 5% of independent ones).
_EVIDENT, _STRONG = 1.64, 2.33


def effective_sample_ratio(*groups: Floats) -> float:
    """How many independent values one of these is worth; 1 without evidence of dependence.

    Of several groups, each in order of time, that of all together, as a first-order autoregressive
    series: what is said of their difference must not rest on dependence that was overlooked. Of one
    group by its integrated autocorrelation time, on strong evidence.
    """
    if len(groups) == 1:
        if evidence_of_dependence(groups[0]) <= _STRONG:
            return 1.0
        return float(1.0 / integrated_time(mid_ranks(groups[0])[None, :])[0])
    rho = dependence_of(*groups, evident=_EVIDENT)
    if rho <= 0.0:
        return 1.0
    n = float(min(values.size for values in groups))
    return 1.0 / float(
        (1.0 + rho) / (1.0 - rho) - 2.0 * rho * (1.0 - rho**n) / (n * (1.0 - rho) ** 2)
    )


def discounted(p: float, worth: float) -> float:
    """The p of so many fewer values: its normal quantile is as many times nearer to 0."""
    from scipy.special import ndtr, ndtri

    if worth >= 1.0 or not 0.0 < p < 1.0:
        return p
    return float(2.0 * ndtr(ndtri(p / 2.0) * math.sqrt(worth)))


def thinned(values: Floats, most: int = 2000) -> Floats:
    """So many evenly spaced quantiles of more values."""
    if values.size <= most:
        return values
    # As np.quantile, which looks for each of thousands of places by itself.
    places = (np.arange(most) + 0.5) / most * (values.size - 1)
    return np.interp(places, np.arange(values.size), np.sort(values))
