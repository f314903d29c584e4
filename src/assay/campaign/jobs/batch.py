"""Submits a run's jobs: determines their resources, and which jobs still exist."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.campaign.engine.sessions import begin_time
from assay.campaign.jobs.group_jobs import GroupJob
from assay.config import Config, SchedulerConfig
from assay.config.profiles import SITE
from assay.errors import AssayError
from assay.launch.isolated import python_words
from assay.ownership import TRUSTED_GROUPS
from assay.records.access.trust import check_trusted_run
from assay.records.directory import RunDirectory
from assay.records.jobs import JobBook, JobEvent, JobHistory
from assay.records.request import RunRequest
from assay.schedulers.model import BatchScheduler, JobRequest, JobStatus, SchedulerSilent

# The user's environment variables that the job also needs; not all schedulers pass them on.
HANDED_ON = (
    *("ASSAY_CACHE", "ASSAY_SHARED_CACHE", SITE, TRUSTED_GROUPS, "PYTHONPATH"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME"),
)


def scheduler_of(config: SchedulerConfig | None) -> BatchScheduler:
    """The scheduler to submit to. Raises AssayError if there is none."""
    from assay.schedulers import find, titles

    found = find.scheduler_for(Config(scheduler=config))
    if found is None:
        raise AssayError(
            f"No batch scheduler was found: none of the commands of {titles()} is on PATH.",
            fix="Load the scheduler's module, or measure this machine with --here.",
        )
    return found


def assay_words() -> tuple[str, ...]:
    """The command that starts this assay on another node."""
    return python_words("assay")


def environment() -> dict[str, str]:
    """The part of this process's environment that jobs get."""
    return {name: os.environ[name] for name in HANDED_ON if name in os.environ}


def job_request(
    run: Path,
    request: RunRequest,
    number: int,
    group: GroupJob | None = None,
    *,
    begin: float | None = None,
) -> JobRequest:
    """One job of a run. ``group``: the part of a group that it measures. ``begin``: earliest start,
    Unix time; None for immediately.
    """
    assert request.job is not None
    assert request.scheduler is not None
    path = run.absolute()
    walltime = min(request.job.seconds, request.job.longest or float("inf"))
    words = [*assay_words(), "job", str(path), "--number", str(number)]
    together = group is not None and group.together
    if together:
        words.append("--together")
    members = len(group.members) if group is not None else 1
    return JobRequest(
        name=f"assay-{request.tag}-{number}",
        command=(*words, "--walltime", f"{walltime:g}"),
        directory=Path(request.folder),
        nodes=members if together else request.job.nodes,
        walltime=walltime,
        output=path / "jobs" / f"{number:04d}.out",
        tasks=1 if together else members,
        options=request.scheduler,
        environment=environment(),
        begin=begin,
        hosts=group.hosts if group is not None else (),
    )


def submit(
    run: RunDirectory,
    request: RunRequest,
    scheduler: BatchScheduler,
    *,
    after: int | None = None,
) -> JobHistory:
    """Submit the next job of a run, unless a job is already queued or running.

    If the run's next session is not due yet, the job begins when it is due. ``after``: number of
    the job that this one continues and that has ended. If another process has submitted a later
    job, the later job is returned. Raises AssayError.
    """
    check_trusted_run(run.path)
    book = JobBook(run.path)
    with book.submitting():
        known = book.jobs()
        if after is not None and known and known[-1].number > after:
            return known[-1]
        _check_idle(run, book, scheduler, ignore=after)
        begin = begin_time(run, time.time())
        number = known[-1].number + 1 if known else 1
        _send(book, scheduler, number, job_request(run.path, request, number, begin=begin))
    return book.job(number)


def submit_group(
    run: RunDirectory, request: RunRequest, scheduler: BatchScheduler, jobs: Sequence[GroupJob]
) -> list[int]:
    """Submit jobs of a group, unless a job is already queued or running.

    Returns their numbers. Raises GroupRefused if not all jobs are accepted; accepted jobs remain.
    """
    check_trusted_run(run.path)
    book = JobBook(run.path)
    with book.submitting():
        _check_idle(run, book, scheduler)
        first = max((story.number for story in book.jobs()), default=0) + 1
        for number, group in enumerate(jobs, first):
            order = job_request(run.path, request, number, group)
            try:
                _send(book, scheduler, number, order, members=list(group.members))
            except AssayError as error:
                if number == first:
                    raise
                raise GroupRefused(error, number - first, len(jobs)) from error
    return list(range(first, first + len(jobs)))


class GroupRefused(AssayError):
    """Some jobs of a group were accepted, and the scheduler refused the next one."""

    def __init__(self, error: AssayError, accepted: int, total: int) -> None:
        super().__init__(
            f"{accepted} of {total} jobs were submitted. {error.what}",
            where=error.where,
            fix="`assay run --resume` submits the other jobs after these have ended.",
            detail=error.detail,
        )


def _check_idle(
    run: RunDirectory, book: JobBook, scheduler: BatchScheduler, ignore: int | None = None
) -> None:
    """Raise AssayError if a job of the run is queued or running."""
    alive = living(book, scheduler, ignore=ignore)
    if alive:
        raise AssayError(
            f"Job {alive[0].job} is already measuring this run.",
            where=str(run.path),
            fix=f"`assay runs --follow {run.name}` follows it.",
        )


def _send(
    book: JobBook,
    scheduler: BatchScheduler,
    number: int,
    order: JobRequest,
    members: list[int] | None = None,
) -> None:
    """Submit one job and record it. Raises AssayError."""
    event = JobEvent(
        "submitted",
        number,
        time.time(),
        name=order.name,
        nodes=order.nodes,
        walltime=order.walltime,
        members=members,
        begin=order.begin,
    )
    try:
        job = scheduler.submit(order, book.folder)
    except SchedulerSilent as silent:
        # It is unknown whether the job was accepted. If it runs, it records its number.
        book.append(msgspec.structs.replace(event, reason=silent.what))
        raise
    try:
        book.append(msgspec.structs.replace(event, job=job))
    except AssayError:
        scheduler.cancel([job])  # no file would record it
        raise


def living(book: JobBook, scheduler: BatchScheduler, ignore: int | None = None) -> list[JobHistory]:
    """The run's jobs that are queued or running.

    Records the end of jobs that have ended. Raises AssayError and SchedulerSilent.
    """
    stories = [story for story in book.jobs() if story.job and story.number != ignore]
    open_ = [story for story in stories if not story.ended]
    # The scheduler may have requeued the last job after the job had recorded its end.
    last = stories[-1:] if stories and _may_start_again(stories[-1]) else []
    asked = [story.job for story in (*open_, *last)]
    known = scheduler.status(asked) if asked else {}
    alive = []
    for story in open_:
        status = known.get(story.job, JobStatus("unknown"))
        if status.state in ("queued", "running"):
            alive.append(story)
        else:
            book.ended(story.number, status.state, status.reason)
    for story in last:
        if known.get(story.job, JobStatus("unknown")).state == "queued":
            book.requeued(story.number)
            alive.append(story)
    return alive


def _may_start_again(story: JobHistory) -> bool:
    return story.ended is not None and story.ended.state in ("asked", "warned", "failed")
