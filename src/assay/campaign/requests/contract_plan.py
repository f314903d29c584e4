"""The plan that measures the commitments of a contract.

A commitment's pattern names a kernel and words. The suites say how the kernel is measured: its
parameters and placements are a suite's, with the words of the pattern instead, on as many nodes as
the contract states. Of these cells, those are measured that the pattern selects.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from assay.acceptance.contract import Commitment, Contract
from assay.acceptance.reading.contracts import contract_of
from assay.errors import AssayError
from assay.kernels import is_search, known_kernel
from assay.kernels import kernels as catalogue
from assay.kernels.outside import APP
from assay.model.cell import Cell
from assay.model.plan import MeasuredContract, Plan, PlanContext
from assay.model.replication import Replication
from assay.plans.app import App, app_measures
from assay.plans.expand import Measure, expand
from assay.plans.factors import FACTORS
from assay.plans.feasibility import expected_times
from assay.plans.overrides import Changes, amended
from assay.plans.plan_target import Fitting
from assay.plans.suites import (
    KERNEL,
    Source,
    draw_seed,
    find_suite,
    load_plan,
    measured_kernels,
)
from assay.plans.words import read_words
from assay.stats.cells.pattern import selects_cell
from assay.toml import parse_toml
from assay.units import counted, whole_number

# The suites that say how a kernel is measured; the first one that has it counts.
SUITES = ("standard", "linpack", "full", "congestion", "io500")
# Seconds of samples of each launch of a cell, and with everything else at most, unless the command
# line gives a budget.
_SECONDS, _WITH_LAUNCH = 2.0, 20.0
_MIN_SAMPLES, _MAX_SAMPLES = 3, 1000


def contract_plan(
    wanted: MeasuredContract,
    context: PlanContext,
    *,
    seed: int | None,
    app: App | None,
    changes: Changes,
    source: Source,
    lenient: bool,
) -> Plan:
    """The plan on this machine.

    ``app``: the program of commitments on "app". ``changes``: of the replication rule, by the
    command line. ``lenient`` allows more ranks than cores, because the plan is for another machine.
    Raises AssayError for a commitment that can't be measured.
    """
    contract = contract_of(parse_toml(wanted.text, Path(wanted.file)))
    making = _Making(contract, context, app, source, lenient)
    parts = [
        making.part(each)
        for each in contract.commitments
        if each.per in wanted.per and is_measurable(each)
    ]
    if not parts:
        raise AssayError(
            "The contract commits to nothing that assay can measure.",
            where=wanted.file,
            fix="Name the runs to judge with --run.",
        )
    cells = {cell.id: cell for part in parts for cell in part.cells}
    budget = changes.get("budget")
    rule = Replication(
        budget=_WITH_LAUNCH * wanted.launches * len(cells),
        cell_budget=None if budget else _SECONDS,
        min_launches=wanted.launches,
        max_launches=wanted.launches,
        min_samples=_MIN_SAMPLES,
        max_samples=_MAX_SAMPLES,
        whole=not budget,
    )
    return Plan(
        name=plan_name(contract),
        title=f"Acceptance: {contract.title}",
        cells=tuple(cells.values()),
        replication=amended(rule, changes),
        seed=seed if seed is not None else draw_seed(),
        notes=context.notes,
        choices=tuple(dict.fromkeys(choice for part in parts for choice in part.choices)),
        expected=expected_times(tuple(cells.values()), context),
        contract=wanted,
    )


def plan_name(contract: Contract) -> str:
    """The name of plans that measure a contract."""
    return f"accept-{contract.digest[:8]}"


def is_measurable(commitment: Commitment) -> bool:
    """Whether a commitment is about a kernel of the catalogue or a user's program."""
    name = commitment.cells.split()[0]
    return name == APP or any(fnmatchcase(kernel.name, name) for kernel in catalogue())


def nodes_of(commitment: Commitment, contract: Contract) -> int | None:
    """The nodes that a commitment's cells are measured on: as in its pattern or contract; None if
    the contract doesn't state a number."""
    for word in commitment.cells.split()[1:]:
        name, _, value = word.partition("=")
        if name == "nodes" and whole_number(value) is not None:
            return whole_number(value)
    return 1 if commitment.per == "node" else commitment.nodes_used or contract.nodes


