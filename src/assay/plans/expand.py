"""From factors × levels to cells, on a given machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from assay.errors import AssayError, nearest
from assay.kernels import find_kernel
from assay.kernels.catalogue import Kernel
from assay.model.cell import Cell
from assay.model.expression import Expression, parse_expression
from assay.model.placement import Placement, Value
from assay.model.plan import PlanContext
from assay.model.rank_order import FITTED
from assay.model.replication import Replication
from assay.plans.factors import FACTORS, values_of
from assay.plans.feasibility import device_shortage, infeasibility, with_factor
from assay.plans.fitted_cells import with_fitted_order
from assay.plans.levels import DEVICES_USED, Names, Written
from assay.plans.plan_target import Fitting, Infeasible, Level

MOST_CELLS = 100_000


@dataclass(frozen=True)
class Measure:
    """One ``[[measure]]``: a kernel and its factors as written."""

    kernel: str
    factors: Mapping[str, tuple[Written, ...]]
    where: str = ""
    #: The condition for a cell.
    keep: Expression | None = None
    keep_where: str = ""
    #: Whether only those cells are measured that the placement search requests.
    search: bool = False
    #: Budget of the whole plan that contains it, s.
    budget: float = Replication().budget
    #: Whether its cells get their launches first if the budget is too small for all cells.
    first: bool = False


def expand(measures: Iterable[Measure], fitting: Fitting) -> tuple[Cell, ...]:
    """All cells in the order written, with equal cells merged.

    Raises AssayError for errors that don't depend on the machine, and, unless the plan is portable,
    for cells that this machine can't measure; a portable plan omits these, with a note in
    ``fitting.notes``.
    """
    cells: dict[str, Cell] = {}
    for measure in measures:
        kernel = find_kernel(measure.kernel, where=measure.where)
        _check_factors(measure, kernel)
        for cell in _named(measure, kernel, _cells_of(measure, kernel, fitting)):
            cells.setdefault(cell.id, cell)
            (fitting.searched if measure.search else fitting.measured).add(cell.id)
            if measure.first:
                fitting.first.add(cell.id)
            if len(cells) > MOST_CELLS:
                raise AssayError(
                    f"The plan has more than {MOST_CELLS} cells.",
                    where=measure.where,
                    fix="Use fewer levels.",
                )
    fitting.requested.check()
    if not cells:
        raise AssayError(
            "Nothing of this plan can be measured here.", detail="\n".join(fitting.notes)
        )
    return tuple(cells.values())


def _named(measure: Measure, kernel: Kernel, cells: Iterator[Cell]) -> Iterator[Cell]:
    """The cells; an error in the plan's file names the kernel, since a measure may have several."""
    try:
        yield from cells
    except AssayError as error:
        in_file = ".toml:" in error.where
        if in_file and kernel.name not in error.what:
            error.what = f"{kernel.name}: {error.what}"
        raise


def _check_factors(measure: Measure, kernel: Kernel) -> None:
    valid = [parameter.name for parameter in kernel.parameters]
    for name, levels in measure.factors.items():
        if name not in FACTORS and name not in valid:
            raise AssayError(
                f"Kernel '{kernel.name}' has no parameter '{name}', and this is not a placement "
                "word.",
                where=levels[0].where,
                fix=nearest(name, (*valid, *FACTORS)),
            )


