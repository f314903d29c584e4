"""The points that an exhibit selects from a run's cells.

An expression (``where`` of a quantity or a curve) may use the kernel's parameters as they were
used, and these names of a cell: ``nodes``, ``ppn``, ``threads``, ``ranks``, ``cores`` (ranks times
threads), ``order``, ``adapter`` (empty if the MPI library chose it), ``adapters`` (the number of
named adapters), ``node_set``, ``binding`` and ``smt``. Names of the run are ``node_cores`` (the
most cores of a node that any cell used) and ``all_nodes``. Names over the cells of the same kernel
are ``most_nodes``, ``most_ppn``, ``most_threads`` and, if the kernel has classes,
``largest_class``. A cell without a parameter that an expression names does not meet it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from assay.kernels import find_kernel
from assay.kernels.naming import kernel_name, level_name
from assay.kernels.npb.common import MONITOR
from assay.model.cell import Cell
from assay.model.expression import Expression, parse_expression
from assay.model.placement import Value
from assay.questions.common.question import Measured
from assay.questions.common.selection import Point, points
from assay.units import counted, format_size

if TYPE_CHECKING:
    from assay.arrays import Floats

_NAMED = {"order", "adapter", "kernel"}
Names = Mapping[str, Value]


@dataclass(frozen=True)
class RunCells:
    """The cells from which exhibits select: the cells of the run's first toolchain."""

    measured: Measured
    #: Names that are the same for all cells.
    shared: Names
    #: Names that the cells of a kernel share, by kernel.
    most: Mapping[str, Names]
    #: Medians of launches by cell and metric, as far as they were needed.
    launches: dict[tuple[str, str], Floats] = field(default_factory=dict)

    def points(self, kernel: str, metric: str, where: str = "") -> list[Point]:
        """The kernel's usable cells that meet the expression, in the plan's order.

        Cells with a monitor are included only if the expression names it.
        """
        toolchain = self.measured.run.manifest.plan.cells[0].toolchain
        return [
            point
            for point in points(self.measured.cells, kernel, metric, monitored=True)
            if point.summary.cell.toolchain == toolchain and self.meets(point, where)
            if MONITOR.name not in point.summary.cell.parameters or MONITOR.name in where
        ]

    def meets(self, point: Point, where: str) -> bool:
        """Whether a point's cell meets an expression."""
        return not where or meets(where, self.names(point))

    def names(self, point: Point) -> dict[str, Value]:
        """The names of this point's cell that an expression may use."""
        summary = point.summary
        used = {**summary.cell.parameters, **summary.parameters}
        return {**self.shared, **self.most.get(summary.kernel, {}), **names_of(summary.cell, used)}


def run_cells(measured: Measured) -> RunCells:
    """The cells of a run, with the names that expressions may use."""
    return RunCells(measured, *shared_names([summary.cell for summary in measured.cells]))


def shared_names(cells: Sequence[Cell]) -> tuple[Names, dict[str, Names]]:
    """The names that all of these cells share, and the names that the cells of each kernel
    share.
    """
    kernels = dict.fromkeys(cell.kernel for cell in cells)
    most: dict[str, Names] = {
        kernel: {
            f"most_{name}": max(
                getattr(cell.placement, name) for cell in cells if cell.kernel == kernel
            )
            for name in ("nodes", "ppn", "threads")
        }
        | _largest_class(kernel, cells)
        for kernel in kernels
    }
    places = [cell.placement for cell in cells]
    return {
        "node_cores": max((place.ppn * place.threads for place in places), default=1),
        "all_nodes": max((place.nodes for place in places), default=1),
    }, most


def _largest_class(kernel: str, cells: Sequence[Cell]) -> dict[str, Value]:
    """The largest problem class of a kernel's cells; empty if the kernel has none."""
    known = find_kernel(kernel).parameter("class")
    if known is None:
        return {}
    own = {cell.parameters.get("class") for cell in cells if cell.kernel == kernel}
    measured = [value for value in known.choices if value in own]
    return {"largest_class": measured[-1]} if measured else {}


def names_of(cell: Cell, parameters: Mapping[str, Value]) -> dict[str, Value]:
    """The names of a cell: its parameters and the properties of its placement."""
    place = cell.placement
    adapter = place.adapter or ""
    return {
        **parameters,
        "nodes": place.nodes,
        "ppn": place.ppn,
        "threads": place.threads,
        "ranks": place.ranks,
        "cores": place.ranks * place.threads,
        "order": place.order,
        "adapter": adapter,
        "adapters": len(adapter.split(",")) if adapter else 0,
        "node_set": place.node_set,
        "binding": place.binding,
        "smt": place.smt,
        "devices": place.devices,
        "kernel": cell.kernel,
    }


def meets(where: str, names: Names) -> bool:
    """Whether names meet an expression; false if one is missing."""
    expression = parsed(where)
    return expression.names <= names.keys() and bool(expression.value(names))


@lru_cache(maxsize=512)
def parsed(text: str) -> Expression:
    """The expression, parsed once."""
    return parse_expression(text)


def named_value(name: str, value: Value, kernel: str) -> str:
    """A value as a legend or an axis names it: ``2 ranks per node``, ``CG``, ``copy``."""
    if name == "kernel":
        return kernel_name(str(value))
    if name == "ppn":
        return f"{counted(int(value), 'rank')} per node"
    if name == "adapter":
        return str(value) or "any adapter"
    if name in ("nodes", "ranks", "threads", "cores"):
        return counted(int(value), name.removesuffix("s"))
    if name == "adapters":
        return counted(int(value), "adapter")
    if name in ("record", "bytes", "file_size"):
        return f"{name} {format_size(int(value))}"
    if isinstance(value, str) and name not in ("class",):
        return f"{value} order" if name == "order" else level_name(kernel, name, value)
    return f"{name} {value}"
