"""Finds the questions that a budget can't answer: compares the launches that it allows with the
launches that questions need.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from assay.campaign.budget.costs import expected_seconds
from assay.campaign.budget.keeper import TOLERANCE
from assay.campaign.engine.state import CampaignState
from assay.model.plan import Plan
from assay.stats.core.intervals import smallest_size
from assay.units import counted, format_duration


@dataclass(frozen=True)
class BlockTime:
    """The minimum time of one launch of each cell, s."""

    seconds: float
    #: Whether every cell was measured; otherwise the time is an estimate.
    measured: bool
    #: Whether a time is known for every cell; otherwise the block takes longer.
    whole: bool


def block_time(state: CampaignState) -> BlockTime:
    """The time of a block, from the measurements so far and the work of the other cells."""
    rule = state.plan.replication
    seconds, measured, whole = 0.0, True, True
    possible = []
    beyond = {cell.id for cell in state.keeper.beyond()}
    for name, cell in state.cells.items():
        if cell.search or cell.failure or cell.left_out or name in state.candidates:
            continue
        if cell.too_long or name in beyond:
            continue
        possible.append(cell.cell)
        least: float | None = cell.least
        if cell.wall is None:
            measured = False
            least = expected_seconds(cell.cell)
        if least is None:
            whole = False
        else:
            seconds += max(least, rule.cell_budget or 0.0)
    return BlockTime(seconds + state.keeper.launch_times.of(possible), measured, whole)


def needed_launches(plan: Plan) -> Mapping[str, int]:
    """The launches of each cell that the plan's questions need, by question.

    A 95% interval of a median needs six launches. The question on steadiness needs the plan's
    minimum number of launches. A contract needs its launches for its last look.
    """
    rule = plan.replication
    interval = min(smallest_size(0.5, rule.confidence), rule.max_launches)
    if plan.contract is not None:
        return {"a first look": interval, "the last look": rule.max_launches}
    kernels = {cell.kernel for cell in plan.cells}
    works = {(cell.kernel, tuple(sorted(cell.parameters.items()))) for cell in plan.cells}
    network = {name for name in kernels if name.startswith("network.")}
    found = {}
    if kernels - network:
        found["speed"] = interval
    if network:
        found["network"] = interval
    if len(works) < len(plan.cells):
        found["placement"] = interval
    found["steadiness"] = max(rule.min_launches, interval)
    return found


def shortfall(plan: Plan, block: BlockTime) -> str:
    """A sentence on the questions for which the budget is too small; empty if there are none."""
    rule = plan.replication
    if block.seconds <= 0.0 or rule.unbroken:
        return ""
    allowed = max(int(rule.budget * (1.0 + TOLERANCE) / block.seconds), 1)
    lacking: dict[int, list[str]] = {}
    for question, needed in needed_launches(plan).items():
        if needed > allowed:
            lacking.setdefault(needed, []).append(question)
    if not lacking:
        return ""
    most = "" if block.whole else " at most"
    more = "" if block.whole else " or more"
    basis = "the times measured so far" if block.measured else "the expected times"
    clauses = [
        f"{', '.join(questions)} {'needs' if len(questions) == 1 else 'need'} {needed}: "
        f"{format_duration(rounded_up(needed * block.seconds))}{more}"
        for needed, questions in sorted(lacking.items())
    ]
    return (
        f"The budget of {format_duration(rule.budget)} is too small: by {basis} it allows"
        f"{most} {counted(allowed, 'launch')} of each cell, and {'; '.join(clauses)}."
    )


def rounded_up(seconds: float) -> float:
    """Seconds rounded up to two digits."""
    digit = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return math.ceil(seconds / digit - 1e-9) * digit
