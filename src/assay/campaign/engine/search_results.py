"""Sets parameters of later cells from searches, using only the plan and the searches' records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.kernels import left_open
from assay.model.cell import Cell
from assay.model.placement import Value
from assay.model.plan import Plan
from assay.models.linpack.sizing import (
    ResolvedParameters,
    is_open,
    read_search,
    resolve,
    searches_for,
    sizing_text,
)
from assay.units import counted


@dataclass(frozen=True)
class SearchOutcome:
    """The outcome of a search: its facts, or why it failed."""

    facts: Mapping[str, Value]
    failure: str | None = None


@dataclass(frozen=True)
class Resolution:
    """The parameters of a cell, and a sentence on their origin (empty if no parameter was open)."""

    resolved: ResolvedParameters
    note: str = ""


def resolve_parameters(cell: Cell, plan: Plan, outcomes: Mapping[str, SearchOutcome]) -> Resolution:
    """Set the open parameters of a cell from finished searches (by cell id).

    The first usable search in the plan's order counts. If all searches failed, the kernel chooses
    the parameters, and the note says so.
    """
    if not is_open(cell):
        return Resolution(ResolvedParameters(dict(cell.parameters)))
    budget = plan.replication.budget
    at = f"linpack on {counted(cell.placement.ranks, 'rank')}"
    reason = ""
    for search in searches_for(cell, plan.cells):
        outcome = outcomes.get(search.id)
        if outcome is None:
            continue
        found = read_search(outcome.facts, cell.placement.ranks)
        if found is not None and outcome.failure is None:
            resolved = resolve(cell, found, budget)
            return Resolution(resolved, f"{at}: {_found_text(resolved, cell)}.")
        reason = reason or outcome.failure or "it reported no usable facts"
    note = f"{at}: the search failed ({reason}), so the kernel chooses {_words(cell)}."
    return Resolution(resolve(cell, None, budget), note if reason else "")


def _found_text(resolved: ResolvedParameters, cell: Cell) -> str:
    chosen = resolved.parameters
    names = [name for name in left_open(cell) if name != "n"]
    grid = f"process grid {chosen['p']} × {cell.placement.ranks // int(chosen['p'])}"
    words = ", ".join(grid if name == "p" else f"{name} {chosen[name]}" for name in names)
    parts = [f"{words} by search"] if words else []
    return "; ".join([*parts, *([sizing_text(resolved.largest)] if resolved.largest else [])])


def _words(cell: Cell) -> str:
    *most, last = left_open(cell)
    return f"{', '.join(most)} and {last}" if most else last
