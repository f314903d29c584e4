"""Verdicts on pairs of sides: faster, slower, the same, or undecided, for several cells together.

A pair is one cell on two sides: its values by launch (or by session), in order of time. p is
corrected for all pairs (Holm). The dependence of successive launches is estimated from all pairs
together, because the few launches of one cell don't show it. Sides of different runs count as
different only if they also differ by more than runs of one machine do (``run_scatter.py``), or if
the history of the machine has a change of level between them. Without a known scatter of runs, a
verdict is on the two runs and not on their machines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from assay.arrays import Floats
from assay.stats.compare.code_factor import without_code
from assay.stats.compare.group_tests import LEVEL
from assay.stats.compare.groups import location_differs
from assay.stats.compare.run_scatter import (
    FALSE_DISCOVERIES,
    RunDifference,
    RunScatter,
    RunStep,
    run_difference,
)
from assay.stats.compare.two_sides import (
    launches_needed,
    ratio_of_sides,
    runs_needed,
    widened,
)
from assay.stats.core.intervals import Estimate
from assay.stats.core.launches import effective_sample_ratio, launch_interval
from assay.stats.core.multiple import corrected
from assay.units import Interval

PairVerdict = Literal["faster", "slower", "same", "open", "none"]
# Minimum number of values per side for a test.
MIN_TESTED = 2
# Lower limit of the effective number of values per value, where the estimate degenerates.
_LEAST_WORTH = 0.05
_Z95 = 1.959963984540054


@dataclass(frozen=True)
class SidePair:
    """One cell on two sides."""

    #: ``one``, ``other``: values of each side in order of time. ``other`` divided by ``one`` is the
    #: factor of speed (for times, ``other`` is the reference).
    one: Floats
    other: Floats
    #: Whether a verdict is possible; false if two codes produced the values and their ratio is
    #: unknown.
    comparable: bool = True
    #: Factor by which the other side's code is faster than the reference's code on one machine,
    #: with its interval; None for the same code. With a factor, a single value of a side counts as
    #: exact in the interval; the verdict then holds only under this condition
    #: (``PairDecision.if_exact``).
    code_factor: Estimate | None = None
    #: What each value measures; dependence is estimated separately for each unit, and not at all
    #: for nodes, which have no order of time.
    unit: Literal["launches", "sessions", "nodes"] = "launches"
    separate: bool = False
    scatter: RunScatter | None = None
    #: The change of level between the runs, by the history of their machine.
    step: RunStep | None = None
    disturbed: bool = False

    @property
    def between_runs(self) -> bool:
        """Whether the verdict uses the scatter between runs, measured or assumed."""
        return self.separate and self.unit == "launches" and self.code_factor is None

    @property
    def of_two_runs(self) -> bool:
        """Whether the scatter between runs is assumed: a verdict holds for these two runs only."""
        return self.between_runs and self.scatter is None


@dataclass(frozen=True)
class PairDecision:
    """Divided by the factor of codes where one is given."""

    #: Factor by which the other side is faster.
    speed: float | None
    #: 95% interval of ``speed``.
    speed_ci95: Interval | None
    #: Probability that a value of the other side is faster than a value of the reference (0.5:
    #: alike).
    effect: float
    #: ``test``, ``why``, ``p``: test of no difference, the reason for this test, and its p; empty
    #: and None without a test.
    test: str
    why: str
    p: float | None
    #: p corrected for all pairs (Holm). For separate runs, p and the interval are the greater p and
    #: the wider interval of the comparisons by launches and by runs.
    p_corrected: float | None
    verdict: PairVerdict
    #: Number of further values per side that would probably decide an open verdict.
    more: int | None
    #: Effective number of independent values per value.
    worth: float
    #: For an open pair with a code factor and a single value on one side, the verdict if this value
    #: has no error; None if its interval permits no verdict.
    if_exact: Literal["faster", "slower"] | None = None
    #: p by the launches only, corrected for all pairs.
    p_launches: float | None = None
    #: For an open pair of separate runs, the verdict by the launches only; it would apply if runs
    #: of a machine did not differ.
    in_runs: Literal["faster", "slower"] | None = None
    #: For separate runs, number of runs or sessions per side that would probably decide an open
    #: verdict.
    runs: int | None = None
    #: For separate runs, their difference by the scatter between runs.
    between: RunDifference | None = None
    #: For separate runs, the change of level between them in the history of their machine, with p
    #: corrected for all pairs (Benjamini & Hochberg); None if it is not significant, as for a
    #: history, or if it contradicts the difference of the two runs.
    step: RunStep | None = None


def decide(pairs: Sequence[SidePair], margin: float) -> list[PairDecision]:
    """The decisions on all pairs, in their order. ``margin``: within which sides are the same.

    The same: the 95% interval of the ratio lies within the margin. Different, else: p at most 5%
    after Holm's correction. Both allow for the dependence of successive values (``shared_worth``),
    and of separate runs for the scatter between runs. Separate runs are also different if a history
    of their machine reports a change of level between them, in the same direction. A difference of
    disturbed sides is open.

    The variation of a single value is unknown, so that its pair is open. The interval of its ratio
    contains the variation of the other side and of the code factor. If p by this interval is at
    most 5%, corrected for all such pairs (Holm), ``if_exact`` is the verdict under the condition
    that the single value has no error.
    """
    units = {pair.unit for pair in pairs}
    worth = {unit: shared_worth([p for p in pairs if p.unit == unit]) for unit in units}
    found = [_tested(pair, margin, worth[pair.unit]) for pair in pairs]
    found = [
        replace(each, step=step) for each, step in zip(found, _steps(pairs, found), strict=True)
    ]
    p_values = corrected([math.nan if each.p is None else each.p for each in found])
    by_launches = corrected(
        [math.nan if each.p_launches is None else each.p_launches for each in found]
    )
    count = sum(pair.comparable for pair in pairs)
    decided = [
        _decided(
            replace(each, p_launches=None if each.p_launches is None else float(alone)),
            pair,
            None if each.p is None else float(p),
            margin,
            count,
        )
        for each, pair, p, alone in zip(found, pairs, p_values, by_launches, strict=True)
    ]
    conditional = corrected(
        [_p_if_exact(each, pair) for each, pair in zip(decided, pairs, strict=True)]
    )
    return [
        replace(each, if_exact=_direction(each, pair)) if p <= LEVEL else each
        for each, pair, p in zip(decided, pairs, conditional, strict=True)
    ]


def _steps(pairs: Sequence[SidePair], found: Sequence[PairDecision]) -> list[RunStep | None]:
    """The significant changes of level between the runs of each pair, by a history's criterion."""
    p = [
        (1.0 if pair.step is None else pair.step.p)
        if pair.comparable and pair.between_runs
        else math.nan
        for pair in pairs
    ]
    return [
        replace(pair.step, p=float(of_pair))
        if pair.step is not None
        and of_pair <= FALSE_DISCOVERIES
        and (pair.step.ratio > 1.0) == (_direction(each, pair) == "faster")
        else None
        for pair, each, of_pair in zip(pairs, found, corrected(p, "bh"), strict=True)
    ]


