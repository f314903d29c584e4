"""Selects the cells whose first launches fit into a budget and complete the most answers.

Cells with the same work are compared with each other (placements, toolchains, the site's executable
and assay's kernel). They are started or left out together where possible. The quickest work of each
kernel comes first, and kernels take turns. A small budget then says a little about every subject of
the plan, not everything about the first subject.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.campaign.cells.launch_times import LaunchTimes
from assay.kernels import is_search, known_kernel
from assay.kernels.outside import is_beside
from assay.model.cell import Cell

# Assumed seconds of a launch outside its measurements, before the first launch.
ASSUMED_LAUNCH = 0.5


@dataclass(frozen=True)
class Admission:
    """The known costs of cells, and the time that may be spent."""

    #: Minimum seconds of one measurement by cell id; None if unknown.
    costs: Mapping[str, float | None]
    launch_times: LaunchTimes
    #: Remaining time, s.
    left: float
    #: Ids of the cells that the plan wants first.
    first: Collection[str] = ()

    def admitted(self, cells: Sequence[Cell]) -> frozenset[str]:
        """The ids of the cells whose first launch fits into the time left."""
        if self.seconds(cells) <= self.left:
            return frozenset(cell.id for cell in cells)
        taken: list[Cell] = []
        partly: list[Cell] = []
        subjects = self._ordered(cells)
        for subject in subjects:
            if self.seconds([*taken, *subject]) <= self.left:
                taken += subject
            else:
                partly += sorted(subject, key=self._cost)
        for cell in partly:
            if self._without_its_search(cell, cells, taken):
                continue
            if self.seconds([*taken, cell]) <= self.left:
                taken.append(cell)
        return frozenset(cell.id for cell in taken)

    def quickest(self, cells: Iterable[Cell]) -> Cell:
        """The cell with the quickest expected launch."""
        cells = list(cells)
        ready = [cell for cell in cells if not self._without_its_search(cell, cells, ())]
        return min(ready or cells, key=lambda cell: (self._cost(cell), cell.id))

    def seconds(self, cells: Sequence[Cell]) -> float:
        """Minimum seconds of one launch of these cells; cells with the same placement share a
        launch.
        """
        return sum(map(self._cost, cells)) + self.launch_times.of(cells, ASSUMED_LAUNCH)

    def _cost(self, cell: Cell) -> float:
        return self.costs.get(cell.id) or 0.0

    def _ordered(self, cells: Sequence[Cell]) -> list[list[Cell]]:
        """The subjects with their cells, in the order in which they start."""
        subjects: dict[tuple[str, str], list[Cell]] = {}
        for cell in cells:
            subjects.setdefault(_subject(cell, cells), []).append(cell)
        by_kernel: dict[str, list[list[Cell]]] = {}
        for (kernel, _), found in subjects.items():
            by_kernel.setdefault(kernel, []).append(found)
        ordered: list[tuple[tuple[bool, int, int], list[Cell]]] = []
        for number, several in enumerate(by_kernel.values()):  # in the plan's order
            quickest_first = sorted(several, key=lambda found: sum(map(self._cost, found)))
            for turn, found in enumerate(quickest_first):
                later = not any(cell.id in self.first for cell in found)
                ordered.append(((later, turn, number), found))
        return [found for _, found in sorted(ordered, key=lambda pair: pair[0])]

    @staticmethod
    def _without_its_search(cell: Cell, cells: Iterable[Cell], taken: Collection[Cell]) -> bool:
        """Whether the cell's parameters depend on a pending search that was not selected."""
        kernel = known_kernel(cell.kernel)
        if kernel is None or kernel.settled_by is None:
            return False
        searches = [each for each in cells if each.kernel == kernel.settled_by]
        return bool(searches) and not any(each in taken for each in searches)


def _subject(cell: Cell, cells: Sequence[Cell]) -> tuple[str, str]:
    """The kernel and the work of a cell.

    A search belongs to the cells that it serves. A site's executable belongs to the kernel that it
    is compared with.
    """
    if is_beside(cell.kernel):
        cell = next((each for each in cells if _beside(cell, each)), cell)
    kernel = known_kernel(cell.kernel)
    if is_search(cell) or (kernel is not None and kernel.settled_by is not None):
        return cell.kernel.partition(".")[0], ""
    return cell.kernel, json.dumps(cell.parameters, sort_keys=True)


def _beside(site: Cell, cell: Cell) -> bool:
    """Whether the cell runs a site's executable that is compared with a kernel."""
    if site.parameters["of"] != cell.kernel:
        return False
    words = (word.partition("=") for word in str(site.parameters["at"]).split())
    return all(str(cell.parameters.get(name)) == value for name, _, value in words)
