"""Sentences on a promised score, on availability and on variation."""

from __future__ import annotations

from assay.acceptance.availability import AvailabilityDecision
from assay.acceptance.contract import (
    FEWEST_LAUNCHES,
    AvailabilityPromise,
    ScorePromise,
    VariationPromise,
)
from assay.acceptance.decision import Outcome
from assay.acceptance.score import Score
from assay.acceptance.steadiness import VariationDecision
from assay.stats.core.launches import ENOUGH
from assay.subjects.acceptance.model import AcceptanceFindings
from assay.units import counted, format_limit, format_minute, format_share


def variation_reason(
    missing: str, promise: VariationPromise, found: VariationDecision | None
) -> str:
    """What a verdict on a variation rests on, as a sentence."""
    if found is None:
        return missing if missing.endswith(".") else f"{missing}."
    values = _values(found.used, promise)
    if found.value == 0.0:
        return f"{values} have the same value: the clock or the output doesn't show a variation."
    if found.value is None or (found.low is None and found.high is None):
        return f"{values}, too few for a decision."
    said = f"coefficient of variation {format_share(found.value)} of {values}"
    if found.outcome == "accepted":
        return f"Not greater than promised by {format_limit(promise.margin)}: {said}."
    if found.outcome == "rejected":
        return f"Greater than promised: {said}."
    return (
        f"Neither greater than promised nor within {format_limit(promise.margin)} of it with "
        f"certainty: {said}."
    )


def variation_remedy(promise: VariationPromise, found: VariationDecision | None) -> str:
    """What would decide an open variation, as a sentence; empty if it is decided."""
    if found is None:
        return "Measure its cells, and name the run with --run."
    if found.outcome != "undecided":
        return ""
    if promise.between == "days":
        return "Measure on more days, and name all runs with --run."
    if found.used < FEWEST_LAUNCHES:
        return f"Measure at least {FEWEST_LAUNCHES} launches; `assay accept --plan` says how many."
    if found.assumed:
        return (
            f"The launches may depend on each other: {ENOUGH} or more launches, or five cells in "
            "the run, would show whether they do."
        )
    return (
        "Measure more launches, or agree on a greater margin. `assay accept --plan` says how many."
    )


def _values(number: int, promise: VariationPromise) -> str:
    return counted(number, "day" if promise.between == "days" else "launch")


def availability_reason(promise: AvailabilityPromise, found: AvailabilityDecision | None) -> str:
    """What a verdict on an availability rests on, as a sentence."""
    if found is None:
        return "No log of outages was named."
    if found.value is None:
        return "No node hour of the period counts yet."
    said = (
        f"{found.down:,.1f} of {found.passed:,.1f} node hours were not available, on "
        f"{counted(found.nodes_down, 'node')}"
    )
    if promise.planned_excluded:
        said += f"; {found.planned:,.1f} node hours of planned maintenance don't count"
    if found.outcome == "rejected":
        return f"Less than promised: {said}."
    return f"{'As promised' if found.outcome == 'accepted' else 'Open'}: {said}."


def availability_remedy(
    promise: AvailabilityPromise, found: AvailabilityDecision | None, end: float, now: float
) -> str:
    """What would decide an open availability, as a sentence; empty if it is decided."""
    if found is None:
        return "Name the log of outages with --outages."
    if found.outcome != "undecided":
        return ""
    if now < end and found.high is not None and found.low is not None:
        return (
            f"The period lasts until {format_minute(end)} UTC. Then it is from "
            f"{format_share(found.low)} to {format_share(found.high)}."
        )
    return "All node hours are planned maintenance: agree on another period."


def score_reason(promise: ScorePromise, outcome: Outcome, found: Score | None) -> str:
    """What a verdict on a promised score rests on, as a sentence."""
    if found is None:
        return "A commitment has no result, so that there is no score."
    said = f"{found.value:.4g} instead of {promise.at_least:.4g}"
    if outcome == "accepted":
        return f"Not less than promised by {format_limit(promise.margin)}: {said}."
    if outcome == "rejected":
        return f"Less than promised: {said}."
    return (
        f"Neither less than promised nor within {format_limit(promise.margin)} of it with "
        f"certainty: {said}."
    )


def score_remedy(found: Score | None, low: float | None, high: float | None) -> str:
    """What would decide an open score, as a sentence."""
    if found is None:
        return "Measure the commitments that have no result."
    if low is None and high is None:
        return "Measure more launches: those of at least one commitment don't bound its median."
    return "Measure more launches, or agree on a greater margin of the score."


def further_caveats(found: AcceptanceFindings) -> list[str]:
    """What limits the verdicts on availability and variation."""
    caveats = []
    if found.variations:
        caveats.append(
            "A variation is accepted by what its launches show: a tail that is rarer than one "
            "launch in ten is not seen with certainty, however great it is."
        )
    if any(each.sources for each in found.availabilities):
        caveats.append(
            "The log of outages is taken as complete: an outage that it doesn't have counts as "
            "available."
        )
    strangers = sorted({node for each in found.availabilities for node in each.strangers})
    if strangers:
        caveats.append(
            f"Outages of {counted(len(strangers), 'node')} that the contract doesn't name don't "
            f"count: {', '.join(strangers[:4])}{', …' if len(strangers) > 4 else ''}."
        )
    return caveats


def further_method(found: AcceptanceFindings) -> list[str]:
    """How a promised score, availability and variation are decided."""
    method = []
    if found.promised_score is not None:
        method.append(
            "The promised score is decided by one-sided limits of the commitments' medians, which "
            "hold at any look, joined like the score's interval."
        )
    if found.variations:
        method.append(
            "A variation is decided once, by one-sided limits of the coefficient of variation. "
            "They allow for long tails that the launches show (Bonett's interval) and for "
            "launches that depend on each other."
        )
    if found.availabilities:
        method.append(
            "Availability is available node hours divided by the node hours of the period. It is "
            "counted, so that no risk remains. Hours to come may become either."
        )
    return method