@dataclass(frozen=True)
class _Part:
    """What one commitment needs."""

    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Making:
    contract: Contract
    context: PlanContext
    app: App | None
    source: Source
    lenient: bool

    def part(self, commitment: Commitment) -> _Part:
        """The cells of a commitment. Raises AssayError if this machine can't measure them."""
        context = self._context(commitment)
        try:
            name = commitment.cells.split()[0]
            found = self._program(commitment, context) if name == APP else None
            found = found or self._kernels(commitment, context)
        except AssayError as error:
            raise AssayError(
                f"{commitment.name} can't be measured here: {error.what}",
                where=commitment.where,
                fix=error.fix or "Write another kernel, parameter or placement in 'cells'.",
                detail=error.detail,
            ) from None
        chosen = [cell for cell in found.cells if selects_cell(commitment.cells, cell)]
        if commitment.per == "node":
            chosen = [cell for cell in chosen if cell.placement.nodes == 1]
        if not any(not is_search(cell) for cell in chosen):
            raise AssayError(
                f"No cell that can be measured here matches '{commitment.cells}'.",
                where=commitment.where,
                fix="Name parameters and placement that this machine has, such as "
                '"network.pingpong bytes=8 nodes=2 ppn=1".',
                detail="\n".join(found.notes),
            )
        chosen = _determined(commitment, chosen)
        return dataclasses.replace(found, cells=(*_searches(found.cells, chosen), *chosen))

    def _context(self, commitment: Commitment) -> PlanContext:
        """The machine as far as a commitment uses it. Raises AssayError if it is too small."""
        wanted = nodes_of(commitment, self.contract)
        if wanted is None:
            return self.context
        there = self.context.nodes
        if wanted > there and not self.context.unlimited and not self.lenient:
            raise AssayError(
                f"{commitment.name} needs {counted(wanted, 'node')}, but there "
                f"{'is' if there == 1 else 'are'} {there}.",
                where=commitment.where,
                fix="Add --submit, measure in an allocation of these nodes, or name hosts in "
                "[cluster] of assay.toml.",
            )
        return dataclasses.replace(self.context, nodes=wanted)

    def _words(self, commitment: Commitment, known: Iterable[str]) -> list[str]:
        """The words of the pattern that say what to measure; those with wildcards only select."""
        words = [word.partition("=") for word in commitment.cells.split()[1:]]
        return [
            f"{name}={value}"
            for name, _, value in words
            if name in known and not any(mark in value for mark in "*?[")
        ]

    def _kernels(self, commitment: Commitment, context: PlanContext) -> _Part:
        pattern = commitment.cells.split()[0]
        kernels = [each for each in catalogue() if fnmatchcase(each.name, pattern)]
        suite, names = self._suite(pattern)
        parameters = {each.name for kernel in kernels for each in kernel.parameters}
        words = self._words(commitment, {*FACTORS, *parameters})
        names = names or [each.name for each in kernels]
        searches = {each.settled_by for each in map(known_kernel, names) if each is not None}
        chosen = [*(each for each in searches if each is not None), *names]
        wanted = nodes_of(commitment, self.contract)
        plan = load_plan(
            find_suite(suite),
            context,
            0,
            read_words([f"{KERNEL}={','.join(chosen)}", *words]),
            nodes=read_words([f"nodes={wanted}"])["nodes"] if wanted else None,
            source=self.source,
            lenient=self.lenient,
        )
        return _Part(plan.cells, plan.notes, plan.choices)

    def _suite(self, pattern: str) -> tuple[str, list[str]]:
        """The suite that has kernels of a pattern, and their names; no names if none has."""
        for suite in SUITES:
            names = measured_kernels(find_suite(suite), self.source)
            if found := [name for name in names if fnmatchcase(name, pattern)]:
                return suite, found
        return SUITES[0], []

    def _program(self, commitment: Commitment, context: PlanContext) -> _Part:
        if self.app is None:
            raise AssayError(
                "its command is missing",
                fix="Add --app 'mpirun -n {ranks} ./a.out', as in `assay run --app`.",
            )
        words = self._words(commitment, FACTORS)
        wanted = nodes_of(commitment, self.contract)
        given = {word.partition("=")[0] for word in words}
        if wanted is not None and "nodes" not in given:
            words.append(f"nodes={wanted}")
        measures = app_measures([Measure(APP, read_words(words))], self.app)
        fitting = Fitting(context, oversubscribe=self.lenient)
        cells = expand([dataclasses.replace(each, search=False) for each in measures], fitting)
        return _Part(cells, tuple(fitting.notes))


def _determined(commitment: Commitment, cells: list[Cell]) -> list[Cell]:
    """The cells of a pattern that names parameters: the others have the catalogue's values, if a
    cell has them. A pattern without parameters stands for all cells."""
    name, *words = commitment.cells.split()
    kernel, given = known_kernel(name), {word.partition("=")[0] for word in words}
    if kernel is None or not given & {each.name for each in kernel.parameters}:
        return cells
    for parameter in kernel.parameters:
        usual = [
            cell
            for cell in cells
            if cell.parameters.get(parameter.name, parameter.default) == parameter.default
        ]
        if parameter.name not in given and usual:
            cells = usual
    return cells


def _searches(cells: Iterable[Cell], chosen: Iterable[Cell]) -> list[Cell]:
    """The searches that settle open parameters of the chosen cells."""
    needed = {
        (kernel.settled_by, cell.toolchain, cell.placement)
        for cell in chosen
        if (kernel := known_kernel(cell.kernel)) is not None and kernel.settled_by is not None
    }
    return [
        cell
        for cell in cells
        if is_search(cell) and (cell.kernel, cell.toolchain, cell.placement) in needed
    ]
