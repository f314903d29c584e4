"""The phase that has most of the time that Linpack loses on more cores."""

from __future__ import annotations

from dataclasses import dataclass

from assay.questions.common.speedups import Speedup
from assay.questions.speed.benchmarks.phases import cell_phases, share_interval
from assay.stats.compare.directions import compared
from assay.stats.core.intervals import Estimate, difference_interval, ratio_interval

# Least part of the lost time that is most of it.
_MOST = 0.5


@dataclass(frozen=True)
class PhaseLoss:
    """The phase with the largest part of the loss of a poor parallel efficiency."""

    #: Name of the phase.
    phase: str
    #: ``before``, ``after``: share of the time on the fewest cores and on the most.
    before: float
    after: float
    #: Whether certainly more than half of the lost time is in this phase.
    most: bool = False


def loss_of(speedup: Speedup) -> PhaseLoss | None:
    """The phase with the most lost time, if the efficiency is poor and phases were timed."""
    few, most = cell_phases(speedup.few), cell_phases(speedup.most)
    if not speedup.poor or few is None or most is None:
        return None
    # The share of a perfectly scaling phase is its share on the fewest cores times the efficiency.
    grown = {
        name: share - few.shares.get(name, 0.0) * speedup.efficiency
        for name, share in most.shares.items()
    }
    name = max(grown, key=lambda phase: grown[phase])
    before = Estimate(few.shares.get(name, 0.0), share_interval(speedup.few.summary, name))
    after = Estimate(most.shares[name], share_interval(speedup.most.summary, name))
    sure = _is_most(speedup, before, after, len(grown))
    return PhaseLoss(name, before.value, after.value, sure)


def _is_most(speedup: Speedup, before: Estimate, after: Estimate, phases: int) -> bool:
    """Whether certainly most of the lost time is in the chosen one of ``phases`` phases.

    ``before``, ``after``: its share of the time on the fewest cores and on the most.
    """
    efficiency = speedup.efficiency_interval
    if efficiency is None or efficiency[1] >= 1.0 or after.interval is None:
        return False
    low, high = before.interval or (before.value, before.value)
    perfect = Estimate(
        before.value * speedup.efficiency, (low * efficiency[0], high * efficiency[1])
    )
    lost = Estimate(1.0 - speedup.efficiency, (1.0 - efficiency[1], 1.0 - efficiency[0]))
    grown = Estimate(after.value - perfect.value, difference_interval(after, perfect))
    if grown.interval is None or grown.interval[0] <= 0.0:
        return False
    launches = speedup.few.metric.n + speedup.most.metric.n
    found = compared(
        grown.value / lost.value,
        ratio_interval(grown, lost),
        launches=launches,
        comparisons=phases,
        equal=_MOST,
    )
    return found.direction == "more"
