"""How much of a cell's variation goes with each of its covariates, and how much with none.

Which covariates matter is tested on ranks, so that skewed costs and rare events do no harm; how
much they explain is told of the logarithm of the cost itself. What is found goes together with the
cost; that it causes it is what the covariate's meaning suggests, and what an experiment would show.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from assay.stats.attribution.association import Tested, choose, effective_pairs
from assay.stats.attribution.covariates import BESIDE, SESSIONS, unit_of
from assay.stats.attribution.explanations import ALONE, Explanation, candidates_of, normal_scores
from assay.stats.attribution.importance import shares_of
from assay.stats.core.intervals import Floats, Interval
from assay.stats.repeats.repeats import Repeats
from assay.units import format_quantity, format_share

Mask = npt.NDArray[np.bool_]

# Fewest measurements: with 25 covariates tried at 1%, a correlation of 0.7 is found among twenty.
LEAST = 20
# A cell whose cost goes with no covariate is said to have a cause once in a hundred.
ALPHA = 0.01
# Enough for every share to a hundredth; of more, as many are taken at equal distances.
MOST_MEASUREMENTS = 20_000


class CauseShare(msgspec.Struct, frozen=True):
    """What one cause explains: ``share`` of the variance of the logarithm of the cost.

    ``covariate``: the one that stands for the cause; of causes that are no covariates the cause's
    own name. ``sign``: +1 if more of it goes with slower, -1 with quicker, 0 where it is levels.
    ``p``: corrected for all that were tried. ``quick``, ``slow``: its mean in the quickest and
    the slowest quarter of the measurements, in ``unit``; None where it is levels. ``detail``: of
    two levels, how much longer one takes, in words. ``bounded``: more goes with it than the seconds
    that were lost to it can have made, and isn't counted.

    ``cause``: its name; ``ci95``: the interval of ``share``; ``sentence``: it in words.
    """

    cause: str
    covariate: str
    share: float
    ci95: Interval
    sign: int
    p: float
    sentence: str
    unit: str = ""
    quick: float | None = None
    slow: float | None = None
    detail: str = ""
    bounded: bool = False


class Attribution(msgspec.Struct, frozen=True):
    """Shares, the greatest first, which add up to 1 with ``unexplained``.

    ``n`` measurements are worth ``effective_n`` independent ones. ``tried``: covariates and factors
    that were tried. ``deviation``: standard deviation of the logarithm of the cost. ``silent``: why
    nothing can be said, empty otherwise; then there are no shares and ``unexplained`` is 1.

    ``shares``: by cause; ``unexplained_ci95``: the interval of ``unexplained``; ``method``: how
    the shares were found, in a sentence.
    """

    shares: list[CauseShare]
    unexplained: float
    unexplained_ci95: Interval | None
    n: int
    effective_n: float
    tried: int
    deviation: float
    method: str
    silent: str = ""


def attribute(repeats: Repeats, *, alpha: float = ALPHA) -> Attribution:
    """Attribute a cell's variation to its covariates, its hosts and its times.

    ``alpha``: chance that anything is named where nothing explains. A cell is never said more of
    than its measurements carry: under ``LEAST`` nothing.
    docs/methods/steadiness.md, "Causes of variation", has the steps, their sources and the
    rates that were found.
    """
    cost = repeats.cost
    n = int(cost.size)
    if n < LEAST:
        return _silence(
            n, f"{n} measurements are too few to identify causes: the minimum is {LEAST}"
        )
    if not (np.isfinite(cost).all() and cost.min() > 0.0):
        return _silence(n, "its values are no costs, so there is no ratio between them")
    repeats = _thinned(repeats)
    log_cost = np.log(repeats.cost)
    deviation = float(np.std(log_cost, ddof=1))
    if np.ptp(log_cost) == 0.0:
        return _silence(n, "it did not vary")
    candidates = candidates_of(repeats)
    chosen = choose(log_cost, candidates, alpha)
    scores = normal_scores(log_cost)
    worth = effective_pairs(scores, scores) * n / log_cost.size
    causes = [each.candidate for each in chosen]
    shares, rest, rest_ci95 = shares_of(log_cost, causes, n / worth)
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
            f"Tested: {len(candidates)} covariates and factors, by normal scores, at "
            f"{format_share(alpha)} for all together (Holm); shares: of the variance of the "
            "logarithm of the cost, averaged over orders, direct causes first"
        ),
    )


def _silence(n: int, why: str) -> Attribution:
    return Attribution([], 1.0, None, n, float(n), 0, 0.0, "", why)


def _thinned(repeats: Repeats) -> Repeats:
    n = len(repeats)
    if n <= MOST_MEASUREMENTS:
        return repeats
    return repeats.take(np.linspace(0, n - 1, MOST_MEASUREMENTS).astype(np.int64))


def _quarters(log_cost: Floats) -> tuple[Mask, Mask]:
    """Which measurements are the quickest quarter, and which the slowest."""
    low, high = np.quantile(log_cost, (0.25, 0.75))
    return log_cost <= low, log_cost >= high


def _share(
    tested: Tested, share: float, ci95: Interval, quarters: tuple[Mask, Mask], log_cost: Floats
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
            cause.name, candidate.name, share, ci95, sign, tested.p, sentence, detail=detail
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
        sentence=f"{sentence} ({format_quantity(quick, unit)} in the quickest quarter of the "
        f"launches, {format_quantity(slow, unit)} in the slowest)",
        unit=unit,
        quick=quick,
        slow=slow,
        bounded=tested.credit < 1.0,
    )


def _detail(candidate: Explanation, log_cost: Floats) -> tuple[str, int]:
    """``those on cpu7 took 12% longer``, and whether slower (+1) or quicker (-1) goes with it."""
    if not candidate.which:
        return "", candidate.sign
    there = candidate.scores[:, 0] > 0.0
    ratio = math.expm1(float(log_cost[there].mean() - log_cost[~there].mean()))
    who = f"beside {candidate.which}" if candidate.cause is BESIDE else f"on {candidate.which}"
    if candidate.which == ALONE:
        who = ALONE
    if candidate.cause is SESSIONS:
        who = f"of {candidate.which}"
    size = format_share(abs(ratio))
    return (
        f"those {who} took {size} {'longer' if ratio > 0.0 else 'less'}",
        1 if ratio > 0.0 else -1,
    )
