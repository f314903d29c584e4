"""Tests of association of candidates with a cost, corrected for multiple testing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.arrays import Floats
from assay.stats.attribution.explanations import Explanation, fenced, normal_scores
from assay.stats.core.correlation import integrated_time
from assay.stats.core.multiple import corrected
from assay.stats.core.rounding import PROJECTED, RELATIVE

MOST_CAUSES = 5
# A more direct cause is preferred if it explains at least the share NEARLY of the variance that the
# best candidate explains. For a cause that acts through the best candidate, the share is HALF.
NEARLY, HALF = 0.8, 0.5
# Singular values below this share of the largest are rounding errors of a redundant column.
_REDUNDANT = 1e-7
# Minimum length of compared periods, in autocorrelation times.
LONG_STRETCH = 20.0


@dataclass(frozen=True)
class Tested:
    """A candidate with its ``p`` and its ``gain``, the adjusted share of the rest that it explains.

    For a cause whose lost seconds are known, ``gain`` is multiplied by ``credit``, the part of the
    association that these seconds can have caused.
    """

    candidate: Explanation
    p: float
    gain: float
    credit: float = 1.0


def effective_pairs(x: Floats, y: Floats) -> float:
    """The effective number of independent pairs for the correlation of two series in time order.

    n / (1 + 2 sum of the products of their autocorrelations) (Bartlett 1935; Pyper & Peterman
    1998), up to the first product that chance may explain; at most n.
    """
    n = int(x.size)
    lags = min(n // 4, 200)
    chance = 4.0 / n  # the square of two standard deviations of a correlation
    norms = float(x @ x), float(y @ y)
    if min(norms) <= 0.0:
        return float(n)
    total = 0.0
    for lag in range(1, lags + 1):
        of_x = float(x[lag:] @ x[:-lag]) / norms[0]
        of_y = float(y[lag:] @ y[:-lag]) / norms[1]
        if of_x <= 0.0 or of_y <= 0.0 or of_x * of_y < chance:
            break
        total += of_x * of_y
    return n / (1.0 + 2.0 * total)


def _worth_of_stretches(rest: Floats, stretch: int) -> float:
    """The effective number of measurements for a comparison of periods.

    From the autocorrelation of the residuals, because in the cost itself the difference between
    periods is autocorrelation too. It can be estimated only in periods much longer than the
    autocorrelation time; 0 otherwise.
    """
    seen = float(integrated_time(rest))
    # Subtracting each period's mean removes part of the autocorrelation.
    dependence = seen / max(1.0 - 3.0 * seen / stretch, 0.1)
    return rest.size / dependence if stretch >= LONG_STRETCH * dependence else 0.0


def credit(log_cost: Floats, candidate: Explanation, base: Floats) -> float:
    """The part of the association with a candidate that its lost seconds can have caused, 0 to 1.

    1 where no seconds bound it. The cost's slope on the candidate's scores is compared with that of
    the upper bound ``most``, both after projection off ``base`` (orthonormal columns).
    """
    if candidate.most is None:
        return 1.0
    x = candidate.scores[:, 0] - base @ (base.T @ candidate.scores[:, 0])
    slope = float(x @ log_cost)
    return min(max(float(x @ candidate.most) / slope, 0.0), 1.0) if slope > 0.0 else 1.0


def _test(
    log_cost: Floats, given: Sequence[Explanation], candidates: Sequence[Explanation]
) -> list[Tested]:
    """Partial association of the cost's logarithm with each candidate, given others.

    By normal scores and by the values within fences: the smaller p of the two, doubled. The given
    causes are held constant. If the association with one exceeds its upper bound, only this bound
    is subtracted from the cost instead.
    """
    n = log_cost.size
    held, left = list(given), log_cost
    for each in given:
        if each.most is not None:
            others = [other for other in held if other is not each]
            base = _basis([other.scores for other in others], n)
            if credit(left, each, base) < 1.0:
                held, left = others, left - each.most
    series = normal_scores(left), fenced(left)
    bases = _basis([each.scores for each in held], n), _basis([each.fenced for each in held], n)
    tested = []
    for candidate in candidates:
        by_scores = _associated(series[0], bases[0], candidate.scores, candidate)
        by_values = _associated(series[1], bases[1], candidate.fenced, candidate)
        p, gain = min(by_scores, by_values)
        part = credit(left, candidate, bases[0])
        tested.append(Tested(candidate, min(2.0 * p, 1.0), part * gain, part))
    return tested


def _associated(
    cost: Floats, base: Floats, columns: Floats, candidate: Explanation
) -> tuple[float, float]:
    """p, and the adjusted share that the columns explain of the cost's variance given the base."""
    from scipy.special import fdtrc, stdtr

    y = cost - base @ (base.T @ cost)
    x = columns - base @ (base.T @ columns)
    whole = float(y @ y)
    # If a candidate is in the span of the base, only rounding errors remain.
    if whole <= 0.0 or float((x**2).sum()) <= PROJECTED * float((columns**2).sum()):
        return 1.0, 0.0
    axes, sizes, _ = np.linalg.svd(x, full_matrices=False)
    axes = axes[:, sizes > _REDUNDANT * sizes[0]]
    count = axes.shape[1]
    along = axes.T @ y
    explained = min(float(along @ along) / whole, 1.0 - RELATIVE)
    fitted = axes @ along
    if candidate.stretch:
        worth = _worth_of_stretches(y - fitted, candidate.stretch)
    else:
        worth = effective_pairs(fitted, y)
    freedom = worth - base.shape[1] - count
    if freedom < 3.0:
        return 1.0, 0.0
    gain = max(1.0 - (1.0 - explained) * (freedom + count) / freedom, 0.0)
    if count > 1:
        ratio = explained / count / ((1.0 - explained) / freedom)
        return float(fdtrc(count, freedom, ratio)), gain
    t = math.sqrt(explained * freedom / (1.0 - explained))
    if candidate.sign == 0:
        return 2.0 * float(stdtr(freedom, -t)), gain
    as_expected = float(x[:, 0] @ y) * candidate.sign > 0.0
    return float(stdtr(freedom, -t if as_expected else t)), gain


