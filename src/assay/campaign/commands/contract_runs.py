"""``assay accept --measure``: measures what a contract commits to, in ordinary runs.

Commitments for the system are measured in one run, commitments per node in a group of runs. What
exists of them is continued, so that no result is left out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from assay.acceptance.contract import Contract, Per
from assay.acceptance.decision import PromiseDecision
from assay.acceptance.measured import ContractRun, items_of, read_measured
from assay.acceptance.plan import AcceptancePlan, node_launches, plan_of, sampled_nodes
from assay.acceptance.verdicts import verdicts_of
from assay.campaign.commands.conclusion import WhenEnded, follow_run
from assay.campaign.commands.start import StartOptions, begin, resume_run
from assay.campaign.jobs.submission import JobOptions
from assay.campaign.requests.contract_plan import SUITES, is_measurable, plan_name
from assay.config import Config
from assay.errors import INTERRUPTED, AssayError
from assay.model.plan import MeasuredContract
from assay.plans.app import App, read_app
from assay.plans.suites import find_suite
from assay.records.directory import RunDirectory, list_runs
from assay.records.jobs import JobBook
from assay.records.model import name_part
from assay.records.request import RunOptions


@dataclass(frozen=True)
class ContractMeasurement:
    """What the command line asks for."""

    contract: Contract
    #: Names of further runs to judge.
    runs: Sequence[str] = ()
    budget: str | None = None
    seed: int | None = None
    app: App | None = None


def measure_contract(asked: ContractMeasurement, how: StartOptions) -> list[str] | None:
    """Measure what is missing for a verdict.

    Returns the names of the runs to judge; None if measuring was interrupted. Raises AssayError.
    """
    contract = asked.contract
    given = read_measured(how.root, asked.runs)
    _check_measurable(contract, given)
    plan = plan_of(contract, items_of(contract, given))
    for sentence in _doubts(plan):
        how.console.print(sentence, soft_wrap=True, markup=False)
    parts = _parts(contract)
    for per in parts:
        if _measure_part(asked, per, plan, how) == INTERRUPTED:
            how.console.print(
                f"`assay accept {contract.file} --measure` continues, and judges.",
                soft_wrap=True,
                markup=False,
            )
            return None
    own = [run.name for per in parts for run in _own_runs(how.root, contract, per)]
    return [*own, *(name for name in asked.runs if name not in own)]


def _check_measurable(contract: Contract, given: Sequence[ContractRun]) -> None:
    """Raise AssayError for a commitment that assay can't measure and no given run has measured."""
    for item in items_of(contract, given):
        if item.missing and not is_measurable(item.commitment):
            raise AssayError(
                f"assay can't measure '{item.commitment.cells}', which isn't one of its kernels.",
                where=item.commitment.where,
                fix="Import the program's results (`assay import`) and name their run with --run, "
                "or write \"app\" in 'cells' and add --app with its command.",
            )


def _doubts(plan: AcceptancePlan) -> list[str]:
    """Sentences on commitments that the contract's launches will hardly decide."""
    return [
        f"{each.name}: {each.sentence}"
        for each in plan.commitments
        if each.launches is None or each.launches > plan.launches
    ]


def _parts(contract: Contract) -> list[tuple[Per, ...]]:
    """What is measured together. A single node needs no group of runs."""
    found: list[Per] = []
    for each in contract.commitments:
        if is_measurable(each) and each.per not in found:
            found.append(each.per)
    if contract.nodes == 1 and found:
        return [tuple(found)]
    return [(each,) for each in sorted(found, reverse=True)]


def _own_runs(root: Path, contract: Contract, per: tuple[Per, ...]) -> list[RunDirectory]:
    """The runs that measured this part of a contract, oldest first."""
    part = name_part(plan_name(contract))
    return [
        run
        for run in list_runs(root)
        if part in run.name
        and (found := _contract_of(run)) is not None
        and (found.text, found.per) == (contract.text, per)
    ]


def _contract_of(run: RunDirectory) -> MeasuredContract | None:
    request = run.request()
    if request is not None:
        return request.contract
    return run.manifest().plan.contract if run.begun else None


