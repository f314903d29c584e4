"""One possible reason with its cost, or with why nothing is known of it."""

from __future__ import annotations

from assay.subjects.why.costs import LaunchCost
from assay.subjects.why.model import ReasonName, ReasonOutcome, WhyReason


def reason_row(
    name: ReasonName,
    outcome: ReasonOutcome,
    cost: LaunchCost,
    time: float,
    *,
    where: str = "",
    evidence: str = "",
    change: str = "",
    gain: float | None = None,
) -> WhyReason:
    """A reason with its cost. Only what stands out has a change and a gain."""
    out = outcome == "stands out"
    return WhyReason(
        name=name,
        outcome=outcome,
        seconds=cost.seconds,
        low=cost.low,
        high=cost.high,
        share=cost.seconds / time if time > 0.0 else None,
        where=where,
        evidence=evidence,
        change=change if out else "",
        gain=gain if out else None,
    )


def unknown_row(name: ReasonName, why: str) -> WhyReason:
    """A reason of which nothing is known."""
    return WhyReason(
        name=name,
        outcome="undecided",
        seconds=None,
        low=None,
        high=None,
        share=None,
        where="",
        evidence=why,
        change="",
        gain=None,
    )
