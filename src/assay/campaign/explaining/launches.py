"""``assay why``: launches a program within its budget, and keeps the records of each launch."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assay.campaign.commands.profile_program import (
    new_profile_folder,
    profile_program,
    require_program,
)
from assay.campaign.explaining.plan import LaunchPlan, NextLaunch
from assay.campaign.jobs.profile_job import profile_in_job
from assay.campaign.jobs.submission import JobOptions
from assay.config import Config
from assay.errors import AssayError
from assay.launch.repeated import RepeatedStreams
from assay.records.files import pretty_json, write_atomically
from assay.system.files import Tree
from assay.system.processes import busiest, process_times
from assay.trace.launches import WHY_FILE, WHY_SCHEMA, OtherProcess, WhyLaunch, WhyRun
from assay.trace.model import ProgramProfile
from assay.trace.samples.rate import DEFAULT_RATE
from assay.units import format_duration, parse_duration, whole_number
from assay.version import VERSION

if TYPE_CHECKING:
    from rich.console import Console

# Share of the ranks' time outside of MPI from which it is worth to ask what limits it.
_COMPUTING = 0.3
# CPUs that a process must use to be named.
_NAMED = 0.02


@dataclass(frozen=True)
class WhyOrder:
    """What to ask about."""

    command: tuple[str, ...]
    #: Folder of the launches; None for a new one in the working directory.
    folder: Path | None = None
    #: Time for all launches, as the user wrote it; None: twice the first launch plus one minute.
    budget: str | None = None
    #: Maximum number of plain launches; None: the usual one.
    launches: int | None = None
    #: Nodes of the job that is submitted; None: run here.
    nodes: str | None = None
    #: Options of the job.
    site: JobOptions = field(default_factory=JobOptions)


@dataclass
class _Done:
    launches: list[WhyLaunch] = field(default_factory=list)
    status: int = 0


def launch_for_why(order: WhyOrder, config: Config, console: Console) -> tuple[Path, int]:
    """Launch the program as often as needed; returns the folder and the program's exit status.

    The launches end early if the program fails. Raises AssayError for a wrong budget, and as
    `profile_program` does.
    """
    plan = _plan(order)
    require_program(order.command)
    folder = new_why_folder(order.folder)
    utc, done, streams = time.time(), _Done(), RepeatedStreams()
    while (todo := plan.next()) is not None:
        _announce(plan, todo, console)
        profile = _launch(order.command, todo, folder, done, (config, console, streams))
        plan.done(todo.kind, done.launches[-1].wall)
        if todo.kind == "plain":
            plan.turns_wanted = _shares_nodes(profile) and "in turn" not in plan.kinds
        _keep(order, plan, done, utc, folder)
        if done.status:
            _drop_failed(plan, done)
            break
    _keep(order, plan, done, utc, folder)
    return folder, done.status


def launch_in_job(order: WhyOrder, config: Config, console: Console) -> Path:
    """Launch the program in a job of the batch scheduler, and wait for its end; returns the folder.

    Raises AssayError as `launch_for_why` and `profile_in_job` do.
    """
    _plan(order)
    nodes = whole_number(order.nodes or "1")
    if nodes is None or nodes < 1:
        raise AssayError(
            f"'{order.nodes}' is not a number of nodes.", where="--nodes", fix="Example: 2."
        )
    folder = new_why_folder(order.folder)
    words = ["--folder", str(folder)]
    words += ["--budget", order.budget] if order.budget is not None else []
    words += ["--launches", str(order.launches)] if order.launches is not None else []
    words += ["--config", str(config.path.absolute())] if config.path else []
    words += ["--", *order.command]
    profile_in_job(
        words, folder, order.site.applied(config.scheduler), console,
        nodes=nodes, walltime=order.site.seconds, command="why", result=WHY_FILE,
    )  # fmt: skip
    return folder


def _plan(order: WhyOrder) -> LaunchPlan:
    """The plan without launches. Raises AssayError for a wrong budget or number."""
    plan = LaunchPlan(_budget(order.budget))
    if order.launches is not None:
        if order.launches < 1:
            raise AssayError(
                f"'{order.launches}' is not a number of launches.",
                where="--launches",
                fix="Example: 3.",
            )
        plan.most = order.launches
    return plan


def new_why_folder(folder: Path | None) -> Path:
    """The folder for the launches, created if necessary. Raises AssayError if it is in use."""
    if folder is None:
        return new_profile_folder(None, "why")
    if (folder / WHY_FILE).exists():
        raise AssayError(
            "The folder already contains launches of `assay why`.",
            where=str(folder),
            fix="Name another folder, or read this one with --read.",
        )
    return new_profile_folder(folder)


def _budget(text: str | None) -> float | None:
    if text is None:
        return None
    seconds = parse_duration(text, where="--budget")
    if not 0.0 < seconds < 1e8:
        raise AssayError(
            f"'{text}' is not a time for launches.", where="--budget", fix='Example: "20 min".'
        )
    return seconds


def _launch(
    command: Sequence[str],
    todo: NextLaunch,
    folder: Path,
    done: _Done,
    surroundings: tuple[Config, Console, RepeatedStreams],
) -> ProgramProfile:
    name = f"launch-{len(done.launches) + 1}"
    variables = {"ASSAY_PROFILE_NODE": "1"}
    if todo.kind == "in turn":
        variables["ASSAY_PROFILE_ALONE"] = f"{todo.turns:.3f}"
    tree = Tree(Path("/"))
    before, began = process_times(tree), time.monotonic()
    # Ranks that compute in turn at first have other shares.
    sample = DEFAULT_RATE if todo.kind == "plain" else None
    config, console, streams = surroundings
    profile, _ = profile_program(
        command, folder / name, config, console,
        trace=True, sample=sample, variables=variables, streams=streams,
    )  # fmt: skip
    if profile is None:
        raise AssayError(
            "The program isn't linked with MPI.",
            where=shlex.join(command),
            fix="`assay profile --sample` shows where it computes.",
            status=2,
        )
    elapsed = max(time.monotonic() - began, 1e-3)
    used = busiest(before, process_times(tree), elapsed, {os.getpid()})
    others = [OtherProcess(one.name, one.cpus) for one in used if one.cpus >= _NAMED]
    done.launches.append(WhyLaunch(todo.kind, name, elapsed, others))
    done.status = profile.run.status
    return profile


def _announce(plan: LaunchPlan, todo: NextLaunch, console: Console) -> None:
    number = len(plan.walls) + 1
    if number == 1:
        console.print("launch 1", style="dim")
        return
    how = " with ranks computing in turn" if todo.kind == "in turn" else ""
    rest = format_duration(max(plan.budget - sum(plan.walls), 0.0))
    console.print(
        f"launch {number}{how}; {rest} of {format_duration(plan.budget)} left",
        style="dim",
        markup=False,
        soft_wrap=True,
    )


def _drop_failed(plan: LaunchPlan, done: _Done) -> None:
    """A failed launch is left out, unless there is no other."""
    if len(done.launches) < 2:
        return
    number = len(done.launches)
    done.launches.pop()
    plan.left_out.append(
        f"Launch {number} ended with exit status {done.status}; its times are left out."
    )


def _shares_nodes(profile: ProgramProfile) -> bool:
    """Whether ranks share a node and compute for long enough that this may matter."""
    hosts = [one.header.host for one in profile.ranks]
    wall = sum(one.header.covered for one in profile.ranks)
    computing = sum(one.computing for one in profile.ranks)
    return len(set(hosts)) < len(hosts) and computing >= _COMPUTING * wall


def _keep(order: WhyOrder, plan: LaunchPlan, done: _Done, utc: float, folder: Path) -> None:
    run = WhyRun(
        schema=WHY_SCHEMA,
        assay=VERSION,
        command=list(order.command),
        utc=utc,
        asked=plan.asked,
        budget=plan.budget,
        launches=done.launches,
        left_out=plan.left_out,
    )
    write_atomically(folder / WHY_FILE, pretty_json(run), option="--folder FOLDER")
