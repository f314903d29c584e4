"""Estimates the minimum time of one launch of each cell before it is measured.

No result depends on these times. They decide which cells fit into a budget, and the announced time
left.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from assay.campaign.cells.cell_state import CellState
from assay.kernels import is_search, known_kernel
from assay.model.cell import Cell
from assay.model.plan import Plan


class CellCosts:
    """Minimum seconds of one measurement of each cell of a plan.

    The first known source counts: measurements in this run; earlier runs; the prediction of a
    search of this run; the kernel's work and pace, scaled by the measured cells of this kernel;
    measured cells with the same work on other placements, or of the same kernel.
    """

    def __init__(self, plan: Plan) -> None:
        self._earlier = plan.earlier
        self._nominal = {cell.id: expected_seconds(cell) for cell in plan.cells}
        self._limit = plan.replication.cell_budget or 0.0

    def of(self, states: Iterable[CellState]) -> dict[str, float | None]:
        """The seconds by cell id; None if unknown. ``states``: the states of all cells."""
        states = list(states)
        measured = [state for state in states if state.wall is not None and state.values]
        scales = self._scales(measured)
        alike: dict[object, list[tuple[float, int]]] = {}
        for state in measured:
            for key in _keys(state.cell):
                alike.setdefault(key, []).append((state.least, _cores(state.cell)))
        return {state.cell.id: self._one(state, scales, alike) for state in states}

    def _one(
        self,
        state: CellState,
        scales: dict[str, float],
        alike: dict[object, list[tuple[float, int]]],
    ) -> float | None:
        found = self._guess(state, scales, alike)
        return found if found is None else max(found, self._limit)

    def _guess(
        self,
        state: CellState,
        scales: dict[str, float],
        alike: dict[object, list[tuple[float, int]]],
    ) -> float | None:
        cell = state.cell
        if state.wall is not None:
            return state.least
        if cell.id in self._earlier:
            return self._earlier[cell.id]
        if is_search(cell):
            return float(cell.parameters.get("seconds", 0.0)) or None
        if state.sample > 0.0:
            return state.sample
        nominal = self._nominal[cell.id]
        if nominal is not None:
            return nominal * scales.get(cell.kernel, 1.0)
        same_work, same_kernel = (alike.get(key, []) for key in _keys(cell))
        if same_work:  # at best it scales perfectly
            return min(least * max(cores / _cores(cell), 1.0) for least, cores in same_work)
        return median(least for least, _ in same_kernel) if same_kernel else None

    def _scales(self, measured: Iterable[CellState]) -> dict[str, float]:
        """The median ratio of measured times to times expected from the pace, by kernel."""
        ratios: dict[str, list[float]] = {}
        for state in measured:
            nominal = self._nominal[state.cell.id]
            if nominal:
                ratios.setdefault(state.cell.kernel, []).append(state.least / nominal)
        return {kernel: median(found) for kernel, found in ratios.items()}


def expected_seconds(cell: Cell) -> float | None:
    """The approximate time of one sample from the kernel's work; None if its pace is unknown."""
    kernel = known_kernel(cell.kernel)
    if kernel is None or kernel.pace is None:
        return None
    placement = cell.placement
    parameters = {p.name: cell.parameters.get(p.name, p.default) for p in kernel.parameters}
    work = kernel.work(parameters, placement.ranks, placement.threads)
    return work["operations"] / kernel.pace / _cores(cell)


def _keys(cell: Cell) -> tuple[object, object]:
    """The keys of cells with the same work, and of cells of the same kernel."""
    return (cell.kernel, tuple(sorted(cell.parameters.items()))), cell.kernel


def _cores(cell: Cell) -> int:
    return cell.placement.ranks * cell.placement.threads
