"""Keeps a campaign's budget: decides which cells have a first launch, and when launches end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from assay.campaign.budget.admission import Admission
from assay.campaign.budget.costs import CellCosts
from assay.campaign.budget.time_left import Outlook, TimeLeft
from assay.campaign.cells.cell_state import CellState
from assay.campaign.cells.launch_times import LaunchTimes
from assay.campaign.cells.search_cells import ChosenCells
from assay.model.cell import Cell
from assay.model.plan import Plan

# Share by which the last measurements may exceed the budget.
TOLERANCE = 0.05
# Minimum seconds of a launch: it must have started before it can be ended.
LEAST_ALLOWANCE = 1.0


class BudgetKeeper:
    """The time that a campaign has spent, and the cells that fit into the rest of its budget.

    ``cells``: the states of all cells by id; ``chosen``: the searches that request cells. ``spent``
    is in s. ``changed`` is called after each change of a cell's state. All answers follow from
    these, so that a resumed campaign decides the same.
    """

    def __init__(self, plan: Plan, cells: Mapping[str, CellState], chosen: ChosenCells) -> None:
        self._plan = plan
        self._rule = plan.replication
        self._cells = cells
        self._chosen = chosen
        self._first = frozenset(plan.first)
        self._costs = CellCosts(plan)
        self.launch_times = LaunchTimes(plan.launch_time)
        self.spent = 0.0
        self.changes = 0
        self._admission: tuple[object, frozenset[str]] | None = None
        self._time_left: tuple[object, TimeLeft] | None = None

    def changed(self) -> None:
        """Note that the state of a cell has changed."""
        self.changes += 1

    @property
    def seconds_left(self) -> float:
        """Seconds that measurements started now may take, including the tolerance."""
        return self._rule.budget * (1.0 + TOLERANCE) - self.spent

    def admitted(self) -> frozenset[str]:
        """The ids of cells without a launch whose first launch fits into the rest of the budget.

        Before the first launch, this includes at least the quickest cell.
        """
        known = (self.changes, self.spent)
        if self._admission is None or self._admission[0] != known:
            self._admission = known, self._admit(self.unmeasured())
        return self._admission[1]

    def _admit(self, cells: Sequence[Cell]) -> frozenset[str]:
        if self._rule.whole or not cells:
            return frozenset(cell.id for cell in cells)
        admission = self._known()
        found = admission.admitted(cells)
        return found if found or self.spent else frozenset({admission.quickest(cells).id})

    def _known(self) -> Admission:
        return Admission(self.costs(), self.launch_times, self.seconds_left, self._first)

    def unmeasured(self) -> list[Cell]:
        """The cells to measure that have no result; for searches, the candidates of their first
        block.
        """
        cells = [
            state.cell
            for name, state in self._cells.items()
            if state.pending and state.missing == 0 and name not in self._chosen.candidates
        ]
        if self._chosen.candidates:
            block, wanted = self._chosen.next_block(self._cells, lambda state, block: True)
            cells += wanted if block == 0 else []
        return cells

    def costs(self) -> dict[str, float | None]:
        """Minimum seconds of a measurement of each cell, by id; None if unknown."""
        return self._costs.of(self._cells.values())

    def beyond(self) -> list[Cell]:
        """The cells without a launch that don't fit into the rest of the budget."""
        return [cell for cell in self.unmeasured() if cell.id not in self.admitted()]

    def first_launches(self) -> tuple[float, bool]:
        """Minimum seconds of the first launches of unlaunched cells, and whether all are known."""
        cells = self.unmeasured()
        costs = self.costs()
        return self._known().seconds(cells), all(costs[cell.id] is not None for cell in cells)

    def fits(self, state: CellState) -> bool:
        """Whether there is time for a launch that measures this cell."""
        least = state.least if state.values else self.costs().get(state.cell.id) or state.least
        return least + self.launch_times.of([state.cell]) <= self.seconds_left

    def allowance(self) -> float:
        """Seconds after which a launch that starts now is ended; inf without a limit."""
        if self._rule.whole:
            return math.inf
        return max(self._rule.budget + self._rule.overrun - self.spent, LEAST_ALLOWANCE)

    def time_left(self) -> TimeLeft:
        """The time to the end, estimated from the measurements so far; cached until it changes."""
        known = (self.changes, self.spent)
        if self._time_left is None or self._time_left[0] != known:
            self._time_left = known, self._outlook().time_left()
        return self._time_left[1]

    def _outlook(self) -> Outlook:
        admitted = self.admitted()
        cells = [cell for cell in self.unmeasured() if cell.id in admitted]
        costs = self.costs()
        candidates = self._chosen.candidates
        return Outlook(
            self._rule,
            self.spent,
            waiting=[
                state
                for name, state in self._cells.items()
                if state.pending and state.values and name not in candidates
                if state.missing < self._rule.max_launches
            ],
            launch_times=self.launch_times,
            first=self._known().seconds(cells),
            begun=bool(cells),
            unknown=any(costs[cell.id] is None for cell in cells),
            searching=any(self._cells[name].pending for name in candidates),
        )