def _cells_of(measure: Measure, kernel: Kernel, fitting: Fitting) -> Iterator[Cell]:
    """The cells of a measure. Factors are walked in an order; each may refer to earlier ones."""
    context = fitting.context
    order = (*FACTORS, *(parameter.name for parameter in kernel.parameters))
    fitting.pending.clear()

    def left_out(levels: tuple[Level, ...], why: Infeasible) -> None:
        """Note what the machine can't do; raise it unless the plan is portable."""
        if not fitting.portable:
            raise why
        fitting.requested.not_met(levels, why)
        fitting.notes.setdefault(f"Left out {kernel.name}: {why.what}")

    def walk(depth: int, names: dict[str, Value], levels: tuple[Level, ...] = ()) -> Iterator[Cell]:
        if depth == len(order):
            yield from finished(names, levels)
            return
        factor = order[depth]
        for written in measure.factors.get(factor, (None,)):
            where = written.where if written else measure.where
            fitting.pending.pop(factor, None)
            try:
                values = list(values_of(factor, written, kernel, names, fitting))
            except Infeasible as infeasible:
                left_out((*levels, *_level(factor, written, None)), infeasible)
                continue
            for value in values:
                here = (*levels, *_level(factor, written, value))
                try:
                    known = with_factor(
                        names=names,
                        factor=factor,
                        value=value,
                        kernel=kernel,
                        where=where,
                        fitting=fitting,
                    )
                except Infeasible as infeasible:
                    left_out(here, infeasible)
                    continue
                yield from walk(depth + 1, known, here)

    def finished(names: dict[str, Value], levels: tuple[Level, ...]) -> Iterator[Cell]:
        """The cell with these values; None if it can't be measured."""
        if measure.keep is not None and not measure.keep.value(names, where=measure.keep_where):
            fitting.requested.not_met(levels, _excluded(measure))
            return
        cell = _make_cell(names, kernel, context)
        infeasible = infeasibility(cell, kernel, context, measure.where)
        if infeasible is None and cell.placement.order == FITTED:
            try:
                cell = with_fitted_order(cell, kernel, fitting)
            except Infeasible as infeasible_order:
                infeasible = infeasible_order
        if infeasible is not None:
            left_out(levels, infeasible)
            return
        fitting.choices |= dict.fromkeys(fitting.pending.values())
        fitting.requested.met(levels)
        yield cell

    machine: dict[str, Value] = {
        "cores": context.cores,
        "nodes": context.nodes,
        "hardware_threads": max(context.hardware_threads, context.cores),
        "numa_nodes": max(len(context.numa), 1),
        "caches": context.caches,
        "budget": measure.budget * fitting.stretch,
    }
    if kernel.min_devices:
        found = context.find_devices()
        lacking = device_shortage(kernel, found, measure.where)
        if lacking is not None:
            left_out((), lacking)
            return
        # Unknown as before a job starts: the plan is made again where it runs.
        machine["devices"] = 1 if found is None else found.count
    yield from walk(0, machine)


def _level(factor: str, written: Written | None, value: Value | None) -> tuple[Level, ...]:
    """The level as a key; none for a factor that has its default."""
    return () if written is None else ((factor, id(written), value),)


def _excluded(measure: Measure) -> AssayError:
    return AssayError(
        f"No cell has this level: the condition '{measure.keep.text if measure.keep else ''}' of "
        f"the plan excludes it for {measure.kernel}.",
        fix="Request another level, or copy the plan and change its condition.",
    )


def _make_cell(names: Names, kernel: Kernel, context: PlanContext) -> Cell:
    adapter = str(names["adapter"])
    placement = Placement(
        nodes=int(names["nodes"]),
        ppn=int(names["ppn"]),
        threads=int(names["threads"]),
        order=str(names["order"]),
        binding=str(names["binding"]),
        adapter=adapter if adapter != "default" else None,
        # A draw of all nodes is always the same.
        node_set=int(names["node_set"]) if int(names["nodes"]) < context.nodes else 0,
        smt="on" if names["smt"] == "on" else "off",
        devices=int(names[DEVICES_USED]),
    )
    parameters = {
        parameter.name: names[parameter.name]
        for parameter in kernel.parameters
        if not parameter.omitted or names[parameter.name] != parameter.default
    }
    return Cell(kernel.name, parameters, placement, str(names["toolchain"]))


def parse_keep(text: object, where: str) -> Expression:
    """The condition of ``where``. Raises AssayError."""
    if not isinstance(text, str):
        raise AssayError("'where' must be a text such as 'ppn * threads <= cores'.", where=where)
    return parse_expression(text, where=where)
