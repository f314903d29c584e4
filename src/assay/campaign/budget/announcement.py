"""Messages about a budget: before it is spent, and on the cells that did not fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.campaign.budget.keeper import TOLERANCE, BudgetKeeper
from assay.campaign.cells.cell_state import CellState
from assay.campaign.cells.search_cells import ChosenCells
from assay.kernels import is_search
from assay.kernels.naming import cell_name, cell_title
from assay.kernels.outside import APP
from assay.model.cell import Cell
from assay.model.plan import Plan
from assay.model.replication import Replication
from assay.units import counted, format_duration, rough_duration

# Maximum number of works named one by one.
NAMED = 8


@dataclass(frozen=True)
class FirstLaunches:
    """The expected time of one launch of every cell of a plan."""

    rule: Replication
    cells: int
    #: Minimum time of these launches, s.
    seconds: float
    #: Whether the time is known for every cell.
    known: bool
    #: Number of cells whose time comes from earlier runs.
    earlier: int
    #: Whether a user's command is among the cells.
    command: bool
    #: Cells that don't fit into the budget.
    left_out: tuple[Cell, ...] = ()

    @property
    def exceeds(self) -> bool:
        """Whether the launches are expected to exceed the budget."""
        return self.seconds > self.rule.budget * (1.0 + TOLERANCE)

    @property
    def sentence(self) -> str:
        """A sentence on the time of the launches and the budget."""
        rule = self.rule
        each = f"one launch of each of the {self.cells} cells" if self.cells > 1 else "one launch"
        basis = (
            "as in earlier runs"
            if self.earlier == self.cells
            else "as estimated from the cells' work"
        )
        if 0 < self.earlier < self.cells:
            basis = "as estimated from earlier runs and the cells' work"
        short = self.seconds < 1.0
        least = "less than a second" if short else f"at least {rough_duration(self.seconds)}"
        takes = f"{each[0].upper()}{each[1:]} takes {least}, {basis}"
        if self.command and not self.known:
            takes += "; the time of the command is unknown before its first launch"
        session = " of each session" if rule.repeated else ""
        budget = format_duration(rule.budget)
        if not self.exceeds:
            limit = "as is one launch of each cell" if rule.whole else "launches included"
            rest = "compiling takes additional time."
            return f"{takes}. The budget{session} is {budget}, {limit}; {rest}"
        if rule.whole:
            return f"{takes}; every cell is measured, although the budget{session} is {budget}."
        return (
            f"{takes}. To keep to the budget{session} of {budget}, {named(self.left_out)} left "
            f"out. {way_out(self.seconds)}"
        )


def first_launches(plan: Plan) -> FirstLaunches:
    """The expected time of one launch of each cell of a plan, before the first launch."""
    cells = {cell.id: CellState(cell, is_search(cell)) for cell in plan.cells}
    for name, seconds in plan.expected.items():
        cells[name].sample = seconds
    keeper = BudgetKeeper(plan, cells, ChosenCells(plan))
    seconds, known = keeper.first_launches()
    unmeasured = keeper.unmeasured()
    return FirstLaunches(
        plan.replication,
        cells=len(unmeasured),
        seconds=seconds,
        known=known,
        earlier=sum(cell.id in plan.earlier for cell in unmeasured),
        command=any(cell.kernel == APP for cell in unmeasured),
        left_out=tuple(keeper.beyond()),
    )


def named(cells: Sequence[Cell]) -> str:
    """``2 cells (CG class A, 1 rank; CG class A, 2 ranks) are``: the subject of a sentence."""
    verb = "is" if len(cells) == 1 else "are"
    return f"{counted(len(cells), 'cell')} ({listing(cells)}) {verb}"


def listing(cells: Sequence[Cell]) -> str:
    """The names of the cells, those with the same work combined; only the first ones of many."""
    works: dict[str, list[Cell]] = {}
    for cell in cells:
        works.setdefault(cell_name(cell), []).append(cell)
    words = [
        cell_title(same[0]) if len(same) == 1 else f"{name} on {len(same)} placements"
        for name, same in works.items()
    ]
    more = sum(map(len, list(works.values())[NAMED:]))
    return "; ".join([*words[:NAMED], *([f"and {counted(more, 'other cell')}"] if more else [])])


def way_out(seconds: float) -> str:
    """A sentence on how to measure every cell. ``seconds``: time of one launch of each cell."""
    return (
        f'--budget "{budget_for(seconds)}" is enough for one launch of each cell; --whole takes '
        "the time that this needs."
    )


def budget_for(seconds: float) -> str:
    """A sufficient budget, as written on the command line: ``9 min``."""
    if seconds <= 90.0:
        return f"{max(math.ceil(seconds), 1)} s"
    return f"{math.ceil(seconds / 60.0)} min"


def over_budget_text(cells: Sequence[Cell], rule: Replication) -> str:
    """A sentence on the cells for which the budget was too small."""
    them = "it" if len(cells) == 1 else "them"
    budget = format_duration(rule.budget)
    return (
        f"Left out, because the budget of {budget} was spent: {listing(cells)}. A longer "
        f"--budget includes {them}; --whole measures every cell, regardless of the time."
    )
