"""The plan of a run as a file: each of its cells as a measure, with the rules of replication."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from assay.kernels import left_to_kernel
from assay.kernels.outside import is_beside
from assay.model.cell import Cell
from assay.model.placement import Placement, Value
from assay.model.plan import Plan
from assay.model.replication import Replication

PLAN_SCHEMA = 1


def plan_text(plan: Plan) -> str:
    """The plan in TOML, as docs/formats/plans.md describes it.

    It measures the same cells in the same order. The toolchain is left to the machine if all cells
    have the same one. Cells that another machine can't run are left out there, with a note. Cells
    of a site's own executables are left out here, since they need ``--beside``.
    """
    cells = [cell for cell in plan.cells if not is_beside(cell.kernel)]
    several = len({cell.toolchain for cell in cells}) > 1
    lines = [
        f"schema = {PLAN_SCHEMA}",
        f"title = {_toml(plan.title or plan.name)}",
        *([f"question = {_toml(plan.question)}"] if plan.question else []),
        f"seed = {plan.seed}",
        "portable = true",
        "",
        "[replication]",
        *(f"{name} = {value}" for name, value in _replication(plan.replication)),
    ]
    if plan.search is not None:
        lines += ["", "[search]", f'within = "{100 * plan.search.within:.12g}%"']
        lines.append(f'probability = "{100 * plan.search.probability:.12g}%"')
    searched = set() if plan.search is None else {*plan.search.cells}
    for cell in cells:
        lines += ["", "[[measure]]", *_measure(cell, several)]
        if cell.id in searched:
            lines.append("search = true")
        if cell.id in plan.first:
            lines.append("first = true")
    return "\n".join([*lines, ""])


def _measure(cell: Cell, several: bool) -> Iterator[str]:
    yield f"kernel = {_toml(cell.kernel)}"
    defaults = left_to_kernel(cell.kernel)
    for name, value in cell.parameters.items():
        if name not in defaults or value != defaults[name]:
            yield f"{name} = {_toml(value)}"
    for name, value in _placement(cell.placement).items():
        yield f"{name} = {_toml(value)}"
    if several:
        yield f"toolchain = {_toml(cell.toolchain)}"


def _placement(placement: Placement) -> Mapping[str, Value]:
    content = placement.content(("nodes", "ppn", "threads"))
    return {name: value for name, value in content.items() if isinstance(value, int | float | str)}


def _replication(rule: Replication) -> Iterator[tuple[str, str]]:
    yield "precision", f'"{100 * rule.precision:.12g}%"'
    yield "confidence", f"{rule.confidence!r}"
    yield "budget", f'"{rule.budget:.12g} s"'
    for name in ("min_launches", "max_launches", "min_samples", "max_samples"):
        yield name, str(getattr(rule, name))
    for name in ("cell_budget", "duration", "every"):
        value = getattr(rule, name)
        if value is not None:
            yield name, f'"{value:.12g} s"'
    if rule.sessions is not None:
        yield "sessions", str(rule.sessions)
    if rule.whole:
        yield "whole", "true"


def _toml(value: Value) -> str:
    """The value in TOML, whose strings have the escapes of JSON."""
    return json.dumps(value) if isinstance(value, str) else repr(value)
