"""Scores, penalties and bonuses of a contract.

The score with ``mean = "geometric"`` is Scalable System Improvement (SSI) as NERSC and the Alliance
for Application Performance at Extreme Scale define it: the weighted geometric mean of c U S, with
the capability factor c, the utilisation factor U = (n_ref / n) (N / N_ref) and the speedup S.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.acceptance.contract import Mean, Payment, ScorePromise
from assay.acceptance.decision import Outcome
from assay.units import Interval


@dataclass(frozen=True)
class Term:
    """One term of a score."""

    weight: float
    #: c (n_ref ÷ n).
    factor: float
    #: S: how many times better than the reference, with its 95% interval if there is one.
    speedup: float
    interval: Interval | None


@dataclass(frozen=True)
class Score:
    """A score with its 95% interval; None if a term has none."""

    value: float
    interval: Interval | None


def score_of(terms: Sequence[Term], mean: Mean, scale: float) -> Score:
    """The weighted mean of terms, times ``scale`` (N ÷ N_ref).

    The distances from value to interval end are added in quadrature, for ``geometric`` on
    logarithms (MOVER, G. Zou, A. Donner: Construction of confidence limits about effect measures,
    Statistics in Medicine 27, 2008, 1693-1702); this takes the terms as independent. ``terms`` must
    not be empty, and weights, factors and speedups must be positive.
    """
    geometric = mean == "geometric"
    total = math.fsum(term.weight for term in terms)

    def at(term: Term, speedup: float) -> float:
        value = term.factor * speedup
        return term.weight * (math.log(value) if geometric else value) / total

    def back(value: float) -> float:
        return scale * (math.exp(value) if geometric else value)

    centre = math.fsum(at(term, term.speedup) for term in terms)
    if any(term.interval is None for term in terms):
        return Score(back(centre), None)
    reach = [0.0, 0.0]
    for end in (0, 1):
        reach[end] = math.hypot(
            *(at(t, t.interval[end]) - at(t, t.speedup) for t in terms if t.interval is not None)
        )
    return Score(back(centre), (back(centre - reach[0]), back(centre + reach[1])))


def decide_score(promise: ScorePromise, low: float | None, high: float | None) -> Outcome:
    """The decision on a promised score by its one-sided limits; None where terms have none.

    Rejected if the upper limit, at the supplier's risk, is less than promised; accepted if the
    lower limit, at the buyer's risk, is at least the score that is worse by the margin. If both
    hold, the limit that is farther from its bound counts.
    """
    surplus = 0.0 if high is None else math.log(promise.at_least / high)
    reserve = -1.0 if low is None else math.log(low / (promise.at_least * (1.0 - promise.margin)))
    if surplus > 0.0 and surplus > reserve:
        return "rejected"
    return "accepted" if reserve >= 0.0 else "undecided"


def payment(paid: Payment | None, share: float) -> float:
    """The amount for a share, such as 0.05 for 5 per cent worse; 0 for none and below 0."""
    if paid is None or share <= 0.0:
        return 0.0
    amount = paid.per_cent * 100.0 * share
    return amount if paid.cap is None else min(amount, paid.cap)


def capped(amount: float, cap: float | None) -> float:
    """The amount, at most ``cap``."""
    return amount if cap is None else min(amount, cap)