def _basis(parts: Sequence[Floats], n: int) -> Floats:
    """Orthonormal columns that span the constant and the parts."""
    columns = np.concatenate([np.full((n, 1), 1.0), *parts], axis=1)
    axes, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(axes[:, sizes > _REDUNDANT * sizes[0]])


def choose(log_cost: Floats, candidates: Sequence[Explanation], alpha: float) -> list[Tested]:
    """The significant causes after correction, one covariate each, in order of selection.

    Forward selection: each step selects, given the causes selected so far, the significant
    candidate that explains most, or a more direct one that explains nearly as much. Finally, each
    cause must be significant given the others that are at least as direct.
    """
    chosen: list[Tested] = []
    while len(chosen) < MOST_CAUSES:
        taken = {each.candidate.cause.name for each in chosen}
        left = [
            each
            for each in candidates
            if each.cause.name not in taken and taken.isdisjoint(each.cause.way)
        ]
        holding = _holding(_test(log_cost, [each.candidate for each in chosen], left), alpha)
        if not holding:
            break
        most = max(holding, key=lambda each: each.gain)
        near = [each for each in holding if each.gain >= NEARLY * most.gain]
        # A cause that acts through the best candidate is preferred to the candidate.
        near += [
            each
            for each in holding
            if each.candidate.cause.name in most.candidate.cause.way
            and each.gain >= HALF * most.gain
        ]
        causes = {each.candidate.cause.name for each in near}
        best = min(
            near,
            key=lambda each: (
                each.candidate.cause.tier,
                not causes.isdisjoint(each.candidate.cause.way),
                -each.gain,
            ),
        )
        # Among the candidates of one cause, prefer the one with fewer columns.
        alike = [each for each in near if each.candidate.cause is best.candidate.cause]
        chosen.append(min(alike, key=lambda each: (each.candidate.scores.shape[1], -each.gain)))
    while len(chosen) > 1:
        again = []
        for each in chosen:
            # Variance that both a direct and an indirect cause explain is attributed to the direct
            # cause.
            tier = each.candidate.cause.tier
            others = [
                other.candidate
                for other in chosen
                if other is not each and other.candidate.cause.tier <= tier
            ]
            (tested,) = _test(log_cost, others, [each.candidate])
            again.append(tested.p * len(candidates))
        worst = int(np.argmax(again))
        if again[worst] <= alpha:
            break
        del chosen[worst]
    return chosen


def _holding(tested: Sequence[Tested], alpha: float) -> list[Tested]:
    if not tested:
        return []
    p = corrected([each.p for each in tested], "holm")
    return [
        replace(each, p=float(value))
        for each, value in zip(tested, p, strict=True)
        if value <= alpha
    ]
