"""Judges what a contract promises besides commitments: a score, availability, little variation."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.acceptance.availability import (
    DAY,
    AvailabilityDecision,
    Downtime,
    decide_availability,
)
from assay.acceptance.boundaries import looks_of
from assay.acceptance.contract import AvailabilityPromise, Contract, VariationPromise
from assay.acceptance.decision import median_limits, worth_of
from assay.acceptance.measured import CellSeries, Item
from assay.acceptance.score import Score, Term, decide_score, score_of
from assay.acceptance.steadiness import VariationDecision, day_medians, decide_variation
from assay.arrays import Floats
from assay.errors import AssayError
from assay.hostnames import natural
from assay.stats.core.intervals import median_interval
from assay.subjects.acceptance.amounts import NOTHING_DUE, amount_due
from assay.subjects.acceptance.further_words import (
    availability_reason,
    availability_remedy,
    score_reason,
    score_remedy,
    variation_reason,
    variation_remedy,
)
from assay.subjects.acceptance.model import (
    JudgedAvailability,
    JudgedCommitment,
    JudgedScore,
    JudgedVariation,
)
from assay.units import Interval


@dataclass(frozen=True)
class Outages:
    """What logs say about the availability of nodes."""

    downtimes: Sequence[Downtime]
    #: Names of the files.
    sources: list[str]


@dataclass(frozen=True)
class VariationItem:
    """A promise of little variation about one cell."""

    promise: VariationPromise
    series: CellSeries
    #: What is compared: launches, or medians of days, in order of time.
    values: Floats

    def decide(self, supplier: float, buyer: float) -> VariationDecision | None:
        """The decision at these risks; None without a result."""
        if self.series.missing:
            return None
        return decide_variation(
            values=self.values,
            at_most=self.promise.at_most,
            margin=self.promise.margin,
            dependence=self.series.dependence(int(self.series.values.size)),
            supplier=supplier,
            buyer=buyer,
        )


def variation_item(promise: VariationPromise, series: CellSeries, launches: int) -> VariationItem:
    """The item; at most ``launches`` launches of a series count, but every day."""
    if promise.between == "days":
        return VariationItem(promise, series, day_medians(series.values, series.utc)[0])
    return VariationItem(promise, series, series.values[:launches])


def judged_variation(item: VariationItem, decision: VariationDecision | None) -> JudgedVariation:
    """The verdict on a promise of little variation."""
    promise, series = item.promise, item.series
    return JudgedVariation(
        number=promise.number,
        name=promise.name,
        cell=series.cell,
        metric=series.metric,
        unit=series.unit,
        between=promise.between,
        at_most=promise.at_most,
        margin=promise.margin,
        outcome="undecided" if decision is None else decision.outcome,
        value=None if decision is None else decision.value,
        decided_low=None if decision is None else decision.low,
        decided_high=None if decision is None else decision.high,
        used=int(item.values.size),
        worth=0.0 if decision is None else decision.worth,
        assumed=False if decision is None else decision.assumed,
        reason=variation_reason(item.series.missing, promise, decision),
        remedy=variation_remedy(promise, decision),
        series=item.values.tolist(),
        runs=list(series.runs),
        toolchain=series.toolchain,
        measured=span_of(series.utc),
    )


def span_of(utc: Floats) -> Interval | None:
    """The first and the last time; None without times."""
    return (float(utc.min()), float(utc.max())) if utc.size else None


def judged_availability(
    promise: AvailabilityPromise, contract: Contract, outages: Outages | None, now: float
) -> JudgedAvailability:
    """The verdict on a promise that nodes are available. Raises AssayError for outages of more
    nodes than the contract has."""
    begin = datetime.datetime.combine(promise.begin, datetime.time(), datetime.UTC).timestamp()
    end = begin + promise.days * DAY
    found: AvailabilityDecision | None = None
    strangers: list[str] = []
    if outages is not None:
        assert contract.nodes is not None
        known = {host.partition(".")[0] for host in contract.hosts}
        own = [each for each in outages.downtimes if not known or each.node in known]
        names = {each.node for each in outages.downtimes}
        strangers = sorted(names - known, key=natural) if known else []
        if not known and len(names) > contract.nodes:
            raise AssayError(
                f"The log has outages of {len(names)} nodes, but the contract's machine has "
                f"{contract.nodes}.",
                where=", ".join(outages.sources),
                fix="Name the contract's nodes with 'hosts' in [machine].",
            )
        found = decide_availability(
            own,
            contract.nodes,
            (begin, end),
            now,
            promise.at_least,
            planned_excluded=promise.planned_excluded,
        )
    value = None if found is None else found.value
    shortfall = None if value is None else max(1.0 - value / promise.at_least, 0.0)
    outcome = "undecided" if found is None else found.outcome
    ends = None
    if found is not None and found.low is not None and found.high is not None:
        high, low = (max(1.0 - each / promise.at_least, 0.0) for each in (found.low, found.high))
        ends = (low, high)
    return JudgedAvailability(
        number=promise.number,
        name=promise.name,
        at_least=promise.at_least,
        begin=begin,
        period_days=promise.days,
        planned_excluded=promise.planned_excluded,
        outcome=outcome,
        value=value,
        low=None if found is None else found.low,
        high=None if found is None else found.high,
        period_hours=0.0 if found is None else found.period,
        passed_hours=0.0 if found is None else found.passed,
        down_hours=0.0 if found is None else found.down,
        planned_hours=0.0 if found is None else found.planned,
        nodes_down=0 if found is None else found.nodes_down,
        strangers=strangers,
        sources=[] if outages is None else outages.sources,
        reason=availability_reason(promise, found),
        remedy=availability_remedy(promise, found, end, now),
        shortfall=shortfall,
        penalty=amount_due(promise.penalty, outcome, "rejected", shortfall, ends),
        days=[] if found is None else found.days,
    )


def score_found(
    contract: Contract,
    items: Sequence[Item],
    judged: Sequence[JudgedCommitment],
    intervals: Sequence[tuple[float, float] | None] | None = None,
) -> Score | None:
    """The score; None if a commitment has no result. Cells of a commitment share its weight.

    ``intervals``: intervals of the speedups; by default their 95% intervals.
    """
    if contract.mean is None or any(each.speedup is None for each in judged):
        return None
    cells = Counter(each.number for each in judged)
    given = intervals or [each.speedup_ci95 for each in judged]
    terms = [
        Term(
            weight=each.weight / cells[each.number],
            factor=each.factor,
            speedup=each.speedup,
            interval=interval,
        )
        for item, each, interval in zip(items, judged, given, strict=True)
        if each.speedup is not None
    ]
    return score_of(terms, contract.mean, contract.scale)


def judged_score(
    contract: Contract,
    items: Sequence[Item],
    judged: Sequence[JudgedCommitment],
    supplier: float,
    value: Score | None,
) -> JudgedScore | None:
    """The verdict on a promised score; None if none is promised.

    ``supplier``: the supplier's risk of this promise. ``value``: the score with its 95% interval.
    """
    promise = contract.promised_score
    if promise is None:
        return None
    low = high = None
    outcome = decide_score(promise, None, None)
    if value is not None:
        limits = [
            _speedup_limits(contract, item, each, supplier)
            for item, each in zip(items, judged, strict=True)
        ]
        low = _end(contract, items, judged, [each[0] for each in limits], 0)
        high = _end(contract, items, judged, [each[1] for each in limits], 1)
        outcome = decide_score(promise, low, high)
    shortfall, ends = None, None
    if value is not None:
        shortfall = max(1.0 - value.value / promise.at_least, 0.0)
        if value.interval is not None:
            ends_of = sorted(max(1.0 - each / promise.at_least, 0.0) for each in value.interval)
            ends = (ends_of[0], ends_of[1])
    return JudgedScore(
        at_least=promise.at_least,
        margin=promise.margin,
        outcome=outcome,
        decided_low=low,
        decided_high=high,
        reason=score_reason(promise, outcome, value),
        remedy="" if outcome != "undecided" else score_remedy(value, low, high),
        shortfall=shortfall,
        penalty=NOTHING_DUE
        if promise.penalty is None
        else amount_due(promise.penalty, outcome, "rejected", shortfall, ends),
    )


def _speedup_limits(
    contract: Contract, item: Item, each: JudgedCommitment, supplier: float
) -> tuple[float | None, float | None]:
    """One-sided limits of a speedup: the lower at the buyer's risk, the upper at the supplier's."""
    buyer = contract.risks.buyer
    more = item.better == "more"
    below, above = (buyer, supplier) if more else (supplier, buyer)
    if item.nodes:
        medians = np.array([node.value for node in each.node_medians])
        low, high = (median_interval(medians, 1.0 - 2.0 * risk) for risk in (below, above))
        ends = (None if low is None else low[0], None if high is None else high[1])
    else:
        ends = median_limits(
            *_at_last_look(item, contract.risks.launches), contract.risks.launches, below, above
        )
    reference = item.commitment.reference_value(item.unit)
    if more:
        return _over(ends[0], reference), _over(ends[1], reference)
    return _under(reference, ends[1]), _under(reference, ends[0])


def _over(value: float | None, reference: float) -> float | None:
    return None if value is None else value / reference


def _under(reference: float, value: float | None) -> float | None:
    return None if value is None else reference / value


def _end(
    contract: Contract,
    items: Sequence[Item],
    judged: Sequence[JudgedCommitment],
    limits: Sequence[float | None],
    end: int,
) -> float | None:
    """An end of the score's interval from the terms' limits; None if a term has none."""
    known = [each for each in limits if each is not None and math.isfinite(each)]
    if len(known) < len(limits):
        return None
    found = score_found(contract, items, judged, [(each, each) for each in known])
    return None if found is None or found.interval is None else found.interval[end]


def _at_last_look(item: Item, launches: int) -> tuple[Floats, float]:
    """The launches at the last look that was reached, and how many independent ones they are worth.

    The limits of a median hold over all looks, so that a score may use more launches than its
    commitments needed.
    """
    size = max((each for each in looks_of(launches) if each <= item.values.size), default=0)
    values = item.values[:size] if size else item.values
    return values, worth_of(values, item.dependence(int(values.size)))
