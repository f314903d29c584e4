"""``assay run`` through a batch scheduler: plan and submit here, measure in jobs, follow them."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from assay.campaign.budget.announcement import first_launches
from assay.campaign.jobs.batch import GroupRefused, job_request, scheduler_of, submit, submit_group
from assay.campaign.jobs.follow import beginning
from assay.campaign.jobs.group_jobs import GroupJob, described, group_jobs
from assay.campaign.machine.bench import machine_for
from assay.campaign.machine.building import needed_kernels
from assay.campaign.machine.expected_builds import ExpectedBuilds, expected_builds
from assay.campaign.requests.job_estimate import JobEstimate, estimate
from assay.campaign.requests.run_request import plan_elsewhere, run_request
from assay.config import Config, SchedulerConfig
from assay.errors import AssayError
from assay.records.access.trust import check_trusted_run
from assay.records.creation import create_requested, run_stem
from assay.records.directory import RunDirectory
from assay.records.group import unfinished_members
from assay.records.jobs import JobBook
from assay.records.request import JobShape, RunOptions, RunRequest
from assay.schedulers.model import BatchScheduler, JobRequest
from assay.units import counted, format_duration, parse_walltime

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class JobOptions:
    """Job options of the command line, which override ``[scheduler]``."""

    partition: str | None = None
    account: str | None = None
    walltime: str | None = None

    @property
    def given(self) -> dict[str, str | None]:
        """The options as they are written on the command line."""
        return {
            "--partition": self.partition,
            "--account": self.account,
            "--walltime": self.walltime,
        }

    def applied(self, config: SchedulerConfig | None) -> SchedulerConfig:
        """The scheduler's section with these options applied."""
        found = (config or SchedulerConfig()).of_partition(self.partition)
        if self.account is not None:
            found = msgspec.structs.replace(found, account=self.account)
        return found

    @property
    def seconds(self) -> float | None:
        """The requested walltime, None without the option.

        Raises AssayError if it is not a time.
        """
        if self.walltime is None:
            return None
        return parse_walltime(self.walltime, where="--walltime")


@dataclass(frozen=True)
class Submission:
    """A run that is ready to be submitted, and the estimate of its jobs."""

    request: RunRequest
    estimate: JobEstimate
    stem: str
    root: Path
    #: Sentences on what the user may want to do before the submission.
    notes: tuple[str, ...] = ()
    #: Jobs of a group.
    group: tuple[GroupJob, ...] = ()

    @property
    def sentence(self) -> str:
        """A sentence on the resources that will be requested from the scheduler."""
        found, request = self.estimate, self.request
        nodes = counted(found.nodes, "node")
        each = f"{nodes} for {format_duration(found.walltime)}"
        if request.members is not None:
            return described(self.group, format_duration(found.walltime))
        sessions = ""
        if found.sessions > 1:
            every = format_duration(found.every)
            sessions = f"{found.sessions} sessions, one every {every}, and for each of them: "
        if found.jobs == 1:
            return f"{sessions}One job of {each}."
        return (
            f"{sessions}About {found.jobs} jobs of {each}, one after the other, since the "
            f"estimate of {format_duration(found.seconds)} exceeds the limit of one job."
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
    hosts: list[str] | None = None,
    away: bool = True,
) -> Submission:
    """Plan as far as possible on this node, and estimate the jobs.

    ``members``: members of a group; ``hosts``: their nodes. ``away``: whether jobs will measure.
    Raises AssayError.
    """
    machine = machine_for(dataclasses.replace(config, cluster=None), fake)
    if members is not None:  # each node measures only itself
        options = msgspec.structs.replace(options, nodes="1")
    plan, texts = plan_elsewhere(options, machine.context, config)
    scheduler = site.applied(config.scheduler)
    longest = site.seconds or scheduler.longest
    if members is not None and plan.replication.repeated:
        raise AssayError(
            "--per-node compares nodes with each other, so each node measures only once.",
            where="--per-node",
            fix="Leave --every, --sessions and --duration out, or start a run for each session.",
        )
    builds = ExpectedBuilds(0.0)
    if fake is None:
        builds = expected_builds(needed_kernels(plan), config, scheduler, root)
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
        hosts=hosts,
    )
    group: list[GroupJob] = []
    if members is not None and away:
        group = group_jobs(request, scheduler_of(scheduler), range(members))
    first = first_launches(plan)
    notes = (*builds.notes, *((first.sentence,) if first.exceeds else ()))
    stem = run_stem(request.utc, config.system.name or machine.name, plan.name)
    return Submission(
        request=request, estimate=found, stem=stem, root=root, notes=notes, group=tuple(group)
    )


def scripts(order: Submission) -> list[tuple[JobRequest, str]]:
    """Every expected job, with its exact script. Nothing is written."""
    scheduler = scheduler_of(order.request.scheduler)
    request, found = order.request, order.estimate
    path = order.root / order.stem
    jobs = [job_request(path, request, n, group) for n, group in enumerate(order.group, 1)]
    for number in range(0 if order.group else found.jobs * found.sessions):
        session, place = divmod(number, found.jobs)
        # The first job of a session waits for its start time; the others follow one another.
        begin = request.utc + session * found.every if session and not place else None
        jobs.append(job_request(path, request, number + 1, begin=begin))
    return [(job, scheduler.script(job)) for job in jobs]


def submit_run(order: Submission, console: Console) -> RunDirectory:
    """Create the run's directory and submit its first job. Raises AssayError."""
    scheduler = scheduler_of(order.request.scheduler)
    for note in order.notes:
        _say(console, note)
    check_trusted_run(order.root / order.stem)
    run = create_requested(order.root, order.stem, order.request)
    request = run.request()
    assert request is not None
    try:
        words = _submitted(run, request, scheduler, order.group)
    except AssayError:
        if not JobBook(run.path).jobs():
            _forget(run)
        raise
    _say(console, f"{order.sentence} {words}: {run.path}")
    return run


def resume_submitted(run: RunDirectory, request: RunRequest, console: Console) -> None:
    """Submit jobs for the measurements that a run or group still lacks. Raises AssayError."""
    scheduler = scheduler_of(request.scheduler)
    group: list[GroupJob] = []
    if request.members is not None:
        group = group_jobs(request, scheduler, unfinished_members(run.path, request.members))
    _say(console, f"{_submitted(run, request, scheduler, group)}: {run.path}")


def _submitted(
    run: RunDirectory, request: RunRequest, scheduler: BatchScheduler, group: Sequence[GroupJob]
) -> str:
    """Submit the next job of a run, or the jobs of a group.

    Returns "Submitted as job 7". If the scheduler refuses some jobs of a group, the accepted jobs
    remain, and the text says so. Raises AssayError.
    """
    if request.members is None:
        story = submit(run, request, scheduler)
        return f"Submitted as job {story.job}{beginning(story)}"
    refused = ""
    try:
        submit_group(run, request, scheduler, group)
    except GroupRefused as error:
        refused = f"{error} "
    jobs = [story.job for story in JobBook(run.path).jobs() if story.job and not story.ended]
    if len(jobs) == 1:
        return f"{refused}Submitted as job {jobs[0]}"
    return f"{refused}Submitted as jobs {jobs[0]} to {jobs[-1]}"


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
        raise AssayError("--submit and --here exclude each other.", fix="Leave out one of them.")
    if submit or here:
        return "away" if submit else "here"
    if find_allocation(os.environ) is not None:
        return "here"
    if resumed is not None:
        return "away" if resumed.scheduler is not None else "here"
    return "away" if config.scheduler is not None else "here"
