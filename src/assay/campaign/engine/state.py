"""Computes a run's progress and its next cells, using only its records.

This makes resuming exact: a resumed run decides as if it had not been interrupted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from msgspec import UNSET, UnsetType

from assay.campaign.budget.keeper import BudgetKeeper
from assay.campaign.cells.budget_shares import LEAST_BUDGET, SPARE, fair_share
from assay.campaign.cells.cell_state import CellState
from assay.campaign.cells.effort import Efforts, sampling_seconds
from assay.campaign.cells.search_cells import ChosenCells
from assay.campaign.cells.stopping import JointRule
from assay.campaign.engine.search_results import Resolution, SearchOutcome, resolve_parameters
from assay.campaign.engine.timeouts import time_limit
from assay.kernels import is_search, known_kernel
from assay.model.cell import Cell
from assay.model.plan import Plan
from assay.model.sessions import first_replicate
from assay.records.model import LaunchRecord, Measurement
from assay.records.reading import is_number, measurement_id

# Number of launches ended by signals in the same measurement after which its cell has failed.
_STRIKES = 2


class Interruption(Exception):
    """The campaign was asked to stop; all results are stored."""


class OutOfTime(Interruption):
    """The available time is over; missing cells can be measured later."""


class CampaignState:
    """The state of all cells of a plan in one session.

    ``value_of`` reduces a measurement to the value whose interval across launches decides (None
    without a value). ``enough`` says whether the values so far suffice, and ``joint`` which cells
    all results together decide. Replicates are counted from
    0 here; in the records, the replicates of this session begin with ``first``. Results of searches
    are valid in all sessions.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        value_of: Callable[[Measurement], float | None],
        enough: Callable[[Sequence[float]], bool],
        joint: JointRule | None = None,
        session: int = 0,
    ) -> None:
        self.plan = plan
        self.session = session
        self.first = first_replicate(session, plan.replication)
        self.cells = {cell.id: CellState(cell, is_search(cell)) for cell in plan.cells}
        self._first = frozenset(plan.first)
        self._searches = [state for state in self.cells.values() if state.search]
        self._chosen = ChosenCells(plan)
        for name, seconds in plan.expected.items():
            self.cells[name].sample = seconds
        for name in self._chosen.candidates:
            self.cells[name].idle = True
        self._efforts = Efforts(plan, self._chosen.candidates)
        self.keeper = BudgetKeeper(plan, self.cells, self._chosen)
        self._value_of = value_of
        self._enough = enough
        self._joint = joint
        self._strikes: Counter[str] = Counter()

    @property
    def spent(self) -> float:
        """Seconds of the budget that launches have used."""
        return self.keeper.spent

    @spent.setter
    def spent(self, seconds: float) -> None:
        self.keeper.spent = seconds

    def add(self, measurement: Measurement, beside: float | None = None) -> None:
        """Add a finished measurement.

        Measurements of other sessions are ignored, except searches. ``beside``: seconds of its
        launch outside all measurements, if the launch ended normally.
        """
        state = self.cells[measurement.cell.id]
        replicate = measurement.replicate - self.first
        rule = self.plan.replication
        if rule.repeated and not state.search and not 0 <= replicate < rule.max_launches:
            return
        self.keeper.changed()
        record = measurement.record
        state.wall = record.wall
        state.facts = record.facts if state.search else {}
        state.sampling = sampling_seconds(record)
        count = len(record.series[0].values) if record.series else 0
        state.sample = state.sampling / count if count else 0.0
        state.precise_enough = record.stop in ("precision", "samples")
        state.short = record.stop == "samples" and count < rule.max_samples
        value = self._value_of(measurement)
        if record.status == "failed":
            state.failure = record.error or "failed"
        elif record.status == "left out":
            state.too_long = record.error or "a sample would take too long"
        elif record.verified is False:
            state.failure = "verification failed"
        elif value is None:
            state.failure = "no samples"
        else:
            state.values[replicate] = value
            if beside is not None:
                self.keeper.launch_times.add(state.cell, beside)
            self._efforts.add(
                state.cell,
                replicate,
                record,
                value=value,
                samples=count,
                launch=measurement.launch,
                beside=beside,
            )
            state.satisfied = self._is_satisfied(state)
        if state.failure is not None:
            state.failed_in = replicate

    def blame(self, launch: LaunchRecord, cells: Sequence[Cell], *, progressed: bool) -> None:
        """Record that a launch failed and left ``cells`` unmeasured.

        The current cell has failed. If there was no current cell and no measurement, another launch
        would fail, too, so all cells have failed.
        """
        self.keeper.changed()
        blamed = launch.blamed.rpartition("-")[0] if launch.blamed else None
        failed_cells = [cell for cell in cells if cell.id == blamed]
        if not failed_cells and not progressed:
            failed_cells = list(cells)
        block = launch.blamed.rpartition("-")[2] if launch.blamed else ""
        met = int(block) - self.first if is_number(block) else None
        for cell in failed_cells:
            state = self.cells[cell.id]
            state.failure = launch.error or launch.outcome
            state.failed_in = max(state.values, default=-1) + 1 if met is None else met

    def strike(self, measurement: str, launch: LaunchRecord) -> bool:
        """Record that a signal ended a launch in a measurement.

        The second time, the cell has failed. Returns whether the cell may be retried.
        """
        self._strikes[measurement] += 1
        if self._strikes[measurement] < _STRIKES:
            return True
        cell = self.cells.get(measurement.rpartition("-")[0])
        self.blame(launch, [cell.cell] if cell else [], progressed=True)
        return False

    def suspects(self, replicate: int, cells: Sequence[Cell]) -> set[str]:
        """The ids of the cells in which a signal ended a launch of this block."""
        return {
            cell.id for cell in cells if self._strikes[measurement_id(cell, self.first + replicate)]
        }

    def give_up(self, cells: Sequence[Cell], why: str) -> None:
        """Leave these cells to another execution, since their launches end before measurements."""
        self.keeper.changed()
        for cell in cells:
            self.cells[cell.id].left_out = True
            self.cells[cell.id].lost = why

    def leave_out(self, cells: Sequence[Cell]) -> None:
        """Leave these cells to another execution, since there are too few hosts for them."""
        self.keeper.changed()
        for cell in cells:
            self.cells[cell.id].left_out = True

    def _is_satisfied(self, state: CellState) -> bool:
        if state.search:
            return True
        if state.cell.id in self._chosen.candidates:
            return False  # the search decides when the cell is done
        # Only consecutive replicates from 0 count, so that the decision doesn't depend on
        # replicates that an interrupted run measured out of order.
        series: list[float] = []
        while len(series) in state.values:
            series.append(state.values[len(series)])
        return len(series) >= self.plan.replication.min_launches and self._enough(series)

    def settle(self) -> list[CellState]:
        """Let the joint rule look between blocks. Returns the cells that it ended.

        A look needs the same number of launches of each cell that is still measured, so that an
        interrupted run looks at the same results.
        """
        ended: list[CellState] = []
        while self._joint is not None:
            open_ = [state for state in self.cells.values() if state.pending and not state.search]
            if not open_ or not self._joint.due(min(state.missing for state in open_)):
                break
            decided = self._joint.look()
            now = [state for state in open_ if state.cell.id in decided]
            for state in now:
                state.satisfied = True
            ended += now
            self.keeper.changed()
        return ended

    def next_block(self) -> tuple[int, list[Cell]] | None:
        """The lowest replicate that a cell still needs, and all cells that need it; None if all are
        done.

        Searches come first. Cells that don't fit into the remaining time don't start. Candidates of
        a placement search are measured in the blocks in which the search requests them, together
        with the other cells of those blocks.
        """
        searches = [state.cell for state in self._searches if state.pending]
        if searches and (begun := self.affordable(0, searches)):
            return 0, begun
        searched = self._ask()
        plain = self._next_plain()
        if plain is None or (searched is not None and searched[0] < plain[0]):
            return searched
        if searched is not None and searched[0] == plain[0]:
            both = {cell.id: cell for cell in (*plain[1], *searched[1])}
            return plain[0], list(both.values())
        return plain

    def _next_plain(self) -> tuple[int, list[Cell]] | None:
        """The next block of the cells that are not candidates of a search.

        If the rest of the budget is too small for the minimum launches of all cells, every cell has
        one launch. Afterwards only cells of the plan's ``first`` have more.
        """
        rule = self.plan.replication
        waiting = {
            name: state
            for name, state in self.cells.items()
            if state.pending and name not in self._chosen.candidates
        }
        early = {
            name: state
            for name, state in waiting.items()
            if name in self._first and 0 < state.missing < rule.min_launches
        }
        if early and self._too_many(waiting.values()):
            waiting = early
        lacking: dict[int, list[CellState]] = {}
        for state in waiting.values():
            lacking.setdefault(state.missing, []).append(state)
        for replicate in sorted(lacking):
            if replicate >= rule.max_launches or (replicate > 0 and self.spent >= rule.budget):
                return None
            if replicate == 0:
                wanted = self.affordable(0, [state.cell for state in lacking[0]])
            else:
                wanted = [state.cell for state in lacking[replicate] if self.keeper.fits(state)]
            if wanted:
                return replicate, wanted
        return None

    def _too_many(self, states: Collection[CellState]) -> bool:
        """Whether every cell has a launch, and no time is left for the minimum launches of each."""
        states = [state for state in states if state.missing or self._is_begun(state)]
        if any(state.missing == 0 for state in states):
            return False
        fewest = self.plan.replication.min_launches
        needed = 0.0
        for replicate in range(1, fewest):
            block = [state for state in states if state.missing <= replicate]
            needed += sum(state.least for state in block)
            needed += self.keeper.launch_times.of(state.cell for state in block)
        return needed > self.keeper.seconds_left

    def _ask(self) -> tuple[int, list[Cell]] | None:
        """The current block of the placement searches, and the cells that it lacks.

        The cells that searches request in a block follow from the blocks before it.
        """
        if not self._chosen.candidates:
            return None
        block, wanted = self._chosen.next_block(self.cells, self._can_have)
        self.keeper.changed()
        names = {cell.id for cell in wanted}
        for name in self._chosen.candidates:
            self.cells[name].idle = name not in names
        return (block, wanted) if wanted else None

    def _can_have(self, state: CellState, block: int) -> bool:
        """Whether there is time for a cell in a block, and the session may have this block."""
        rule = self.plan.replication
        if block == 0 or (rule.repeated and block >= rule.max_launches):
            return block == 0 and self._is_begun(state)
        return self.spent < self.plan.replication.budget and self.keeper.fits(state)

    def _is_begun(self, state: CellState) -> bool:
        """Whether the first launch of a cell fits into the budget."""
        return state.cell.id in self.keeper.admitted()

    def affordable(self, replicate: int, cells: Sequence[Cell]) -> list[Cell]:
        """The cells of one launch for which there is time, in order.

        First launches must fit into the budget. A cell is left out if its minimum time exceeds the
        time that remains after the start of the launch and the cells before it.
        """
        if replicate == 0:
            return [cell for cell in cells if cell.id in self.keeper.admitted()]
        left = self.keeper.seconds_left - self.keeper.launch_times.of(cells)
        remaining = []
        for cell in cells:
            least = self.cells[cell.id].least
            if least <= left:
                remaining.append(cell)
                left -= least
        return remaining

    def resolve(self, cell: Cell) -> Resolution:
        """The parameters of a cell, set by the searches that have ended."""
        resolution = resolve_parameters(cell, self.plan, self._outcomes())
        state = self.cells[cell.id]
        if state.wall is None and resolution.resolved.seconds is not None:
            state.sample = resolution.resolved.seconds
            self.keeper.changed()
        return resolution

    def _outcomes(self) -> dict[str, SearchOutcome]:
        return {
            search.cell.id: SearchOutcome(search.facts, search.failure)
            for search in self._searches
            if not search.pending
        }

    def measurement_budgets(self, replicate: int, cells: Sequence[Cell]) -> dict[str, float]:
        """Seconds that each of ``cells`` may take in this block: a fair share of the time left.

        Each cell receives its set-up time of the last measurement and an equal share of the rest,
        after the time of launches outside measurements. Cells with enough precision leave time to
        the others (water-filling). A cell whose single sample exceeds its share reduces the shares
        of all cells.
        """
        rule = self.plan.replication
        if rule.cell_budget is not None:
            return {cell.id: rule.cell_budget for cell in cells}
        if self._chosen.candidates:
            return self._shares_with_searches(replicate, cells)
        return self._shares(replicate, cells)

    def _shares_with_searches(self, replicate: int, cells: Sequence[Cell]) -> dict[str, float]:
        """Shares if there are placement searches. Their cells receive equal shares of half the
        remaining time for the expected number of measurements. If no other cell needs time, they
        receive shares of all the remaining time.
        """
        plain = [c for c in cells if c.id not in self._chosen.candidates and self._lacks(c)]
        chosen = [cell for cell in cells if cell not in plain]
        part = 0.5 if plain else 1.0
        left = part * max(self.plan.replication.budget - self.spent, 0.0)
        each = max(self._chosen.share(self.cells) * left, LEAST_BUDGET)
        granted = {cell.id: self.cells[cell.id].overhead + each for cell in chosen}
        return granted | (self._shares(replicate, plain, part) if plain else {})

    def _lacks(self, cell: Cell) -> bool:
        """Whether to measure a cell again."""
        return self.cells[cell.id].pending

    def _shares(self, replicate: int, cells: Sequence[Cell], part: float = 1.0) -> dict[str, float]:
        """Fair shares of a part of the budget, without the candidates of a search."""
        rule, chosen = self.plan.replication, self._chosen.candidates
        # Shares are computed over all remaining cells of the block, for any number of launches. The
        # block's part of the budget is the part before its first launch.
        states = [
            state
            for name, state in self.cells.items()
            if state.pending and replicate not in state.values and name not in chosen
            if state.missing or self._is_begun(state)
        ]
        blocks = max(rule.min_launches - replicate, 1)
        if (
            rule.unbroken
        ):  # only time ends the session, so the last blocks take no longer than the first
            pace = rule.budget / rule.min_launches
            blocks = max(blocks, math.ceil((rule.budget - self.spent) / pace))
        gone = sum(
            state.wall or 0.0
            for name, state in self.cells.items()
            if replicate in state.values and not state.search and name not in chosen
        )
        left = part * max(rule.budget - (self.spent - gone), 0.0) / blocks - gone
        left -= sum(state.overhead for state in states)
        left -= self.keeper.launch_times.of(state.cell for state in states)
        most = self.most_samples(replicate, cells)
        share = fair_share(left, [(s.sample, self._wanted(s, most[s.cell.id])) for s in states])
        return {cell.id: self.cells[cell.id].overhead + share for cell in cells}

    def _wanted(self, state: CellState, most_samples: int) -> float:
        """Sufficient seconds of samples for a cell; inf if unknown."""
        wanted = state.sampling if state.precise_enough and not state.short else math.inf
        if state.precise_enough and most_samples < self.plan.replication.max_samples:
            wanted = min(wanted, most_samples * state.sample)
        return wanted

    def most_samples(self, replicate: int, cells: Sequence[Cell]) -> dict[str, int]:
        """Maximum number of samples, by cell id, for each cell that a block has or had.

        ``cells``: cells of the launch, which may include cells that only a placement search
        requests.
        """
        names = {cell.id for cell in cells}
        # Cells measured before a crash or a kill also shared this launch.
        here = [
            state
            for name, state in self.cells.items()
            if state.pending or replicate in state.values or name in names
        ]
        return self._efforts.most(replicate, [state.cell for state in here])

    def longest(self, cell: Cell) -> float | UnsetType:
        """Maximum seconds of a measurement of the cell, for kernels that support a limit; UNSET
        without a limit.

        A measured cell may take the time of its last measurement.
        """
        kernel = known_kernel(cell.kernel)
        longest = self.plan.replication.longest(len(self.plan.cells))
        if kernel is None or kernel.link_bytes is None or longest == math.inf:
            return UNSET
        state = self.cells[cell.id]
        return max(longest, SPARE * (state.wall or 0.0)) if state.values else longest

    @property
    def candidates(self) -> Collection[str]:
        """The ids of cells that only searches request."""
        return self._chosen.candidates

    def time_limit(self, cells: Sequence[Cell]) -> float:
        """Maximum seconds of one launch of these cells; inf if only patience limits it."""
        return time_limit(cells, self.cells.values())