def _measure_part(
    asked: ContractMeasurement, per: tuple[Per, ...], plan: AcceptancePlan, how: StartOptions
) -> int:
    known = _own_runs(how.root, asked.contract, per)
    if known and not known[-1].complete:
        return _continued(known[-1], how)
    if known and not _is_due(asked, known, how.root):
        return 0
    contract = asked.contract
    away = dataclasses.replace(how, per_node=per == ("node",))
    nodes, launches = None, contract.risks.launches
    if away.per_node:
        launches = node_launches(contract, plan)
        hosts = sampled_nodes(contract, plan)
        away = dataclasses.replace(away, hosts=hosts.names)
        nodes = str(hosts.count)
    options = RunOptions(
        plan=str(find_suite(SUITES[0])),
        budget=asked.budget,
        nodes=nodes,
        seed=asked.seed,
        app=asked.app,
        contract=MeasuredContract(contract.file, contract.text, per, launches),
    )
    return begin(options, away)


def _continued(run: RunDirectory, how: StartOptions) -> int:
    """Follow the jobs of a run, or continue it."""
    request = run.request()
    jobs = JobBook(run.path).jobs()
    if request is not None and request.scheduler is not None and jobs and not jobs[-1].ended:
        return follow_run(run, request, how.console, how.after)
    return resume_run(str(run.path), how)


def _is_due(asked: ContractMeasurement, known: Sequence[RunDirectory], root: Path) -> bool:
    """Whether a complete measurement left a commitment of the system undecided that may have more
    launches, such as after a budget that was too small."""
    contract = asked.contract
    items = items_of(contract, read_measured(root, [str(run.path) for run in known]))
    return any(
        isinstance(verdict, PromiseDecision)
        and verdict.outcome == "undecided"
        and item.values.size < contract.risks.launches
        for item, verdict in zip(items, verdicts_of(contract, items), strict=True)
    )


@dataclass(frozen=True)
class MeasuringOptions:
    """The options as given on the command line."""

    measure: bool = False
    budget: str | None = None
    submit: bool = False
    here: bool = False
    walltime: str | None = None
    partition: str | None = None
    account: str | None = None
    app: str | None = None
    time: str | None = None
    verify: str | None = None
    timeout: str | None = None
    seed: int | None = None
    lab: str | None = None
    fake: Path | None = None


def measured_runs(
    contract: Contract,
    runs: Sequence[str],
    given: MeasuringOptions,
    settings: Config,
    root: Path,
    *,
    plan: bool,
) -> Sequence[str] | None:
    """The runs to judge, after measuring with ``--measure``; None if that was interrupted.

    Raises AssayError for options that contradict each other.
    """
    from assay.console import command_line, console

    _check(given, plan=plan)
    if not given.measure:
        return runs
    if given.lab is not None:
        from assay.lab.entering import on_lab

        settings = on_lab(given.lab, settings)
    asked = ContractMeasurement(
        contract=contract,
        runs=runs,
        budget=given.budget,
        seed=given.seed,
        app=read_app(given.app, given.time, given.verify, given.timeout) if given.app else None,
    )
    how = StartOptions(
        config=settings,
        root=root,
        console=console(stderr=True),
        command=command_line(),
        fake=given.fake,
        submit=given.submit,
        here=given.here,
        site=JobOptions(given.partition, given.account, given.walltime),
        after=WhenEnded(report=False, quiet=True),
    )
    return measure_contract(asked, how)


def _check(given: MeasuringOptions, *, plan: bool) -> None:
    if given.measure and plan:
        raise AssayError(
            "--plan says what a measurement would take, and --measure makes it.",
            where="--measure",
            fix="Remove one of the two.",
        )
    names = [each.name for each in fields(given) if getattr(given, each.name) not in (None, False)]
    if names and not given.measure:
        raise AssayError(
            f"--{names[0]} says how to measure, but stored runs are judged.",
            where=f"--{names[0]}",
            fix="Add --measure, or remove it.",
        )
    if (given.time or given.verify or given.timeout) and given.app is None:
        raise AssayError(
            "--time, --verify-output and --timeout belong to a program.",
            where="assay accept",
            fix="Name its command: --app 'mpirun -n {ranks} ./a.out'.",
        )