def _p_if_exact(found: PairDecision, pair: SidePair) -> float:
    """p of a ratio of 1 if a side's single value has no error; NaN for other pairs."""
    single = min(pair.one.size, pair.other.size) < MIN_TESTED
    if not single or pair.code_factor is None or found.speed is None or not found.speed_ci95:
        return math.nan
    return _across_codes(found.speed, found.speed_ci95, pair.code_factor.value)[2]


def shared_worth(pairs: Sequence[SidePair]) -> float:
    """Effective number of independent values per value, estimated from all pairs; at most 1.

    The lag-1 autocorrelation is pooled over both sides of all comparable pairs
    (``effective_sample_ratio``). In n values of a stationary series whose mean has the variance
    sigma^2 / (n w), the expected variance within is sigma^2 (n - 1/w) / (n - 1); the result
    allows for this, too. Each distinct series counts once.
    """
    series = {
        values.tobytes(): values
        for pair in pairs
        if pair.comparable and pair.unit != "nodes"
        for values in (pair.one, pair.other)
        if values.size > MIN_TESTED
    }
    if len(series) < 2:
        return 1.0
    worth = effective_sample_ratio(*series.values())
    if worth >= 1.0:
        return 1.0
    n = min(values.size for values in series.values())
    return max(worth * (n - 1.0 / worth) / (n - 1.0), _LEAST_WORTH)


