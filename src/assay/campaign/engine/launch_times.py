"""Times of launches outside their measurements: start and end of the kernel program."""

from __future__ import annotations

from collections.abc import Iterable

from assay.campaign.engine.effort import Place, place_of
from assay.model.cell import Cell


class LaunchTimes:
    """The last known time of a launch outside its measurements, s, for each placement."""

    def __init__(self) -> None:
        self._known: dict[Place, float] = {}

    def add(self, cell: Cell, seconds: float) -> None:
        """Add the time of a launch that measured this cell."""
        self._known[place_of(cell)] = max(seconds, 0.0)

    def of(self, cells: Iterable[Cell]) -> float:
        """Expected seconds of the launches that cells need, one per placement and toolchain.

        Placements without a launch so far take as long as the mean of the others.
        """
        places = {place_of(cell) for cell in cells}
        known = [self._known[place] for place in places if place in self._known]
        if not self._known:
            return 0.0
        mean = sum(self._known.values()) / len(self._known)
        return sum(known) + mean * (len(places) - len(known))
