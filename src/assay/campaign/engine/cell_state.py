"""How far one cell of a running campaign has come, and all of them together."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field

from assay.campaign.engine.budget_shares import SPARE
from assay.model.cell import Cell
from assay.model.placement import Value


@dataclass
class CellState:
    """One cell's part: its launches' values by replicate, and how its last measurement went.

    ``wall``: seconds it took. ``sampling``: those of them that went into samples; the rest is
    set-up and verification. ``sample``: what one sample takes, expected before the first was
    taken. ``precise_enough``: it had enough before its time was up. ``short``: it had as many
    samples as it was to have, which were fewer than the plan's most. ``facts``: of a search, what
    it found. ``left_out``: it can't be measured now: there are not hosts enough for it, or, with
    ``lost`` saying why, signals ended its launches before they began. ``idle``: it is one
    of a search's candidates, and not asked for now. ``failed_in``: the block that its failure was
    met in, if it is known.
    """

    cell: Cell
    search: bool = False
    values: dict[int, float] = field(default_factory=dict)
    wall: float | None = None
    sampling: float = 0.0
    sample: float = 0.0
    precise_enough: bool = False
    short: bool = False
    failure: str | None = None
    satisfied: bool = False
    left_out: bool = False
    lost: str | None = None
    idle: bool = False
    failed_in: int | None = None
    facts: dict[str, Value] = field(default_factory=dict)
    _lowest: int = 0

    @property
    def pending(self) -> bool:
        """Whether it is to be measured again, if there is time."""
        possible = self.failure is None and not self.left_out
        return possible and not self.satisfied and not self.idle

    @property
    def missing(self) -> int:
        """The lowest replicate that there is no value of."""
        while self._lowest in self.values:
            self._lowest += 1
        return self._lowest

    @property
    def overhead(self) -> float:
        """Seconds of the last measurement beside its samples."""
        return max((self.wall or 0.0) - self.sampling, 0.0)

    @property
    def least(self) -> float:
        """Seconds that a measurement takes at least, for one sample is always taken."""
        return self.overhead + self.sample

    def expected(self, budget: float) -> float:
        """Seconds that a measurement granted ``budget`` may be expected to take."""
        most = max(budget, self.least)
        return min(most, SPARE * (self.wall or 0.0)) if self.precise_enough else most


@dataclass(frozen=True)
class Tally:
    """How far all cells are. ``seconds``: of what is missing; inf where nothing tells."""

    expected: int
    done: int
    seconds: float


def tally_of(
    states: Collection[CellState], min_launches: int, chosen: Collection[str] = ()
) -> Tally:
    """How far all of ``states`` are, of which each is measured at least ``min_launches`` times.

    ``chosen``: ids of cells that are measured once more whenever they are asked for.
    """
    expected = done = unknown = known = 0
    seconds = walls = 0.0
    for state in states:
        measured, pending = len(state.values), state.pending
        launches = 1 if state.search else min_launches
        if state.cell.id in chosen:
            launches = measured + 1
        done += measured
        expected += max(measured, launches * pending)
        if state.wall is not None:
            walls += state.wall
            known += 1
        if pending:
            missing = max(launches - measured, 1)
            if state.wall is not None or state.sample:
                seconds += (state.sample if state.wall is None else state.wall) * missing
            else:
                unknown += missing
    if unknown:
        seconds = seconds + walls / known * unknown if known else math.inf
    return Tally(expected, done, seconds)
