"""Determines the cells that a search chooses for a block, from the blocks before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from assay.model.cell import Cell
from assay.model.plan import Plan
from assay.models.placement.candidates import PlacementSearch, placement_searches
from assay.models.placement.search import SearchStatus

# Expected share of all candidates' measurements that a search needs.
EXPECTED_SHARE = 0.25


class SearchProgress(Protocol):
    """A search's data on a cell: its costs (s) by block, and how and when it failed."""

    cell: Cell
    values: dict[int, float]
    failure: str | None
    failed_in: int | None
    left_out: bool


S = TypeVar("S", bound=SearchProgress)


class ChosenCells:
    """The searches of a plan. ``candidates``: ids of the cells that only they request."""

    def __init__(self, plan: Plan) -> None:
        self._searches = placement_searches(plan)
        self.candidates = frozenset(plan.search.optional if plan.search else ())
        self._min_launches = plan.replication.min_launches
        self._known: dict[tuple[int, int], tuple[object, SearchStatus]] = {}

    def next_block(
        self, states: Mapping[str, S], can_have: Callable[[S, int], bool]
    ) -> tuple[int, list[Cell]]:
        """The current or next block, and the cells that it lacks; no cells when all searches have
        ended.

        ``can_have``: whether there is time for a cell in a block. A cell without time is skipped.
        """
        names = [name for search in self._searches for name in search.ids]
        block = max([0, *(_latest(states[name]) for name in names)])
        for number in (block, block + 1):
            lacking = [
                state.cell
                for search in self._searches
                for state in self._requested(search, states, number)
                if state.failure is None and not state.left_out and number not in state.values
                if can_have(state, number)
            ]
            if lacking:
                return number, lacking
        return block + 1, []

    def share(self, states: Mapping[str, SearchProgress]) -> float:
        """The share of the remaining time that one measurement of a candidate may take."""
        done = sum(len(states[name].values) for name in self.candidates)
        expected = math.ceil(EXPECTED_SHARE * self._min_launches * len(self.candidates))
        return 1.0 / max(expected - done, 2 * len(self._searches), 1)

    def _requested(self, search: PlacementSearch, states: Mapping[str, S], block: int) -> list[S]:
        """The candidates that a search requests in a block, given the blocks before it."""
        costs = {
            name: {number: cost for number, cost in states[name].values.items() if number < block}
            for name in search.ids
        }
        refused = [
            name
            for name in search.ids
            if states[name].failure is not None and (states[name].failed_in or 0) < block
        ]
        # Cached, since every launch of a block repeats the query, and a search takes time.
        place = self._searches.index(search), block
        question = (costs, refused)
        known = self._known.get(place)
        if known is None or known[0] != question:
            known = self._known[place] = (question, search.find(costs, refused))
        return [states[search.cells[asked].id] for asked in known[1].ask]


def _latest(state: SearchProgress) -> int:
    """The last block in which a cell was measured or failed; -1 before the first block."""
    last = max(state.values, default=-1)
    return last if state.failed_in is None else max(last, state.failed_in)
