"""Sentences on decisions: what they rest on, and what would decide the open ones."""

from __future__ import annotations

from assay.acceptance.contract import PromisedRange
from assay.acceptance.decision import PromiseDecision
from assay.acceptance.measured import Item
from assay.acceptance.node_decision import NodeDecision
from assay.stats.core.launches import ENOUGH
from assay.units import Interval, counted, format_change, format_limit, format_quantity

# Most slow nodes that a sentence names.
_MOST_NAMED = 5


def reason_of(
    item: Item,
    limits: PromisedRange,
    verdict: PromiseDecision | NodeDecision | None,
    value: float | None,
    buyer: float,
) -> str:
    """What a verdict rests on, as a sentence."""
    if verdict is None or value is None:
        return item.missing if item.missing.endswith(".") else f"{item.missing}."
    if isinstance(verdict, NodeDecision):
        return _node_reason(verdict, item.unit, buyer)
    change = format_change(value / limits.value - 1.0)
    margin = format_limit(item.commitment.margin)
    launches = counted(verdict.used, "launch")
    median = f"median {format_quantity(value, item.unit)} ({change}) of {launches}"
    if verdict.outcome == "accepted":
        return f"Not worse than promised by {margin}: {median}."
    if verdict.outcome == "rejected":
        return f"Worse than promised: {median}."
    if not verdict.used:
        return f"{counted(int(item.values.size), 'launch')}, too few for a decision."
    return f"Neither worse than promised nor within {margin} of it with certainty: {median}."


def claim_of(found: NodeDecision, margin: float, buyer: float) -> str:
    """The claim about all nodes that follows from those that were measured."""
    if found.sample >= found.nodes:
        return (
            f"With {1.0 - buyer:.0%} confidence at most {counted(found.bound, 'node')} of "
            f"{found.nodes} ({found.bound / found.nodes:.1%}) "
            f"{'is' if found.bound == 1 else 'are'} worse than promised by "
            f"{format_limit(margin)}. All were measured."
        )
    return (
        f"With {1.0 - buyer:.0%} confidence at most {found.bound / found.nodes:.1%} of the "
        f"{found.nodes} nodes ({found.bound}) are worse than promised by {format_limit(margin)}. "
        f"The sample has {counted(found.sample, 'node')}."
    )


def _node_reason(found: NodeDecision, unit: str, buyer: float) -> str:
    allowed = f"{found.allowed} of {found.nodes} may be"
    if not found.slow:
        slow = f"No node is worse than promised with certainty; {allowed}."
    else:
        named = ", ".join(
            f"{each.node} ({format_quantity(each.value, unit)})"
            for each in found.slow[:_MOST_NAMED]
        )
        more = len(found.slow) - _MOST_NAMED
        named += f" and {more} more" if more > 0 else ""
        verb = "is" if len(found.slow) == 1 else "are"
        slow = f"{counted(len(found.slow), 'node')} {verb} worse than promised: {named}; {allowed}."
    if found.doubtful > len(found.slow):
        slow += f" {counted(found.doubtful - len(found.slow), 'further node')} may be."
    return slow


def remedy_of(item: Item, verdict: PromiseDecision | NodeDecision | None, launches: int) -> str:
    """What would decide an open commitment, as a sentence."""
    if verdict is None:
        return "Measure its cells, and name the run with --run."
    if isinstance(verdict, NodeDecision):
        return _node_remedy(verdict)
    if verdict.needed is not None:
        more = verdict.needed - int(item.values.size)
        if more > 0:
            return f"{counted(more, 'more launch')} would probably decide it."
        return "The next look would probably decide it."
    if verdict.assumed:
        return (
            f"The launches may depend on each other: a look at {ENOUGH} or more launches, or five "
            "cells in the run, would show whether they do."
        )
    return (
        f"The contract's {launches} launches will probably not decide it: allow more launches, or "
        "agree on a greater margin. `assay accept --plan` says how many."
    )


def _node_remedy(found: NodeDecision) -> str:
    if found.doubtful > found.allowed:
        return (
            f"Measure {counted(found.doubtful, 'node')} again with more launches: "
            f"{counted(found.launches, 'launch')} per node can't tell slow nodes from noise."
        )
    return (
        f"Measure more nodes: {counted(found.sample, 'node')} of {found.nodes} are too few for the "
        "promised share. `assay accept --plan` says how many."
    )


def amount_text(value: float, interval: Interval | None, currency: str) -> str:
    """An amount with its range: "25,000 EUR [20,000, 30,000]"; without one that is exact."""
    exact = interval is None or interval == (value, value)
    ends = "" if exact or interval is None else f" [{interval[0]:,.0f}, {interval[1]:,.0f}]"
    return f"{value:,.0f} {currency}{ends}"


def number_text(value: float, interval: Interval | None) -> str:
    """A number without a unit, with its interval."""
    ends = "" if interval is None else f" [{interval[0]:.4g}, {interval[1]:.4g}]"
    return f"{value:.4g}{ends}"
