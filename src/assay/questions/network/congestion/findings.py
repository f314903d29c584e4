"""Findings on the network under load: which aggressors slow which victims, by how much, from which
share of the aggressors on, and what that costs an application.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.models.network.minimum import LOADED, MissingData
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio
from assay.questions.common.selection import Point, chosen_worst, ratio
from assay.questions.network.congestion.impacts import (
    QUANTILES,
    Impact,
    direction,
    impacts,
    needed_operations,
)
from assay.questions.network.congestion.losses import (
    ProgramLoss,
    VictimLoss,
    program_loss,
    victim_losses,
)

# A victim is unaffected by a pattern if the 95% intervals of its ratios end below this.
UNAFFECTED = 1.1
# Aggressors that overload the link of a single node, which no victim uses: their effect on victims
# shows that congestion spreads.
TO_ONE = ("incast",)


@dataclass(frozen=True)
class JudgedImpact:
    """An impact at the largest share of its pair, against equality."""

    #: The impact.
    impact: Impact
    #: Whether one of its ratios (of medians, 99th and 99.9th percentiles) is above equality, and
    #: above the control, beyond its range.
    slower: bool
    #: Whether one of them is below equality.
    faster: bool
    #: Whether the 95% intervals of all of them end below 1.1.
    unaffected: bool


@dataclass(frozen=True)
class Ramp:
    """The impact of one pair by the share of active aggressors."""

    #: The impacts by ascending share, without the control.
    steps: tuple[Impact, ...]
    #: Smallest share at and above which all shares slow the victim, beyond the range of their
    #: ratios; None if there is none.
    slower_from: float | None
    #: The ratio at the largest share over the ratio at the smallest one.
    growth: Ratio

    @property
    def grows(self) -> bool:
        """Whether the impact at the largest share is beyond its range above the smallest one's."""
        return self.growth.compared().direction == "more"


@dataclass(frozen=True)
class Declined:
    """Ratios of a quantile that are not given."""

    #: The quantile, in words.
    quantile: str
    #: Number of pairs without it.
    pairs: int
    #: Number of all pairs.
    of: int
    #: Operations of a launch and phase that it needs.
    needed: int
    #: Fewest operations of these pairs; None if the records don't state them.
    operations: int | None


@dataclass(frozen=True)
class CongestionFindings:
    """The network under load."""

    #: All impacts, without controls.
    impacts: tuple[Impact, ...]
    #: Each pair at its largest share.
    judged: tuple[JudgedImpact, ...]
    #: Controls without aggressors, by victim.
    controls: Mapping[str, Impact]
    #: Victims whose control differs from 1 beyond its range. Only impacts above it count.
    refuted: tuple[str, ...]
    #: The impact with the largest ratio of 99th percentiles, or of medians if no pair has the
    #: former.
    worst: Impact
    #: This ratio, with an interval that allows for its choice among the pairs.
    worst_ratio: Point
    #: The quantile of this ratio: "99th percentile" or "median".
    worst_of: str
    #: Number of comparisons with equality.
    comparisons: int
    #: Ramps of the pairs that were measured at several shares.
    ramps: tuple[Ramp, ...]
    #: Quantiles whose ratios are not given.
    declined: tuple[Declined, ...]
    #: The aggressor that costs most, by victim.
    losses: tuple[VictimLoss, ...]
    #: What load costs the program whose profile was given; None without a profile.
    program: ProgramLoss | None
    #: Data that ratios without an interval lack.
    missing: tuple[MissingData, ...] = ()

    @property
    def slower(self) -> tuple[JudgedImpact, ...]:
        """The pairs whose victim is slower beside the aggressor."""
        return tuple(each for each in self.judged if each.slower)

    def equal(self, victim: str) -> float:
        """The ratio above which a victim counts as slower: 1, or the end of a refuted control."""
        return _equal(victim, self.controls, self.refuted)


def find(measured: Measured) -> CongestionFindings | None:
    """Findings on the network under load; None if nothing was measured beside aggressors."""
    found = impacts(measured)
    loaded = [each for each in found if each.share > 0.0]
    if not loaded:
        return None
    controls = {each.victim: each for each in found if each.share == 0.0}
    steps: dict[tuple[str, str, str], list[Impact]] = {}
    for each in loaded:
        steps.setdefault(each.pair, []).append(each)
    strongest = [each[-1] for each in steps.values()]
    comparisons = sum(len(each.ratios()) for each in strongest)
    refuted = tuple(
        victim
        for victim, control in controls.items()
        if any(
            direction(point, len(controls) * len(control.ratios())).direction != "open"
            for point in control.ratios().values()
        )
    )
    judged = [
        _judge(each, comparisons, _equal(each.victim, controls, refuted)) for each in strongest
    ]
    in_tail = [each for each in strongest if each.p99 is not None] or strongest
    ratio_ = chosen_worst([each.worst for each in in_tail])
    worst = next(each for each in in_tail if each.worst.summary is ratio_.summary)
    losses = victim_losses(strongest)
    return CongestionFindings(
        impacts=tuple(loaded),
        judged=tuple(judged),
        controls=controls,
        refuted=refuted,
        worst=worst,
        worst_ratio=ratio_,
        worst_of="median" if worst.p99 is None else "99th percentile",
        comparisons=comparisons,
        ramps=tuple(_ramp(each, controls, refuted) for each in steps.values() if len(each) > 1),
        declined=tuple(_declined(strongest)),
        losses=losses,
        program=program_loss(measured.program, losses),
        missing=_missing(strongest),
    )


def _equal(victim: str, controls: Mapping[str, Impact], refuted: Sequence[str]) -> float:
    if victim not in refuted:
        return 1.0
    ends = [point.metric.ci95 for point in controls[victim].ratios().values()]
    return max(1.0, *(end[1] for end in ends if end is not None))


def _judge(impact: Impact, comparisons: int, equal: float) -> JudgedImpact:
    known = list(impact.ratios().values())
    ends = [point.metric.ci95 for point in known]
    return JudgedImpact(
        impact=impact,
        slower=any(direction(each, comparisons, equal).direction == "more" for each in known),
        faster=any(direction(each, comparisons).direction == "less" for each in known),
        unaffected=all(end is not None and end[1] < UNAFFECTED for end in ends),
    )


def _ramp(steps: Sequence[Impact], controls: Mapping[str, Impact], refuted: Sequence[str]) -> Ramp:
    """The ramp of one pair; ``steps``: its impacts by ascending share."""
    slower_from = None
    tail = all(each.p99 is not None for each in steps)
    for each in reversed(steps):
        point = each.worst if tail else each.median
        equal = _equal(each.victim, controls, refuted)
        if direction(point, len(steps), equal).direction != "more":
            break
        slower_from = each.share
    low, high = (each.worst if tail else each.median for each in (steps[0], steps[-1]))
    growth = Ratio(high, low, *ratio(high.metric, low.metric))
    return Ramp(tuple(steps), slower_from, growth)


def _declined(strongest: Sequence[Impact]) -> list[Declined]:
    found = []
    for metric, (_, name) in QUANTILES.items():
        without = [each for each in strongest if name not in each.ratios()]
        known = [each.operations for each in without if each.operations is not None]
        if without:
            fewest = min(known, default=None)
            found.append(
                Declined(name, len(without), len(strongest), needed_operations(metric), fewest)
            )
    return found


def _missing(strongest: Sequence[Impact]) -> tuple[MissingData, ...]:
    """The launches that the ratio with the fewest launches lacks."""
    lack = LOADED.missing({1: min(each.median.metric.n for each in strongest)})
    return () if lack is None else (lack,)
