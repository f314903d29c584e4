"""Anonymous comparisons: replaces names in all sides.

A name has the same replacement everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from assay.model.cell import Cell
from assay.report.anonymous.collect import names_of
from assay.report.anonymous.names import Names
from assay.report.anonymous.runs import anonymous_report, replaced, without_names
from assay.report.comparison.build import build_comparison
from assay.report.comparison.views import find_views
from assay.report.model import ReportModel
from assay.subjects.compare.model import ComparedCell, ComparedRun, CompareFindings
from assay.subjects.compare.sides import AnySide, Side


def names_of_sides(sides: Sequence[AnySide]) -> Names:
    """The private names in all runs of the sides. Runs are numbered in the order of their names."""
    runs = {
        run.manifest.run: (run, side)
        for side in sides
        if isinstance(side, Side)
        for run in side.members or (side.run,)
    }
    names = Names()
    for _, (run, side) in sorted(runs.items()):
        group = side.name if side.members and not side.pooled else None
        names.add(names_of(run, group=group))
    return names


def sides_without_names(sides: Sequence[AnySide], names: Names) -> list[AnySide]:
    """The sides with the names in their runs replaced.

    Published figures contain no private names.
    """

    def changed(side: AnySide) -> AnySide:
        if not isinstance(side, Side):
            return side
        return replace(
            side,
            words=names.text(side.words),
            run=without_names(side.run, names),
            nodes=None if side.nodes is None else tuple(map(names.host, side.nodes)),
            members=tuple(without_names(run, names) for run in side.members),
            name=names.text(side.name),
        )

    return [changed(side) for side in sides]


def comparison_without_names(found: CompareFindings, names: Names) -> CompareFindings:
    """The findings of a comparison with names replaced; ``names``: from ``names_of_sides``."""
    return replace(
        found,
        runs=[_run(run, names) for run in found.runs],
        cells=[_compared(cell, names) for cell in found.cells],
        means=[
            replace(
                mean,
                contributions=[
                    replace(part, cell=_cell(part.cell, names), name=names.text(part.name))
                    for part in mean.contributions
                ],
            )
            for mean in found.means
        ],
    )


def _run(run: ComparedRun, names: Names) -> ComparedRun:
    unshared = [names.text(cell) for cell in run.unshared]
    if run.kind == "published":
        return replace(run, unshared=unshared)
    return replace(
        run,
        run=names.run(run.run),
        nodes=None if run.nodes is None else [names.host(node) for node in run.nodes],
        system=names.name("system", run.system),
        unshared=unshared,
    )


def _compared(cell: ComparedCell, names: Names) -> ComparedCell:
    return replace(
        cell,
        cell=_cell(cell.cell, names),
        name=names.text(cell.name),
        code_factor_of=names.text(cell.code_factor_of),
    )


def _cell(cell: Cell, names: Names) -> Cell:
    plain = replaced(msgspec.to_builtins(cell), names)
    plain["kernel"] = cell.kernel
    return msgspec.convert(plain, Cell)


def comparison_report(
    found: CompareFindings, sides: Sequence[AnySide], names: Names | None
) -> ReportModel:
    """The report of a comparison with the questions' answers side by side.

    ``names``: from ``names_of_sides`` if they are replaced; those in ``found`` already are.
    """
    shown = sides if names is None else sides_without_names(sides, names)
    model = build_comparison(found, find_views(shown))
    return model if names is None else anonymous_report(model, names)
