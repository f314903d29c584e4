"""Plans relaunches of a block's cells after a signal ended a launch.

A signal that ends a launch (a stray kill, the out-of-memory killer) says little about its cells.
The cell whose measurement it ended is relaunched once, by itself. A launch that ended before its
first measurement is repeated once unchanged, then in halves, down to single cells.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from assay.model.cell import Cell

# Number of single-cell launches without a measurement after which the rest of a block is given up,
# if no launch of the block yielded a measurement. The cells are then not the cause.
_GIVEN_UP_AFTER = 2


@dataclass(frozen=True)
class LaunchBatch:
    """Cells for one launch."""

    cells: tuple[Cell, ...]
    #: Whether a launch of these cells ended before a measurement.
    again: bool = False


@dataclass
class LaunchQueue:
    """The launches that a group of cells on one placement still needs, in order."""

    _waiting: deque[LaunchBatch] = field(default_factory=deque)
    _yielded: bool = False
    _ended_alone: int = 0

    @classmethod
    def of(cls, cells: Sequence[Cell], suspects: Collection[str]) -> LaunchQueue:
        """``suspects``: ids of cells in which an earlier launch ended.

        Each is launched by itself.
        """
        together = tuple(cell for cell in cells if cell.id not in suspects)
        alone = [LaunchBatch((cell,)) for cell in cells if cell.id in suspects]
        return cls(deque([*([LaunchBatch(together)] if together else []), *alone]))

    def next(self) -> LaunchBatch | None:
        """The next launch; None if none is left."""
        return self._waiting.popleft() if self._waiting else None

    def rest(self, cells: Sequence[Cell]) -> None:
        """Queue the remaining cells of a launch, which didn't cause its end, as the next launch."""
        if cells:
            self._waiting.appendleft(LaunchBatch(tuple(cells)))

    def succeeded(self) -> None:
        """Note that a launch yielded a measurement."""
        self._yielded = True

    def ended_in(self, guilty: Cell) -> None:
        """Note that a launch ended in a measurement of this cell, for the first time."""
        self._waiting.append(LaunchBatch((guilty,)))

    def ended_before(self, batch: LaunchBatch, left: Sequence[Cell]) -> list[Cell]:
        """Note that a launch ended before a measurement. Returns the cells to give up for now."""
        if not batch.again:
            self._waiting.appendleft(LaunchBatch(tuple(left), again=True))
            return []
        if len(left) > 1:
            half = (len(left) + 1) // 2
            # Both halves are queued first, so that a cell of each is tried before all are given up.
            for part in (left[half:], left[:half]):
                self._waiting.appendleft(LaunchBatch(tuple(part), again=True))
            return []
        lost = list(left)
        self._ended_alone += 1
        if self._ended_alone >= _GIVEN_UP_AFTER and not self._yielded:
            lost += [cell for waiting in self._waiting for cell in waiting.cells]
            self._waiting.clear()
        return lost
