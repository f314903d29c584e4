"""Works: cells that do the same work, their points, and the costs of their launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.kernels import known_kernel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.selection import Point, points
from assay.records.model import RunData
from assay.stats.cells.summarise import launch_value
from assay.stats.core.model import CellSummary

METRIC = "time"


def size_of(cell: Cell) -> int | None:
    """The index of a work's problem class among its kernel's classes; None without classes."""
    kernel = known_kernel(cell.kernel)
    parameter = kernel.parameter("class") if kernel else None
    size = cell.parameters.get("class")
    if parameter is None or size not in parameter.choices:
        return None
    return parameter.choices.index(size)


def work_key(cell: Cell) -> str:
    """A key that is equal for cells of the same work and toolchain, at any placement."""
    parameters = sorted((name, str(value)) for name, value in cell.parameters.items())
    return f"{cell.kernel}/{parameters}/{cell.toolchain}"


def is_plain(cell: Cell) -> bool:
    """Whether a placement has one thread per rank and default binding, order and adapter."""
    placement = cell.placement
    return placement == Placement(nodes=placement.nodes, ppn=placement.ppn)


def works_of(
    cells: Sequence[CellSummary], wanted: Callable[[Cell], bool] = is_plain
) -> list[list[Point]]:
    """The usable points of each work at the ``wanted`` placements; they differ only in placement.

    Kernels whose total work depends on the number of ranks are left out.
    """
    groups: dict[str, list[Point]] = {}
    for kernel in dict.fromkeys(cell.kernel for cell in cells):
        for point in points(cells, kernel, METRIC):
            cell = point.summary.cell
            if wanted(cell) and _is_divided(cell):
                groups.setdefault(work_key(cell), []).append(point)
    return list(groups.values())


def _is_divided(cell: Cell) -> bool:
    """Whether the total work does not depend on the number of ranks; true for a user's command."""
    kernel = known_kernel(cell.kernel)
    if kernel is None or kernel.outside:
        return True
    quantity = next((metric.quantity for metric in kernel.metrics if metric.quantity), None)
    if quantity is None or kernel.min_ranks > 1:
        return False
    parameters = {p.name: p.default for p in kernel.parameters} | cell.parameters
    one, two = (kernel.work(parameters, ranks, 1).get(quantity) for ranks in (1, 2))
    return bool(one) and one == two  # 0: the machine determines the work's size


def costs_of(run: RunData) -> dict[str, dict[int, float]]:
    """The cost of each launch, in the unit of the headline metric, by cell id and replicate.

    Launches that failed, or whose result was wrong, are left out.
    """
    costs: dict[str, dict[int, float]] = {}
    for measurement in run.measurements:
        value = launch_value(measurement)
        if value is not None and measurement.record.verified is not False:
            costs.setdefault(measurement.cell.id, {})[measurement.replicate] = value
    return costs
