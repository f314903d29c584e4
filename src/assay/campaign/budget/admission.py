"""Which cells a budget can hold one launch of: those that make the most answers complete.

Cells with the same work are compared with each other (placements, toolchains, the site's executable
beside assay's kernel), so they are begun or left out together where that is possible. Of each
kernel the quickest work comes first, and kernels take turns, so that a small budget says a little
on every subject of the plan instead of all on the first one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.campaign.cells.launch_times import LaunchTimes
from assay.kernels import is_search, known_kernel
from assay.kernels.outside import is_beside
from assay.model.cell import Cell

# Seconds of a launch outside its measurements, before any launch has shown it.
ASSUMED_LAUNCH = 0.5


@dataclass(frozen=True)
class Admission:
    """What is known of the cells' costs, and what may be spent."""

    #: Least seconds of one measurement by cell id; None if unknown.
    costs: Mapping[str, float | None]
    launch_times: LaunchTimes
    #: Seconds.
    left: float
    #: Ids of the cells that the plan wants to have before others.
    first: Collection[str] = ()

    def admitted(self, cells: Sequence[Cell]) -> frozenset[str]:
        """The ids of those cells of which one launch fits into the time that is left."""
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
        """The cell of which one launch is expected to be the quickest."""
        cells = list(cells)
        ready = [cell for cell in cells if not self._without_its_search(cell, cells, ())]
        return min(ready or cells, key=lambda cell: (self._cost(cell), cell.id))

    def seconds(self, cells: Sequence[Cell]) -> float:
        """Least seconds of one launch of these cells; those that share a placement share one."""
        return sum(map(self._cost, cells)) + self.launch_times.of(cells, ASSUMED_LAUNCH)

    def _cost(self, cell: Cell) -> float:
        return self.costs.get(cell.id) or 0.0

    def _ordered(self, cells: Sequence[Cell]) -> list[list[Cell]]:
        """The subjects, each with its cells, in the order in which they are begun."""
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
        """Whether a search that is still to be made, and was not taken, decides its parameters."""
        kernel = known_kernel(cell.kernel)
        if kernel is None or kernel.settled_by is None:
            return False
        searches = [each for each in cells if each.kernel == kernel.settled_by]
        return bool(searches) and not any(each in taken for each in searches)


def _subject(cell: Cell, cells: Sequence[Cell]) -> tuple[str, str]:
    """The kernel and the work of a cell.

    A search belongs to the cells that it is made for, and a site's executable to the kernel that it
    is measured beside.
    """
    if is_beside(cell.kernel):
        cell = next((each for each in cells if _beside(cell, each)), cell)
    kernel = known_kernel(cell.kernel)
    if is_search(cell) or (kernel is not None and kernel.settled_by is not None):
        return cell.kernel.partition(".")[0], ""
    return cell.kernel, json.dumps(cell.parameters, sort_keys=True)


def _beside(site: Cell, cell: Cell) -> bool:
    """Whether a site's executable is measured beside a kernel's cell."""
    if site.parameters["of"] != cell.kernel:
        return False
    words = (word.partition("=") for word in str(site.parameters["at"]).split())
    return all(str(cell.parameters.get(name)) == value for name, _, value in words)
