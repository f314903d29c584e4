"""The exhibits that a plan of a suite that repeats a paper will show."""

from __future__ import annotations

from dataclasses import dataclass

from assay.kernels import find_kernel
from assay.model.cell import Cell
from assay.model.placement import Value
from assay.model.plan import Plan
from assay.questions.papers.loading import exhibits_of
from assay.questions.papers.model import Exhibit, ExhibitCurve
from assay.questions.papers.points import meets, names_of, shared_names


@dataclass(frozen=True)
class PlannedExhibit:
    """An exhibit, and how many of its parts have cells in a plan."""

    #: Number of the exhibit.
    number: str
    #: Title of the exhibit.
    title: str
    #: Number of its charts and measured quantities that have cells.
    planned: int
    #: Number of its charts and measured quantities.
    parts: int
    #: Requirements of the others, as far as the exhibits state them.
    needs: str
    #: Part of the paper's exhibit that a run doesn't repeat; empty if there is none.
    without: str


def planned_exhibits(plan: Plan, *, energy: bool) -> list[PlannedExhibit]:
    """The exhibits that need cells, in the paper's order; empty for other plans.

    ``energy``: whether the machine counts energy and this user may read it.
    """
    suite = exhibits_of(plan.name)
    if suite is None:
        return []
    shared, most = shared_names(plan.cells)

    def selected(kernel: str, where: str) -> list[dict[str, Value]]:
        """The names of the cells that an expression selects."""
        named = [
            {**shared, **most[kernel], **_names(cell)}
            for cell in plan.cells
            if cell.kernel == kernel
        ]
        return [names for names in named if not where or meets(where, names)]

    def drawn(curve: ExhibitCurve, kernel: str) -> bool:
        """Whether a chart has a point; a ratio needs the cells of both its sides."""
        own = selected(kernel, curve.where)
        if not curve.over:
            return bool(own)
        below = {_same(curve, names) for names in selected(kernel, curve.over)}
        return any(not meets(curve.over, names) and _same(curve, names) in below for names in own)

    def planned(exhibit: Exhibit) -> PlannedExhibit:
        parts = [
            bool(selected(quantity.kernel, quantity.where))
            and (energy or quantity.statistic != "power")
            for quantity in exhibit.quantity
            if quantity.kernel and not quantity.counted
        ]
        parts += [any(drawn(curve, kernel) for kernel in curve.kernel) for curve in exhibit.curve]
        return PlannedExhibit(
            number=exhibit.number,
            title=exhibit.title,
            planned=sum(parts),
            parts=len(parts),
            needs=exhibit.needs,
            without=exhibit.without,
        )

    return [each for each in map(planned, suite.exhibit) if each.parts]


def _same(curve: ExhibitCurve, names: dict[str, Value]) -> tuple[Value | None, ...]:
    return tuple(names.get(name) for name in curve.same)


def _names(cell: Cell) -> dict[str, Value]:
    """The names of a planned cell; parameters that it leaves out have their defaults."""
    defaults = {each.name: each.default for each in find_kernel(cell.kernel).parameters}
    return names_of(cell, {**defaults, **cell.parameters})
