"""``assay run --dry-run`` without a scheduler: what this machine would measure or leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.campaign.budget.announcement import first_launches
from assay.console import print_json
from assay.kernels.naming import cell_title
from assay.model.choices import grouped_choices
from assay.model.plan import Plan
from assay.questions.papers.planned import PlannedExhibit, planned_exhibits
from assay.units import counted, format_duration

if TYPE_CHECKING:
    from rich.console import Console


def show_plan(plan: Plan, console: Console, *, energy: bool, as_json: bool) -> int:
    """Print the time of a plan and what it leaves out.

    Returns the exit status, 0. ``energy``: whether the machine counts energy and this user may read
    it. ``as_json``: print JSON with ``suite``, ``cells``, ``nodes``,
    ``budget``, ``seconds`` (maximum s without compiling; minimum with ``--whole``),
    ``first_launches`` (minimum s of one launch of each cell), ``beyond_budget`` (cells that don't
    fit into the budget), ``left_out`` (sentences), and ``exhibits`` of a suite that repeats a
    paper: ``number``, ``title``, the ``planned`` number of its ``parts``, what it ``needs``, and
    what it repeats only ``without``.
    """
    nodes = max(cell.placement.nodes for cell in plan.cells)
    budget = plan.replication.budget
    first = first_launches(plan)
    seconds = max(budget, first.seconds) if plan.replication.whole else budget
    exhibits = planned_exhibits(plan, energy=energy)
    if as_json:
        print_json(
            {
                "suite": plan.name,
                "cells": len(plan.cells),
                "nodes": nodes,
                "budget": budget,
                "seconds": seconds,
                "first_launches": first.seconds,
                "beyond_budget": [cell_title(cell) for cell in first.left_out],
                "left_out": list(plan.notes),
                "exhibits": exhibits,
            }
        )
        return 0

    def say(sentence: str) -> None:
        console.print(sentence, soft_wrap=True, markup=False)

    say(
        f"{plan.title}: {counted(len(plan.cells), 'cell')} on {counted(nodes, 'node')}. Measuring "
        f"takes {format_duration(seconds)}; kernels that are not built yet are compiled first."
    )
    say(first.sentence)
    for sentence in (*grouped_choices(plan.choices), *plan.notes):
        say(sentence)
    for exhibit in exhibits:
        say(_sentence(exhibit))
    return 0


def _sentence(exhibit: PlannedExhibit) -> str:
    """``Figure 9: left out, needs three nodes.``"""
    name = f"{exhibit.number}, {exhibit.title}"
    if exhibit.planned == exhibit.parts:
        return f"{name}: complete{exhibit.without and f', without {exhibit.without}'}."
    needs = f", {exhibit.needs}" if exhibit.needs else ""
    if not exhibit.planned:
        return f"{name}: left out{needs or ', since this machine lacks a requirement'}."
    return f"{name}: {exhibit.planned} of {exhibit.parts} parts{needs}."
