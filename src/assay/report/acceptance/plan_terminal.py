"""Prints how many launches and nodes decide a contract."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from assay.acceptance.contract import Contract
from assay.acceptance.plan import AcceptancePlan, PlannedCommitment
from assay.units import counted, format_duration

if TYPE_CHECKING:
    from rich.console import Console


def print_plan(plan: AcceptancePlan, contract: Contract, console: Console) -> None:
    """Print the plan: a table, and sentences on what it rests on and what is left to do."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Commitment")
    for name in ("Margin", "Variation", "Launches", "Expected", "Nodes", "Time", "Node hours"):
        table.add_column(name, justify="right")
    for each in plan.commitments:
        table.add_row(*_row(each))
    console.print(plan.title, markup=False, style="bold", soft_wrap=True)
    console.print(table)
    for line in _sentences(plan, contract):
        console.print(line, markup=False, soft_wrap=True)


def _row(each: PlannedCommitment) -> list[str]:
    expected = "" if each.expected is None else f"{math.ceil(each.expected)}"
    return [
        each.name,
        f"{each.margin:.1%}",
        f"{each.variation:.2%}",
        "more" if each.launches is None else str(each.launches),
        expected,
        str(each.nodes),
        "" if each.seconds is None else format_duration(each.seconds),
        "" if each.node_hours is None else f"{each.node_hours:.3g}",
    ]


def _sentences(plan: AcceptancePlan, contract: Contract) -> list[str]:
    lines = [
        "",
        f"With these launches a machine as promised is rejected with a probability of at most "
        f"{plan.supplier:.1%}, and one that is worse by the margin is accepted with at most "
        f"{plan.buyer:.1%}. 'Expected': launches of a machine as promised.",
    ]
    sources = dict.fromkeys(each.source for each in plan.commitments)
    for source in sources:
        numbers = [str(each.number) for each in plan.commitments if each.source == source]
        lines.append(f"Variation of {_named(numbers)}: {source}.")
    for each in plan.commitments:
        if each.sentence:
            lines.append(f"{each.name}: {each.sentence}")
        if each.sample:
            lines.append(f"{each.name}: measure {counted(each.nodes, 'node')}: {each.sample}")
    hours = [each.node_hours for each in plan.commitments]
    if all(each is not None for each in hours):
        total = math.fsum(each for each in hours if each is not None)
        seconds = math.fsum(each.seconds or 0.0 for each in plan.commitments)
        lines.append(f"All together: {format_duration(seconds)}, {total:.3g} node hours.")
    else:
        lines.append("Times are unknown without an earlier run of the cells: name one with --run.")
    if not plan.decidable:
        lines.append(f"{contract.file} can't be decided as it is: see above.")
    return lines


def _named(numbers: list[str]) -> str:
    word = "commitment" if len(numbers) == 1 else "commitments"
    return f"{word} {', '.join(numbers)}"
