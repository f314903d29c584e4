"""Differences of groups of results in location or spread, and their sizes.

Each result names its test and why it was chosen. Two groups are reported as alike only if an
interval shows it; a test without a finding doesn't show it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from assay.arrays import Floats
from assay.errors import AssayError
from assay.stats.compare.anova import Anova as Anova
from assay.stats.compare.anova import Effect as Effect
from assay.stats.compare.anova import anova as anova
from assay.stats.compare.group_tests import (
    EQUAL_SPREAD,
    LEVEL,
    Check,
    brunner_munzel,
    checks_text,
    discounted,
    hodges_lehmann,
    normality,
    spread_test,
)
from assay.stats.core.intervals import Estimate, checked, median_interval, ratio_interval
from assay.stats.core.launches import effective_sample_ratio
from assay.stats.core.multiple import Method, corrected
from assay.stats.core.summary import coefficient_of_variation, cov_interval
from assay.stats.core.warmup import mid_ranks
from assay.units import Interval

Verdict = Literal["differs", "alike", "open"]

# Medians within one percent of each other are alike, and coefficients of variation within a factor
# of one and a half.
ALIKE_LOCATION = 0.01
ALIKE_SPREAD = 0.5
# With fewer values per group, non-normality isn't detected well enough for the F test: with 30
# values of Student's t with three degrees of freedom it would err in 9% of cases instead of 5%.
MIN_FOR_F = 60
# Maximum number of groups for a comparison of all pairs.
MOST_PAIRED = 12


@dataclass(frozen=True)
class Group:
    """One group's numbers; the CoV is None where it can't be determined."""

    #: Name of the group.
    name: str
    #: Number of values.
    n: int
    #: The median.
    median: float
    #: 95% interval of ``median``.
    median_ci95: Interval | None
    #: Coefficient of variation; None where it can't be determined.
    cov: float | None
    #: 95% interval of ``cov``.
    cov_ci95: Interval | None


@dataclass(frozen=True)
class Pair:
    """Two groups: ``ratio`` of the other's median, or CoV, to the one's, with its 95% interval."""

    #: ``one``, ``other``: the groups' names.
    one: str
    other: str
    #: Median or coefficient of variation of the other group over the value of the first.
    ratio: float | None
    #: ``ratio_ci95``, ``shift_ci95``: the 95% intervals.
    ratio_ci95: Interval | None
    #: How much greater the other group's values are, in their unit (Hodges & Lehmann 1963); None
    #: for spreads.
    shift: float | None
    shift_ci95: Interval | None
    #: ``test``, ``p``, ``verdict``: the test of this pair and its results.
    test: str
    p: float
    #: p corrected for all pairs of these groups (Holm).
    p_corrected: float
    verdict: Verdict


@dataclass(frozen=True)
class GroupDifference:
    """Whether groups differ in ``what``, and by which test."""

    #: What is compared: location or spread.
    what: Literal["location", "spread"]
    #: The test.
    test: str
    #: Why this test was chosen.
    why: str
    #: Checks of the test's assumptions.
    checks: list[Check]
    #: The statistic of the test.
    statistic: float
    #: The p value of the test.
    p: float
    #: Effect size. For the locations of two groups: the probability that a value of the second
    #: group exceeds a value of the first (0.5: alike). For the locations of several groups: the
    #: share of rank variance between groups (epsilon squared). For spreads: the largest CoV divided
    #: by the smallest.
    effect: float | None
    #: ``groups``, ``pairs``: results for each group and each pair.
    groups: list[Group]
    pairs: list[Pair]
    #: The limit within which groups are ``alike``.
    margin: float
    #: ``differs``, ``alike`` or ``open``.
    verdict: Verdict
    #: p corrected for the family of tests (``correct``); None before the correction.
    p_corrected: float | None = None


def location_differs(
    groups: Mapping[str, Sequence[float] | Floats],
    *,
    margin: float = ALIKE_LOCATION,
    at_most: float = 1.0,
) -> GroupDifference:
    """Whether the groups differ in location.

    If values may be normal: Welch's t or, for several groups, Welch's analysis of variance (1951),
    which don't assume equal spreads. Else Mann & Whitney's or Kruskal & Wallis' test or, where
    spreads differ too, Brunner & Munzel's (2000), for several groups Welch's analysis of their
    ranks (Zimmerman & Zumbo 1993). Values that depend on their predecessors count as fewer;
    ``at_most``: the greatest effective number of values per value, where more is known than these
    groups show. Raises AssayError for fewer than two groups, or fewer than two values in one.
    """
    arrays = _checked_groups(groups)
    checks = _normal(arrays)
    normal = all(check.holds for check in checks)
    if not normal:
        checks.append(_even(arrays))
    even = checks[-1].holds
    worth = min(effective_sample_ratio(*arrays.values()), at_most)
    test, statistic, p = _location_test(list(arrays.values()), normal, even)
    pairs = [
        _location_pair(one=one, other=other, arrays=arrays, normal=normal, even=even, worth=worth)
        for one, other in _pairs(arrays)
    ]
    pairs = _corrected_pairs(pairs, margin)
    p = discounted(p, worth)
    return GroupDifference(
        what="location",
        test=test,
        why=_why(checks, worth),
        checks=checks,
        statistic=statistic,
        p=p,
        effect=_location_effect(list(arrays.values())),
        groups=_described(arrays),
        pairs=pairs,
        margin=margin,
        verdict=_verdict(p, pairs, margin),
    )


def spread_differs(
    groups: Mapping[str, Sequence[float] | Floats], *, margin: float = ALIKE_SPREAD
) -> GroupDifference:
    """Whether the groups differ in spread, relative to their location.

    If all values are positive their logarithms are compared, whose standard deviation is about the
    coefficient of variation while that is small; else the values. The F test for two groups of at
    least 60 values that may be normal, else Brown and Forsythe's (1974). Raises AssayError for
    fewer than two groups, or fewer than two values in one.
    """
    arrays = _checked_groups(groups)
    relative = all(values.min() > 0.0 for values in arrays.values())
    scaled = {
        name: np.log(values / np.median(values)) if relative else values
        for name, values in arrays.items()
    }
    checks = _normal(scaled)
    plenty = min(values.size for values in scaled.values()) >= MIN_FOR_F
    by_f = len(scaled) == 2 and plenty and all(check.holds for check in checks)
    worth = effective_sample_ratio(*(np.abs(v - np.median(v)) for v in scaled.values()))
    test, statistic, p = spread_test(list(scaled.values()), by_f)
    p = discounted(p, worth)
    described = {group.name: group for group in _described(arrays)}
    pairs = []
    for one, other in _pairs(arrays):
        name, _, pair_p = spread_test([scaled[one], scaled[other]], by_f)
        ratio, interval = _cov_ratio(described[one], described[other])
        pair_p = discounted(pair_p, worth)
        pairs.append(
            Pair(
                one=one,
                other=other,
                ratio=ratio,
                ratio_ci95=interval,
                shift=None,
                shift_ci95=None,
                test=name,
                p=pair_p,
                p_corrected=pair_p,
                verdict="open",
            )
        )
    pairs = _corrected_pairs(pairs, margin)
    covs = [group.cov for group in described.values() if group.cov]
    why = _why(checks, worth)
    if len(scaled) == 2 and not plenty:
        why += f" Fewer than {MIN_FOR_F} values per group are too few to test normality for F."
    return GroupDifference(
        what="spread",
        test=test + (" of logarithms" if relative else ""),
        why=why,
        checks=checks,
        statistic=statistic,
        p=p,
        effect=max(covs) / min(covs) if covs else None,
        groups=list(described.values()),
        pairs=pairs,
        margin=margin,
        verdict=_verdict(p, pairs, margin),
    )


def correct(found: Sequence[GroupDifference], method: Method = "holm") -> list[GroupDifference]:
    """The differences with p corrected for all of them, and the verdicts by the corrected p."""
    adjusted = corrected([each.p for each in found], method)
    return [
        dataclasses.replace(
            each, p_corrected=float(p), verdict=_verdict(float(p), each.pairs, each.margin)
        )
        for each, p in zip(found, adjusted, strict=True)
    ]


def _checked_groups(groups: Mapping[str, Sequence[float] | Floats]) -> dict[str, Floats]:
    arrays = {name: checked(values) for name, values in groups.items()}
    if len(arrays) < 2 or min(values.size for values in arrays.values()) < 2:
        raise AssayError("A comparison needs at least two groups of at least two values each.")
    return arrays


def _pairs(arrays: Mapping[str, Floats]) -> list[tuple[str, str]]:
    return list(combinations(arrays, 2)) if len(arrays) <= MOST_PAIRED else []


def _described(arrays: Mapping[str, Floats]) -> list[Group]:
    return [
        Group(
            name=name,
            n=int(values.size),
            median=float(np.median(values)),
            median_ci95=median_interval(values),
            cov=coefficient_of_variation(values),
            cov_ci95=cov_interval(values),
        )
        for name, values in arrays.items()
    ]


def _normal(arrays: Mapping[str, Floats]) -> list[Check]:
    """One check for all groups: the minimum p, corrected for their number."""
    p = [normality(values).p for values in arrays.values()]
    least = float(corrected(p).min())
    return [Check("normal", "Shapiro–Wilk", least, least > LEVEL)]


def _even(arrays: Mapping[str, Floats]) -> Check:
    _, _, p = spread_test(list(arrays.values()), False)
    return Check(EQUAL_SPREAD, "Brown–Forsythe", p, p > LEVEL)


def _location_test(groups: Sequence[Floats], normal: bool, even: bool) -> tuple[str, float, float]:
    """Name, statistic and p of the test that the assumptions allow."""
    from scipy import stats

    if all(np.ptp(values) == 0.0 for values in groups):
        same = len({float(values[0]) for values in groups}) == 1
        return "none, because no group varies", 0.0, 1.0 if same else 0.0
    if normal and len(groups) == 2:
        t = stats.ttest_ind(groups[1], groups[0], equal_var=False)
        return "Welch's t", float(t.statistic), float(t.pvalue)
    if normal:
        f = stats.f_oneway(*groups, equal_var=False)
        return "Welch's analysis of variance", float(f.statistic), float(f.pvalue)
    if even and len(groups) == 2:
        u = stats.mannwhitneyu(groups[1], groups[0])
        return "Mann–Whitney", float(u.statistic), float(u.pvalue)
    if even:
        h = stats.kruskal(*groups)
        return "Kruskal–Wallis", float(h.statistic), float(h.pvalue)
    if len(groups) == 2:
        return "Brunner–Munzel", *brunner_munzel(groups[0], groups[1])
    ranks = np.split(
        mid_ranks(np.concatenate(list(groups))), np.cumsum([g.size for g in groups])[:-1]
    )
    f = stats.f_oneway(*ranks, equal_var=False)
    return "Welch's analysis of variance of ranks", float(f.statistic), float(f.pvalue)


def _location_pair(
    one: str,
    other: str,
    arrays: Mapping[str, Floats],
    normal: bool,
    even: bool,
    worth: float,
) -> Pair:
    x, y = arrays[one], arrays[other]
    test, _, p = _location_test([x, y], normal, even)
    shift, interval = hodges_lehmann(x, y)
    medians = [Estimate(float(np.median(v)), median_interval(v)) for v in (x, y)]
    ratio = medians[1].value / medians[0].value if medians[0].value else None
    ends = [end for m in medians for end in (m.value, *(m.interval or (-1.0,)))]
    known = min(ends) > 0.0
    p = discounted(p, worth)
    return Pair(
        one=one,
        other=other,
        ratio=ratio,
        ratio_ci95=ratio_interval(medians[1], medians[0]) if known else None,
        shift=shift,
        shift_ci95=interval,
        test=test,
        p=p,
        p_corrected=p,
        verdict="open",
    )


def _cov_ratio(one: Group, other: Group) -> tuple[float | None, Interval | None]:
    if not one.cov or not other.cov:
        return None, None
    ratio = other.cov / one.cov
    if one.cov_ci95 is None or other.cov_ci95 is None:
        return ratio, None
    return ratio, ratio_interval(
        Estimate(other.cov, _around(other.cov, other.cov_ci95)),
        Estimate(one.cov, _around(one.cov, one.cov_ci95)),
    )


def _around(value: float, interval: Interval) -> Interval:
    """The interval, widened to contain the estimate: with few values it may not contain it."""
    return min(interval[0], value), max(interval[1], value)


def _corrected_pairs(pairs: Sequence[Pair], margin: float) -> list[Pair]:
    adjusted = corrected([pair.p for pair in pairs])
    return [
        dataclasses.replace(
            pair, p_corrected=float(p), verdict=_pair_verdict(float(p), pair.ratio_ci95, margin)
        )
        for pair, p in zip(pairs, adjusted, strict=True)
    ]


def _pair_verdict(p: float, ratio: Interval | None, margin: float) -> Verdict:
    if p <= LEVEL:
        return "differs"
    within = ratio is not None and 1.0 / (1.0 + margin) <= ratio[0] and ratio[1] <= 1.0 + margin
    return "alike" if within else "open"


def _verdict(p: float, pairs: Sequence[Pair], margin: float) -> Verdict:
    if p <= LEVEL:
        return "differs"
    alike = bool(pairs) and all(
        _pair_verdict(1.0, pair.ratio_ci95, margin) == "alike" for pair in pairs
    )
    return "alike" if alike else "open"


def _location_effect(groups: Sequence[Floats]) -> float | None:
    from scipy.stats import kruskal

    if len(groups) == 2:
        ranks = mid_ranks(np.concatenate(list(groups)))[groups[0].size :]
        m = groups[1].size
        return float((ranks.mean() - (m + 1) / 2.0) / groups[0].size)
    whole = np.concatenate(list(groups))
    if np.ptp(whole) == 0.0:
        return 0.0
    return float(kruskal(*groups).statistic) / (whole.size - 1)


def _why(checks: Sequence[Check], worth: float) -> str:
    if worth >= 1.0:
        return checks_text(checks)
    return (
        f"{checks_text(checks)} Values depend on their predecessors: each counts as {worth:.2g} "
        "of an independent one."
    )
