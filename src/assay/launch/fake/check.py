"""Whether the expressions of a scenario can be evaluated for all cells of a plan."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from assay.errors import AssayError
from assay.launch.fake.scenario import Scenario, compile_scenario
from assay.model.cell import Cell
from assay.model.expression import Expression
from assay.toml import load_toml

# Names whose values exist only while a launch is simulated.
_LATER = {"t", "rank", "node"}


def check_cells(path: Path, cells: Iterable[Cell]) -> None:
    """Raise AssayError with file, line and kernel at the first expression that a cell lacks a name
    for, such as the number of bytes of a barrier.
    """
    document = load_toml(path)
    scenario = document.read((), document.data, Scenario)
    machine = compile_scenario(scenario, document.where)
    for cell in cells:
        behaviour = machine.behaviour(cell.kernel, cell.toolchain, cell.parameters, cell.placement)
        parameters = behaviour.resolve(cell.parameters)
        known = {*behaviour.names(cell.kernel, parameters, cell.placement), *_LATER}
        index = next((n for n, each in enumerate(machine.behaviours) if each is behaviour), 0)
        places: dict[tuple[str | int, ...], tuple[Expression, set[str]]] = {
            ("kernel", index, "time"): (behaviour.time, known)
        }
        for name, formula in behaviour.covariates.items():
            places["kernel", index, "covariates", name] = formula, {*known, "slow"}
        for name, formula in behaviour.phases.items():
            places["kernel", index, "phases", name] = formula, known
        for number, condition in enumerate(machine.conditions):
            if condition is not None and fnmatchcase(cell.kernel, scenario.failure[number].match):
                places["failure", number, "where"] = condition, known
        for place, (formula, names) in places.items():
            for missing in sorted(formula.names - names):
                raise AssayError(
                    f"'{formula.text}' uses '{missing}', which {cell.kernel} doesn't have.",
                    where=document.where(place),
                    fix="Describe that kernel in an entry of its own, before this one. Known are: "
                    f"{', '.join(sorted(names))}.",
                )
