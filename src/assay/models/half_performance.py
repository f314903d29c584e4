"""N½: the order at which a rate that grows with the order reaches half of its maximum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.units import Interval


@dataclass(frozen=True)
class RateAt:
    """One measured order: the rate in flop/s with its 95% interval (None without one)."""

    order: int
    rate: float
    #: 95% interval of the rate; None without one.
    interval: Interval | None


@dataclass(frozen=True)
class HalfOrder:
    """The order that reaches half of the best rate."""

    #: The order; ``at_most`` if only a bound is known.
    order: float
    #: ``interpolated`` between the two measured orders ``between``; ``extrapolated`` below the
    #: smallest order, ``at_most``, which already exceeds half; or ``bounded``: only this upper
    #: bound is known, and ``order`` is ``at_most``.
    how: Literal["interpolated", "extrapolated", "bounded"]
    #: 95% interval; known only for an interpolated order whose rates have intervals.
    interval: Interval | None = None
    #: The two measured orders that ``order`` is interpolated between.
    between: tuple[int, int] | None = None
    #: The smallest measured order, whose rate already exceeds half of the best.
    at_most: int | None = None


def half_order(curve: Sequence[RateAt]) -> HalfOrder | None:
    """The smallest order whose rate reaches half of the curve's best; None under two orders.

    ``curve``: points with ascending orders. If several points have the same order, the fastest
    counts. Between two of them the rate is interpolated linearly in log N: as a function of log n,
    a rate r n / (n + h) has no curvature where it reaches r / 2. Below the smallest order this
    form, for which n / rate is linear in n, is extrapolated from the smallest two (Hockney 1994).
    """
    fastest: dict[int, RateAt] = {}
    for point in curve:
        known = fastest.setdefault(point.order, point)
        if point.rate > known.rate:
            fastest[point.order] = point
    curve = list(fastest.values())
    if len(curve) < 2:
        return None
    best = max(range(len(curve)), key=lambda index: curve[index].rate)
    rates = [point.rate for point in curve]
    if rates[0] > rates[best] / 2:
        return _below(curve[0], curve[1], rates[best] / 2)
    orders = [point.order for point in curve]
    at = _crossing(orders, rates, best)
    assert at is not None
    above = _first_reaching(rates, rates[best] / 2)
    between = (orders[max(above - 1, 0)], orders[above])
    return HalfOrder(at, "interpolated", _interval(curve, best, at), between)


def _first_reaching(rates: Sequence[float], target: float) -> int:
    """The index of the first rate of at least ``target``."""
    return next(index for index, rate in enumerate(rates) if rate >= target)


def _crossing(orders: Sequence[int], rates: Sequence[float], best: int) -> float | None:
    """The order at which the curve first reaches half of ``rates[best]``; its first segment is
    extrapolated downwards.
    """
    target = rates[best] / 2
    above = max(_first_reaching(rates, target), 1)
    low, high = rates[above - 1], rates[above]
    if high <= low:
        return None
    share = (target - low) / (high - low)
    return float(orders[above - 1] * (orders[above] / orders[above - 1]) ** share)


def _interval(curve: Sequence[RateAt], best: int, at: float) -> Interval | None:
    """Interval by moving each rate separately to either end of its interval, added in quadrature.

    The launches of cells are independent, so this is MOVER (Zou & Donner 2008) on logarithms, as
    for ratios. None if a relevant rate has no interval or isn't distinguishable from its neighbour.
    """
    orders = [point.order for point in curve]
    rates = [point.rate for point in curve]
    above = max(_first_reaching(rates, rates[best] / 2), 1)
    if any(curve[index].interval is None for index in (above - 1, above, best)):
        return None
    down = up = 0.0
    for index, point in enumerate(curve):
        moves = [0.0]
        for end in point.interval or ():
            moved = _crossing(orders, [*rates[:index], end, *rates[index + 1 :]], best)
            if moved is None:
                return None
            moves.append(math.log(moved / at))
        down, up = math.hypot(down, min(moves)), math.hypot(up, max(moves))
    return at * math.exp(-down), at * math.exp(up)


def _below(first: RateAt, second: RateAt, target: float) -> HalfOrder:
    """N½ below the smallest measured order, by the line of n / rate through the two smallest
    orders."""
    slope = (second.order / second.rate - first.order / first.rate) / (second.order - first.order)
    start = first.order / first.rate - slope * first.order
    rise = 1 / target - slope
    if start <= 0 or rise <= 0:  # the rate doesn't fall towards small orders, so there is no basis
        return HalfOrder(float(first.order), "bounded", at_most=first.order)
    return HalfOrder(start / rise, "extrapolated", at_most=first.order)
