"""Which cells of a block are launched again after a launch that a signal ended, and with which.

A signal that ends a launch (a stray kill, the out-of-memory killer) tells little of its cells. What
a launch died in is launched once more, by itself. What died before it began anything is launched
once more as it is, then in halves, down to single cells.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from assay.model.cell import Cell

# Single cells that died before they began anything, after which the rest of a block is given up if
# no launch of it brought a measurement: it is not for the cells that launches die.
_GIVEN_UP_AFTER = 2


@dataclass(frozen=True)
class LaunchBatch:
    """Cells for one launch. ``again``: whether a launch of them died before it began anything."""

    cells: tuple[Cell, ...]
    again: bool = False


@dataclass
class LaunchQueue:
    """The launches that a group of cells of one placement still needs, in their order."""

    _waiting: deque[LaunchBatch] = field(default_factory=deque)
    _brought: bool = False
    _died_alone: int = 0

    @classmethod
    def of(cls, cells: Sequence[Cell], suspects: Collection[str]) -> LaunchQueue:
        """``suspects``: ids of cells that an earlier launch died in, which are launched alone."""
        together = tuple(cell for cell in cells if cell.id not in suspects)
        alone = [LaunchBatch((cell,)) for cell in cells if cell.id in suspects]
        return cls(deque([*([LaunchBatch(together)] if together else []), *alone]))

    def next(self) -> LaunchBatch | None:
        """The next launch; None if all that is to be launched has been."""
        return self._waiting.popleft() if self._waiting else None

    def rest(self, cells: Sequence[Cell]) -> None:
        """What a launch left that nothing speaks against: it goes on with them."""
        if cells:
            self._waiting.appendleft(LaunchBatch(tuple(cells)))

    def brought(self) -> None:
        """A launch has brought a measurement."""
        self._brought = True

    def died_in(self, guilty: Cell) -> None:
        """A launch died in a measurement of this cell, for the first time."""
        self._waiting.append(LaunchBatch((guilty,)))

    def died_before(self, batch: LaunchBatch, left: Sequence[Cell]) -> list[Cell]:
        """A launch died before it began anything. Gives the cells that are given up for now."""
        if not batch.again:
            self._waiting.appendleft(LaunchBatch(tuple(left), again=True))
            return []
        if len(left) > 1:
            half = (len(left) + 1) // 2
            # Of both halves one cell at least is tried alone, before all is given up.
            for part in (left[half:], left[:half]):
                self._waiting.appendleft(LaunchBatch(tuple(part), again=True))
            return []
        lost = list(left)
        self._died_alone += 1
        if self._died_alone >= _GIVEN_UP_AFTER and not self._brought:
            lost += [cell for waiting in self._waiting for cell in waiting.cells]
            self._waiting.clear()
        return lost
