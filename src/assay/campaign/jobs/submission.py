"""``assay run`` through a batch scheduler: plan and submit here, measure in jobs, follow them."""

from __future__ import annotations

import dataclasses
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from assay.campaign.commands.finish import FailOn, exit_status, present
from assay.campaign.commands.run_request import (
    JobEstimate,
    built_toolchains,
    estimate,
    plan_elsewhere,
    run_request,
)
from assay.campaign.jobs.batch import job_request, scheduler_of, submit
from assay.campaign.jobs.follow import Ending, Follower, beginning, watching
from assay.campaign.machine.bench import machine_for
from assay.campaign.machine.expected_builds import ExpectedBuilds, expected_builds
from assay.config import Config, SchedulerConfig
from assay.errors import INTERRUPTED, AssayError
from assay.records.creation import create_requested, run_stem
from assay.records.directory import RunDirectory
from assay.records.group import unfinished_members
from assay.records.jobs import JobBook
from assay.records.reading import read_run
from assay.records.request import JobShape, RunOptions, RunRequest
from assay.schedulers.model import JobRequest
from assay.units import counted, format_duration, parse_walltime

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class JobOptions:
    """Job options of the command line; they override ``[scheduler]``."""

    partition: str | None = None
    account: str | None = None
    walltime: str | None = None

    def applied(self, config: SchedulerConfig | None) -> SchedulerConfig:
        """The scheduler's section with these options applied."""
        changes = {"partition": self.partition, "account": self.account}
        given = {name: value for name, value in changes.items() if value is not None}
        return msgspec.structs.replace(config or SchedulerConfig(), **given)

    @property
    def seconds(self) -> float | None:
        """The requested walltime, None if not given. Raises AssayError if it is not a time."""
        if self.walltime is None:
            return None
        return parse_walltime(self.walltime, where="--walltime")


@dataclass(frozen=True)
class WhenEnded:
    """What to do when the run has ended."""

    report: bool = True
    as_json: bool = False
    fail_on: FailOn = "failure"
    verbose: bool = False


@dataclass(frozen=True)
class Submission:
    """A run that is ready to be submitted, and the estimate of its jobs.

    ``notes``: sentences on what the user may want to do before.
    """

    request: RunRequest
    estimate: JobEstimate
    stem: str
    root: Path
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """A sentence on what will be requested from the scheduler."""
        found, request = self.estimate, self.request
        nodes = counted(found.nodes, "node")
        each = f"{nodes} for {format_duration(found.walltime)}"
        if request.members is not None:
            return f"{request.members} jobs of {each}, in one array."
        sessions = ""
        if found.sessions > 1:
            every = format_duration(found.every)
            sessions = f"{found.sessions} sessions, one every {every}, and for each of them: "
        if found.jobs == 1:
            return f"{sessions}One job of {each}."
        return (
            f"{sessions}About {found.jobs} jobs of {each}, one after the other: the estimate of "
            f"{format_duration(found.seconds)} is more than one job may request."
        )


def ready(
    options: RunOptions,
    config: Config,
    site: JobOptions,
    root: Path,
    *,
    command: list[str],
    fake: Path | None,
    report: bool,
    members: int | None = None,
) -> Submission:
    """Plan as far as is possible from here, and estimate the jobs. Raises AssayError."""
    machine = machine_for(dataclasses.replace(config, cluster=None), fake)
    if members is not None:  # each node measures itself alone
        options = msgspec.structs.replace(options, nodes="1")
    plan, texts = plan_elsewhere(options, machine.context, config)
    scheduler = site.applied(config.scheduler)
    longest = site.seconds or scheduler.longest
    if members is not None and plan.replication.repeated:
        raise AssayError(
            "Nodes that measure themselves are compared with each other, so they measure once.",
            where="--per-node",
            fix="Leave --every, --sessions and --duration out, or begin a run for each session.",
        )
    builds = ExpectedBuilds(0.0)
    if fake is None:
        builds = expected_builds(built_toolchains(plan), config, scheduler, root)
    found = estimate(plan, compiling=builds.seconds, longest=longest)
    if site.seconds is not None:
        found = dataclasses.replace(found, walltime=site.seconds)
    shape = JobShape(
        nodes=found.nodes,
        seconds=found.walltime,
        longest=longest if longest < math.inf else None,
    )
    request = run_request(
        options,
        texts,
        command=command,
        seed=plan.seed,
        config=config,
        fake=fake,
        report=report,
        job=shape,
        scheduler=scheduler,
        members=members,
    )
    stem = run_stem(request.utc, config.system.name or machine.name, plan.name)
    return Submission(request, found, stem, root, builds.notes)


def scripts(order: Submission) -> list[tuple[JobRequest, str]]:
    """Every job that is expected, with its exact script. Nothing is written."""
    scheduler = scheduler_of(order.request.scheduler)
    request, found = order.request, order.estimate
    members = range(request.members) if request.members is not None else None
    path = order.root / order.stem
    jobs = []
    for number in range(1 if members is not None else found.jobs * found.sessions):
        session, place = divmod(number, found.jobs)
        # The first job of a session waits for its time; the others follow one another.
        begin = request.utc + session * found.every if session and not place else None
        jobs.append(job_request(path, request, number + 1, members, begin=begin))
    return [(job, scheduler.script(job)) for job in jobs]


