"""A campaign from beginning to end: prepare, measure with a display, write tables, seal."""

from __future__ import annotations

import dataclasses
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from assay import __version__
from assay.campaign.commands.finish import tell_left_out, tell_lost
from assay.campaign.engine.clocks import CampaignClock
from assay.campaign.engine.display import Display, Silent
from assay.campaign.engine.loop import Campaign
from assay.campaign.engine.sessions import SessionReporter, Sessions, carry_on
from assay.campaign.engine.state import CampaignState
from assay.campaign.machine.bench import Bench, MeasuredMachine
from assay.campaign.machine.building import build_display
from assay.errors import AssayError
from assay.model.cell import Cell
from assay.model.plan import Plan
from assay.records.directory import RunDirectory, create_run
from assay.records.model import MANIFEST_SCHEMA, Manifest, RunData
from assay.records.reading import read_run
from assay.records.summary import RunSummary, summarise_run

if TYPE_CHECKING:
    from rich.console import Console


def prepare(machine: MeasuredMachine, plan: Plan, console: Console) -> Bench:
    """Report what of the machine a reader of the numbers should know, build what the plan needs,
    showing how far that is on a terminal.
    """
    for sentence in machine.context.notes:
        console.print(sentence, style="dim", markup=False)
    with build_display(console) as progress:
        return machine.prepare({cell.toolchain for cell in plan.cells}, progress)


def tell_choices(plan: Plan, console: Console) -> None:
    """Say on a terminal what the plan chose by the machine."""
    for sentence in plan.choices if console.is_terminal else ():
        console.print(sentence, style="dim", markup=False)


def new_run(
    machine: MeasuredMachine,
    bench: Bench,
    plan: Plan,
    root: Path,
    command: Sequence[str],
    name: str | None = None,
) -> RunDirectory:
    """Make the run directory of a plan; ``name``: in place of the usual one."""
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
    """Give the directory of a run that was only asked for its manifest."""
    run.begin(
        Manifest(
            schema=MANIFEST_SCHEMA,
            run=run.name,
            utc=time.time(),
            assay=__version__,
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
) -> RunData:
    """Measure what is missing in the run, file it and seal it.

    A run that is not ``keep`` gets neither tables nor seal: its streams alone are read. One whose
    cells could not all be measured, for want of hosts or because signals ended their launches,
    says which and stays incomplete. Sessions
    are waited for by the bench's clock; with a ``clock`` of the caller's, one alone is measured,
    now, and the run stays incomplete if more are to come. Raises Interruption with everything filed
    if asked to stop (OutOfTime at the ``deadline``, Unix time), AssayError if it can't go on.
    Somebody else who works on the run is waited for ``patience`` seconds.
    """
    manifest = run.manifest()
    with run.locked(patience=patience):
        run.append_nodes(bench.nodes)
        display = Display(console, manifest.plan.title) if console.is_terminal else None

        lost: dict[str, str] = {}

        def execute(session: int = 0) -> tuple[RunData, list[Cell]]:
            campaign = Campaign(
                run,
                bench.executor,
                display or Silent(),
                lambda manifest: state_of(manifest, session),
                patience=bench.patience,
                deadline=deadline,
            )
            measured = campaign.execute()
            lost.update(campaign.lost)
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
    tell_left_out(left_out, data, console)
    tell_lost(lost, data, console)
    return dataclasses.replace(data, complete=not left_out and not lost and not more)


def _file(data: RunData) -> None:
    # Polars takes longer to import than a launch takes.
    from assay.records.tables import write_tables

    write_tables(data)


def _file_whole(data: RunData) -> None:
    """File it, and heed a request to stop only then.

    What it comes upon may be an import, and half an import is no state to file anything in.
    """
    with deferring_requests():
        _file(data)


def _summary(run: RunDirectory, data: RunData) -> RunSummary:
    from assay.records.tables import TABLES_SCHEMA

    return summarise_run(data, launches=len(run.streams()), tables=TABLES_SCHEMA)


def state_of(manifest: Manifest, session: int = 0) -> CampaignState:
    """Where a campaign of this manifest, or a session of it, begins; records are added to it."""
    from assay.stats.cells.launch_rule import needs_more
    from assay.stats.cells.summarise import launch_value

    rule = manifest.plan.replication
    return CampaignState(
        manifest.plan,
        value_of=launch_value,
        enough=lambda values: not rule.unbroken and not needs_more(values, rule).more,
        session=session,
    )


@contextmanager
def stopping_at_sigterm() -> Iterator[None]:
    """SIGTERM and SIGHUP end a campaign as Ctrl-C does: what is complete is filed.

    Being asked once is enough: schedulers warn, and then end a job, by the same signal.
    """
    asked = False

    def stop(number: int, frame: object) -> None:
        nonlocal asked
        if not asked:
            asked = True
            raise KeyboardInterrupt

    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def deferring_requests() -> Iterator[None]:
    """A request to stop, by Ctrl-C or a signal, comes at the end of this."""
    asked = False

    def note(number: int, frame: object) -> None:
        nonlocal asked
        asked = True

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.signal(number, note) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    if asked:
        raise KeyboardInterrupt