def _tested(pair: SidePair, margin: float, worth: float) -> PairDecision:
    """The pair's ratio and p, still without correction and verdict."""
    speed, interval = ratio_of_sides(pair.one, pair.other)
    test, why, p = "", "", None
    if pair.comparable and min(pair.one.size, pair.other.size) >= MIN_TESTED:
        own = min(effective_sample_ratio(pair.one, pair.other), worth)
        difference = location_differs(
            {"one": pair.one, "other": pair.other}, margin=margin, at_most=own
        )
        test, why, p = difference.test, difference.why, difference.p
        if speed is not None and interval is not None:
            interval = widened(speed, interval, own)
        worth = own
    alone, between = p, None
    if p is not None and pair.between_runs:
        between = run_difference(pair.one, pair.other, pair.scatter, worth)
        if between is not None:
            p = max(p, between.p)
            why = f"{why} {_runs_text(pair)}"
            if interval is not None:
                interval = (
                    min(interval[0], between.interval[0]),
                    max(interval[1], between.interval[1]),
                )
    if pair.code_factor is not None and speed is not None:
        tested = interval is not None
        interval = interval or _over_single(pair)
        machine = without_code(Estimate(speed, interval), pair.code_factor)
        test, why, p = "", "", None
        if tested and machine.interval is not None:
            test, why, p = _across_codes(machine.value, machine.interval, pair.code_factor.value)
        speed, interval = machine.value, machine.interval if interval is not None else None
    effect = float(np.mean(np.sign(pair.other[None, :] - pair.one[:, None])) + 1.0) / 2.0
    return PairDecision(
        speed=speed,
        speed_ci95=interval,
        effect=effect,
        test=test,
        why=why,
        p=p,
        p_corrected=None,
        verdict="open",
        more=None,
        worth=worth,
        p_launches=alone,
        between=between,
    )


def _runs_text(pair: SidePair) -> str:
    """The further test of the difference of two runs."""
    if pair.scatter is None:
        return "Also tested: Student's t between runs, which are assumed to scatter like launches."
    return f"Also tested: Student's t with the scatter between {pair.scatter.runs} other runs."


def _over_single(pair: SidePair) -> Interval | None:
    """The interval of the ratio if one side is a single value, which counts as exact."""
    if min(pair.one.size, pair.other.size) > 1:
        return None
    one, other = launch_interval(pair.one), launch_interval(pair.other)
    if other is not None:
        return other[0] / float(pair.one[0]), other[1] / float(pair.one[0])
    if one is not None and one[0] > 0.0:
        return float(pair.other[0]) / one[1], float(pair.other[0]) / one[0]
    return None


def _across_codes(machine: float, interval: Interval, factor: float) -> tuple[str, str, float]:
    """Test, reason and p of a ratio of 1 between machines, by the ratio without the codes' factor.

    The standard error of the logarithm follows from the 95% interval of a normal distribution.
    """
    from scipy.special import ndtr

    error = math.log(interval[1] / interval[0]) / (2.0 * _Z95)
    distance = abs(math.log(machine))
    p = float(2.0 * ndtr(-distance / error)) if error > 0.0 else float(distance == 0.0)
    why = f"The ratio is divided by the ratio of the codes on one machine, {factor:.3g}."
    return "z of logarithms", why, p


def _decided(
    found: PairDecision, pair: SidePair, p: float | None, margin: float, count: int
) -> PairDecision:
    if not pair.comparable:
        return replace(found, verdict="none")
    found = replace(found, p_corrected=p)
    low, high = found.speed_ci95 or (-math.inf, math.inf)
    within = 1.0 / (1.0 + margin) <= low and high <= 1.0 + margin
    changed = found.step is not None and abs(math.log(found.step.ratio)) > math.log1p(margin)
    if within and not changed and min(pair.one.size, pair.other.size) >= MIN_TESTED:
        return replace(found, verdict="same")
    if (changed or (p is not None and p <= LEVEL)) and not pair.disturbed:
        return replace(found, verdict=_direction(found, pair))
    if pair.between_runs and found.p_launches is not None:
        return replace(
            found,
            in_runs=_direction(found, pair) if found.p_launches <= LEVEL else None,
            runs=None
            if found.between is None
            else runs_needed(found.between, found.speed, margin, count),
        )
    if pair.code_factor is not None or within:
        return found
    needed = launches_needed(pair.one, pair.other, margin, count, found.worth)
    more = None if needed is None else max(needed - min(pair.one.size, pair.other.size), 1)
    return replace(found, more=more)


def _direction(found: PairDecision, pair: SidePair) -> Literal["faster", "slower"]:
    """Decided by the medians, or else (equal medians, different codes) by the ratio."""
    one, other = float(np.median(pair.one)), float(np.median(pair.other))
    if pair.code_factor is None and one != other:
        return "faster" if other > one else "slower"
    return "faster" if found.speed is not None and found.speed > 1.0 else "slower"