def submit_run(order: Submission, console: Console) -> RunDirectory:
    """Create the run's directory and submit its first job. Raises AssayError."""
    scheduler = scheduler_of(order.request.scheduler)
    for note in order.notes:
        _say(console, note)
    run = create_requested(order.root, order.stem, order.request)
    request = run.request()
    assert request is not None
    members = range(request.members) if request.members is not None else None
    try:
        story = submit(run, request, scheduler, members)
    except AssayError:
        if not JobBook(run.path).jobs():
            _forget(run)
        raise
    _say(console, f"{order.sentence} Submitted as job {story.job}: {run.path}")
    return run


def resume_submitted(run: RunDirectory, request: RunRequest, console: Console) -> None:
    """Submit a job for the measurements that a run or group still lacks. Raises AssayError."""
    members = None
    if request.members is not None:
        members = unfinished_members(run.path, request.members)
    scheduler = scheduler_of(request.scheduler)
    story = submit(run, request, scheduler, members)
    _say(console, f"Submitted as job {story.job}{beginning(story)}: {run.path}")


def follow_run(run: RunDirectory, request: RunRequest, console: Console, after: WhenEnded) -> int:
    """Follow a submitted run to its end and present it; returns the exit status.

    Raises AssayError.
    """
    jobs = JobBook(run.path).jobs()
    if not jobs or request.scheduler is None:
        raise AssayError(
            "No job was submitted for this run.",
            where=str(run.path),
            fix=f"`assay run --resume {run.name}` goes on with it.",
        )
    scheduler = scheduler_of(request.scheduler)
    with watching(run, request, console) as watch:
        follower = Follower(run, request, scheduler, console, watch)
        ending = follower.follow(jobs[-1].number)
    return conclude(run, request, ending, console, after)


def conclude(
    run: RunDirectory, request: RunRequest, ending: Ending, console: Console, after: WhenEnded
) -> int:
    """Report the outcome of a run that was followed; returns the exit status.

    Raises AssayError.
    """
    if ending.how == "left":
        _say(console, ending.sentence)
        return INTERRUPTED
    if request.members is not None:
        return _conclude_group(run, ending, console, after)
    if ending.how == "complete":
        cells = present(
            read_run(run.path),
            report=after.report,
            as_json=after.as_json,
            verbose=after.verbose,
        )
        return exit_status(cells, after.fail_on)
    if ending.sentence:
        _say(console, ending.sentence)
    stored = _stored_text(run)
    _say(console, f"{stored}\nGo on with: assay run --resume {run.name}")
    if ending.how == "stopped":
        return INTERRUPTED
    if ending.problem is not None:
        raise ending.problem
    return 1


def _conclude_group(run: RunDirectory, ending: Ending, console: Console, after: WhenEnded) -> int:
    from assay.campaign.commands.per_node import present_group

    if ending.sentence:
        _say(console, ending.sentence)
    status = present_group(run.path, after.report, after.as_json, after.fail_on)
    if ending.how != "complete":
        _say(console, f"Go on with: assay run --resume {run.name}")
        return INTERRUPTED if ending.how == "stopped" else 1
    return status


def _stored_text(run: RunDirectory) -> str:
    """A text on the results of an unfinished run, and the cells it lacks."""
    from assay.campaign.engine.display import describe_cell
    from assay.campaign.jobs.job import missing_cells

    if not run.begun:
        return f"Nothing was measured yet: {run.path}"
    data = read_run(run.path)
    cells = {cell.id: cell for cell in data.manifest.plan.cells}
    missing = [describe_cell(cells[id_]) for id_ in missing_cells(data)]
    words = f"{len(data.measurements)} measurements are kept in {run.path}"
    if not missing:
        return f"{words}; each cell has some, fewer than it needs."
    named = "; ".join(missing[:10]) + ("; …" if len(missing) > 10 else "")
    return f"{words}. {len(missing)} of {len(cells)} cells have no number: {named}"


def _forget(run: RunDirectory) -> None:
    """Remove the directory of a run whose first job was refused."""
    import shutil

    shutil.rmtree(run.path, ignore_errors=True)


def _say(console: Console, sentence: str) -> None:
    console.print(sentence, soft_wrap=True, markup=False)


def where(
    config: Config, *, submit: bool, here: bool, resumed: RunRequest | None = None
) -> Literal["here", "away"]:
    """Whether to measure in this process or in jobs. Raises AssayError if both are requested."""
    from assay.launch.allocation import find_allocation

    if submit and here:
        raise AssayError("--submit and --here exclude each other.", fix="Leave one out.")
    if submit or here:
        return "away" if submit else "here"
    if find_allocation(os.environ) is not None:
        return "here"
    if resumed is not None:
        return "away" if resumed.scheduler is not None else "here"
    return "away" if config.scheduler is not None else "here"
