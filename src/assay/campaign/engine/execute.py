"""Executes a campaign: prepares it, measures with a display, writes tables and seals the run."""

from __future__ import annotations

import dataclasses
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from assay.campaign.cells.stopping import JointRule
from assay.campaign.engine.display import Display, Notes
from assay.campaign.engine.loop import Campaign
from assay.campaign.engine.observer import Observer
from assay.campaign.engine.result_lines import ResultLines
from assay.campaign.engine.sessions import SessionReporter, Sessions, carry_on
from assay.campaign.engine.state import CampaignState
from assay.campaign.engine.unmeasured import report_left_out, report_lost, report_over_budget
from assay.campaign.machine.bench import Bench, MeasuredMachine
from assay.campaign.machine.building import build_display, needed_kernels
from assay.campaign.machine.clocks import CampaignClock
from assay.campaign.machine.other_load import forecast_under, watch_others
from assay.errors import AssayError
from assay.model.cell import Cell
from assay.model.choices import grouped_choices
from assay.model.plan import MeasuredContract, Plan
from assay.records.creation import create_run
from assay.records.directory import RunDirectory
from assay.records.model import MANIFEST_SCHEMA, Manifest, RunData
from assay.records.reading import read_run
from assay.records.summary import RunSummary, summarise_run
from assay.toml import parse_toml
from assay.version import VERSION

if TYPE_CHECKING:
    from rich.console import Console


def prepare(machine: MeasuredMachine, plan: Plan, console: Console) -> Bench:
    """Print notes on the machine that readers of the numbers need.

    Build what the plan needs, with a progress display on a terminal. Other processes are counted
    first, since later the compilers would be among them.
    """
    for sentence in machine.context.notes:
        console.print(sentence, style="dim", markup=False)
    alone = machine.fake is None and machine.context.nodes == 1
    if alone and (forecast := forecast_under(watch_others(), plan)):
        console.print(forecast, style="yellow", markup=False, soft_wrap=True)
    with build_display(console) as progress:
        return machine.prepare(needed_kernels(plan), progress)


def report_choices(plan: Plan, console: Console, *, requested: bool = False) -> None:
    """Print on a terminal what the plan chose or left out for this machine.

    ``requested``: whether the user requested levels. If so, parts left out are always printed.
    """
    choices = grouped_choices(plan.choices) if console.is_terminal else ()
    notes = plan.notes if requested or console.is_terminal else ()
    for sentence in (*choices, *notes):
        console.print(sentence, style="dim", markup=False, soft_wrap=True)


def new_run(
    machine: MeasuredMachine,
    bench: Bench,
    plan: Plan,
    root: Path,
    command: Sequence[str],
    name: str | None = None,
) -> RunDirectory:
    """Create the run directory of a plan. ``name`` replaces the default name."""
    return create_run(
        root,
        plan=plan,
        system_name=machine.name,
        system=machine.system.to_dict(),
        toolchains=bench.toolchains,
        command=list(command),
        prices=machine.prices,
        fake=machine.fake,
        name=name,
    )


def begin_run(
    run: RunDirectory, machine: MeasuredMachine, bench: Bench, plan: Plan, command: Sequence[str]
) -> None:
    """Write the manifest into the directory of a run that was only requested before."""
    run.begin(
        Manifest(
            schema=MANIFEST_SCHEMA,
            run=run.name,
            utc=time.time(),
            assay=VERSION,
            command=list(command),
            plan=plan,
            system=machine.system.to_dict(),
            toolchains=bench.toolchains,
            prices=machine.prices,
            fake=machine.fake,
        )
    )


