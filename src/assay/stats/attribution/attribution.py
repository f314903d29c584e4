"""The share of a cell's variation that each of its covariates explains, and the unexplained rest.

Covariates are selected by rank-based tests, which are insensitive to skewed costs and rare events;
shares refer to the variance of the logarithm of the cost. A selected covariate correlates with the
cost; its meaning suggests that it is the cause, which only an experiment can confirm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Bools, Floats
from assay.stats.attribution.association import Tested, choose, effective_pairs
from assay.stats.attribution.covariates import BESIDE, SESSIONS, unit_of
from assay.stats.attribution.explanations import ALONE, Explanation, candidates_of, normal_scores
from assay.stats.attribution.importance import shares_of
from assay.stats.attribution.selected import conditional_interval
from assay.stats.repeats.repeats import Repeats
from assay.units import Interval, counted_verb, format_quantity, format_share

# Minimum number of measurements: with 25 covariates tested at 1%, twenty measurements show a
# correlation of 0.7.
LEAST = 20
# Probability that a cause is reported for a cell whose cost correlates with no covariate.
ALPHA = 0.01
# Enough measurements for shares accurate to a hundredth; if there are more, this number of them is
# selected at equal distances.
MOST_MEASUREMENTS = 20_000


@dataclass(frozen=True)
class CauseShare:
    """The ``share`` of the variance of the logarithm of the cost that one cause explains."""

    #: Name of the cause.
    cause: str
    #: Covariate that represents the cause; the cause's own name if it has no covariate.
    covariate: str
    #: Share of the variance of the logarithm of the cost.
    share: float
    #: 95% interval of ``share``.
    ci95: Interval
    #: +1 if higher values are slower, -1 if higher values are faster, 0 for levels.
    sign: int
    #: p of the association, corrected for all tested candidates.
    p: float
    #: The result as text.
    sentence: str
    #: The unit of the covariate.
    unit: str = ""
    #: ``quick``, ``slow``: mean of the covariate in the fastest and the slowest quarter of the
    #: measurements, in ``unit``; None for levels.
    quick: float | None = None
    slow: float | None = None
    #: For two levels, how much longer one takes than the other, as text.
    detail: str = ""
    #: Whether the share is limited by the seconds lost to the cause, although the correlation alone
    #: would explain more.
    bounded: bool = False


@dataclass(frozen=True)
class Attribution:
    """Shares, the greatest first, which add up to 1 with ``unexplained``."""

    #: Share of each cause.
    shares: list[CauseShare]
    #: The share that no cause explains.
    unexplained: float
    #: The interval of ``unexplained``.
    unexplained_ci95: Interval | None
    #: Number of measurements.
    n: int
    #: Number of independent measurements with the same information.
    effective_n: float
    #: Number of covariates and factors that were tested.
    tried: int
    #: Standard deviation of the logarithm of the cost.
    deviation: float
    #: How the shares were found, in a sentence.
    method: str
    #: Reason why there is no attribution, empty otherwise; with a reason there are no shares, and
    #: ``unexplained`` is 1.
    silent: str = ""


def attribute(repeats: Repeats, *, alpha: float = ALPHA) -> Attribution:
    """Attribute a cell's variation to its covariates, its hosts and its times.

    ``alpha``: probability of naming a cause where there is none. Fewer than ``LEAST`` measurements
    are not attributed. docs/methods/steadiness.md, "Causes of variation", has the steps, their
    sources and the measured error rates.
    """
    cost = repeats.cost
    n = int(cost.size)
    if n < LEAST:
        return _silence(
            n, f"{n} measurements are too few to identify causes: the minimum is {LEAST}"
        )
    if not (np.isfinite(cost).all() and cost.min() > 0.0):
        return _silence(n, "some of its values are not positive and have no logarithm")
    repeats = _thinned(repeats)
    log_cost = np.log(repeats.cost)
    deviation = float(np.std(log_cost, ddof=1))
    if np.ptp(log_cost) == 0.0:
        return _silence(n, "its values did not vary")
    candidates = candidates_of(repeats)
    chosen = choose(log_cost, candidates, alpha)
    scores = normal_scores(log_cost)
    worth = effective_pairs(scores, scores) * n / log_cost.size
    causes = [each.candidate for each in chosen]
    shares, rest, rest_ci95 = shares_of(log_cost, causes, n / worth)
    shares, rest_ci95 = _selected(
        chosen=chosen,
        shares=shares,
        rest=rest,
        rest_ci95=rest_ci95,
        alpha=alpha,
        tried=len(candidates),
    )
    quarter = _quarters(log_cost)
    return Attribution(
        shares=sorted(
            (
                _share(tested, share, ci95, quarter, log_cost)
                for tested, (share, ci95) in zip(chosen, shares, strict=True)
            ),
            key=lambda each: -each.share,
        ),
        unexplained=rest,
        unexplained_ci95=rest_ci95,
        n=n,
        effective_n=worth,
        tried=len(candidates),
        deviation=deviation,
        method=(
            f"{counted_verb(len(candidates), 'possible cause', 'were')} tested by normal scores, "
            f"at a family-wise error rate of {format_share(alpha)} (Holm). Shares refer to the "
            "variance of the logarithm of the cost, averaged over the orders of the causes, direct "
            "ones first. "
            "Intervals allow for the selection of causes by their significance."
        ),
    )


def _selected(
    chosen: Sequence[Tested],
    shares: Sequence[tuple[float, Interval]],
    rest: float,
    rest_ci95: Interval | None,
    alpha: float,
    tried: int,
) -> tuple[list[tuple[float, Interval]], Interval | None]:
    """The shares and the rest with intervals that allow for the selection of the causes."""
    found = []
    for tested, (share, ci95) in zip(chosen, shares, strict=True):
        # Corrected p are at most alpha; one of two sides of a test without an expected sign.
        one_sided = 0.5 / tried
        found.append(
            (share, conditional_interval(share, ci95, tested.p * one_sided, alpha * one_sided))
        )
    if rest_ci95 is not None:
        below = math.hypot(*(share - ci95[0] for share, ci95 in found))
        rest_ci95 = rest_ci95[0], max(rest_ci95[1], min(rest + below, 1.0))
    return found, rest_ci95


def _silence(n: int, why: str) -> Attribution:
    return Attribution(
        shares=[],
        unexplained=1.0,
        unexplained_ci95=None,
        n=n,
        effective_n=float(n),
        tried=0,
        deviation=0.0,
        method="",
        silent=why,
    )


def _thinned(repeats: Repeats) -> Repeats:
    n = len(repeats)
    if n <= MOST_MEASUREMENTS:
        return repeats
    return repeats.take(np.linspace(0, n - 1, MOST_MEASUREMENTS).astype(np.int64))


def _quarters(log_cost: Floats) -> tuple[Bools, Bools]:
    """Masks of the fastest and of the slowest quarter of the measurements."""
    low, high = np.quantile(log_cost, (0.25, 0.75))
    return log_cost <= low, log_cost >= high


def _share(
    tested: Tested, share: float, ci95: Interval, quarters: tuple[Bools, Bools], log_cost: Floats
) -> CauseShare:
    candidate = tested.candidate
    cause = candidate.cause
    sentence = (
        f"{format_share(share, ci95)} of the variation is explained by {cause.words}: "
        f"{cause.meaning}"
    )
    if candidate.raw is None:
        detail, sign = _detail(candidate, log_cost)
        if detail:
            sentence = f"{sentence}; {detail}"
        return CauseShare(
            cause=cause.name,
            covariate=candidate.name,
            share=share,
            ci95=ci95,
            sign=sign,
            p=tested.p,
            sentence=sentence,
            detail=detail,
        )
    unit = unit_of(candidate.name)
    quick, slow = (float(np.mean(candidate.raw[which])) for which in quarters)
    return CauseShare(
        cause=cause.name,
        covariate=candidate.name,
        share=share,
        ci95=ci95,
        sign=candidate.sign,
        p=tested.p,
        sentence=f"{sentence} ({format_quantity(quick, unit)} in the fastest quarter of the "
        f"launches, {format_quantity(slow, unit)} in the slowest)",
        unit=unit,
        quick=quick,
        slow=slow,
        bounded=tested.credit < 1.0,
    )


def _detail(candidate: Explanation, log_cost: Floats) -> tuple[str, int]:
    """``launches on cpu7 took 12% more time``, and +1 if they are slower, -1 if faster."""
    if not candidate.which:
        return "", candidate.sign
    there = candidate.scores[:, 0] > 0.0
    ratio = math.expm1(float(log_cost[there].mean() - log_cost[~there].mean()))
    level = f"on {candidate.which}"
    if candidate.cause is BESIDE:
        level = f"concurrent with {candidate.which}"
    if candidate.which == ALONE:
        level = "without a concurrent run"
    if candidate.cause is SESSIONS:
        level = f"of {candidate.which}"
    size = format_share(abs(ratio))
    return (
        f"launches {level} took {size} {'more' if ratio > 0.0 else 'less'} time",
        1 if ratio > 0.0 else -1,
    )