def execute_campaign(
    run: RunDirectory,
    bench: Bench,
    console: Console,
    *,
    keep: bool = True,
    deadline: float | None = None,
    patience: float = 0.0,
    clock: CampaignClock | None = None,
    results: bool = True,
) -> RunData:
    """Measure what the run lacks, write its tables and seal it.

    ``results``: whether each result is printed when it arrives. Without ``keep``, the run has no
    tables and no seal. Cells that could not be measured, for lack of hosts or because signals ended
    their launches, are printed, and the run stays incomplete. The bench's clock times sessions.
    With ``clock``, only one session is measured, immediately, and the run stays incomplete if more
    sessions follow. If another process works on the run, it is awaited for up to ``patience``
    seconds. Raises Interruption on a request to stop and OutOfTime at the ``deadline`` (Unix time),
    with all results stored, and AssayError if the run can't continue.
    """
    manifest = run.manifest()
    with run.locked(patience=patience):
        run.append_nodes(bench.nodes)
        display = Display(console, manifest.plan.title) if console.is_terminal else None
        observer: Observer = display or Notes(console)
        if results:
            observer = ResultLines(console, manifest.plan, observer)
        lost: dict[str, str] = {}
        over_budget: dict[str, Cell] = {}

        def execute(session: int = 0) -> tuple[RunData, list[Cell]]:
            campaign = Campaign(
                run,
                bench.executor,
                observer,
                lambda manifest: state_of(manifest, session, run),
                manifest=manifest,
                patience=bench.patience,
                deadline=deadline,
            )
            measured = campaign.execute()
            lost.update(campaign.lost)
            over_budget.update((cell.id, cell) for cell in campaign.over_budget)
            return measured, campaign.left_out

        more = False
        with display or nullcontext(), stopping_at_sigterm():
            try:
                if manifest.plan.replication.repeated:
                    reporter = SessionReporter(console, display)
                    sessions = Sessions(
                        run, manifest, clock or bench.clock, reporter.report, reporter.tick
                    )
                    data, left_out, more = carry_on(
                        sessions,
                        execute,
                        one=clock is not None,
                        deadline=deadline,
                        between=_file_whole if keep else lambda data: None,
                    )
                else:
                    data, left_out = execute()
            except BaseException:
                if keep:
                    with suppress(AssayError):
                        _file(read_run(run.path))
                raise
        if keep:
            _file(data)
            if not left_out and not lost and not more:
                run.seal(_summary(run, data))
    report_over_budget(over_budget.values(), data, console)
    report_left_out(left_out, data, console)
    report_lost(lost, data, console)
    return dataclasses.replace(data, complete=not left_out and not lost and not more)


def _file(data: RunData) -> None:
    # Importing Polars takes longer than a launch.
    from assay.records.tables import write_tables

    write_tables(data)


def _file_whole(data: RunData) -> None:
    """Write the tables.

    A request to stop takes effect only afterwards. A signal during the import of a module would
    leave it half imported, so the tables could not be written at the end.
    """
    with deferring_requests():
        _file(data)


def _summary(run: RunDirectory, data: RunData) -> RunSummary:
    from assay.records.tables import TABLES_SCHEMA

    return summarise_run(data, launches=len(run.streams()), tables=TABLES_SCHEMA)


def state_of(
    manifest: Manifest, session: int = 0, run: RunDirectory | None = None
) -> CampaignState:
    """The initial state of this manifest's campaign, or of a session; records are added later.

    ``run``: the run that is measured, whose records decide if its plan measures a contract.
    """
    from assay.stats.cells.launch_rule import needs_more
    from assay.stats.cells.summarise import launch_value

    rule, contract = manifest.plan.replication, manifest.plan.contract

    def is_enough(values: Sequence[float]) -> bool:
        if contract is not None:
            return len(values) >= contract.launches
        return not rule.unbroken and not needs_more(values, rule).more

    return CampaignState(
        manifest.plan,
        value_of=launch_value,
        enough=is_enough,
        joint=_contract_rule(contract, run),
        session=session,
    )


def _contract_rule(contract: MeasuredContract | None, run: RunDirectory | None) -> JointRule | None:
    """The contract's looks at its commitments for the system; None without any. One node doesn't
    decide a commitment per node."""
    if contract is None or run is None or "system" not in contract.per:
        return None
    from assay.acceptance.reading.contracts import contract_of
    from assay.acceptance.verdicts import ContractStop

    return ContractStop(
        contract_of(parse_toml(contract.text, Path(contract.file))), lambda: read_run(run.path)
    )


@contextmanager
def stopping_at_sigterm() -> Iterator[None]:
    """SIGTERM and SIGHUP end a campaign like Ctrl-C: complete measurements are stored.

    Only the first signal counts, since schedulers use the same signal to warn a job and to end it.
    """
    stop_requested = False

    def stop(number: int, frame: object) -> None:
        nonlocal stop_requested
        if not stop_requested:
            stop_requested = True
            raise KeyboardInterrupt

    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def deferring_requests() -> Iterator[None]:
    """Delay a request to stop (Ctrl-C or a signal) to the end of this block."""
    stop_requested = False

    def note(number: int, frame: object) -> None:
        nonlocal stop_requested
        stop_requested = True

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.signal(number, note) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    if stop_requested:
        raise KeyboardInterrupt
