"""Submission of a run's jobs: the resources of each, and which of them still exist."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.campaign.engine.sessions import begin_time
from assay.config import Config, SchedulerConfig
from assay.errors import AssayError
from assay.records.directory import RunDirectory
from assay.records.jobs import JobBook, JobEvent, JobHistory
from assay.records.request import RunRequest
from assay.schedulers.model import BatchScheduler, JobRequest, JobStatus, SchedulerSilent

# Environment variables of the user that the job needs too; not all schedulers pass them on.
HANDED_ON = ("ASSAY_CACHE", "PYTHONPATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")


def scheduler_of(config: SchedulerConfig | None) -> BatchScheduler:
    """The scheduler to submit to. Raises AssayError if there is none."""
    from assay.schedulers import find, titles

    found = find.scheduler_for(Config(scheduler=config))
    if found is None:
        raise AssayError(
            f"There is no batch scheduler here: none of the commands of {titles()} is on PATH.",
            fix="Load the scheduler's module, or measure this machine with --here.",
        )
    return found


def assay_words() -> tuple[str, ...]:
    """The command that starts this assay on another node."""
    return (sys.executable, "-m", "assay")


def environment() -> dict[str, str]:
    """The part of this process's environment that jobs get."""
    return {name: os.environ[name] for name in HANDED_ON if name in os.environ}


def job_request(
    run: Path,
    request: RunRequest,
    number: int,
    members: Sequence[int] | None = None,
    *,
    begin: float | None = None,
) -> JobRequest:
    """One job of a run. ``members``: those of a group that its tasks measure. ``begin``: Unix time
    at which it may begin, None: immediately.
    """
    assert request.job is not None
    assert request.scheduler is not None
    path = run.absolute()
    walltime = min(request.job.seconds, request.job.longest or float("inf"))
    words = (*assay_words(), "job", str(path), "--number", str(number))
    return JobRequest(
        name=f"assay-{request.tag}-{number}",
        command=(*words, "--walltime", f"{walltime:g}"),
        directory=Path(request.folder),
        nodes=request.job.nodes,
        walltime=walltime,
        output=path / "jobs" / f"{number:04d}.out",
        tasks=len(members) if members is not None else 1,
        options=request.scheduler,
        environment=environment(),
        begin=begin,
    )


def submit(
    run: RunDirectory,
    request: RunRequest,
    scheduler: BatchScheduler,
    members: Sequence[int] | None = None,
    *,
    after: int | None = None,
) -> JobHistory:
    """Submit the next job of a run, unless one is queued or running already. If the run's next
    session is not due yet, the job begins when it is.

    ``after``: number of the job that this one continues, known to have ended; if another process
    has submitted a later job, that one is returned. Raises AssayError.
    """
    book = JobBook(run.path)
    with book.submitting():
        known = book.jobs()
        if after is not None and known and known[-1].number > after:
            return known[-1]
        alive = living(book, scheduler, ignore=after)
        if alive:
            raise AssayError(
                f"Job {alive[0].job} already works on this run.",
                where=str(run.path),
                fix=f"`assay runs --follow {run.name}` follows it.",
            )
        number = known[-1].number + 1 if known else 1
        begin = begin_time(run, time.time()) if members is None else None
        order = job_request(run.path, request, number, members, begin=begin)
        event = JobEvent(
            "submitted",
            number,
            time.time(),
            name=order.name,
            nodes=order.nodes,
            walltime=order.walltime,
            members=list(members) if members is not None else None,
            begin=begin,
        )
        try:
            job = scheduler.submit(order, book.folder)
        except SchedulerSilent as silent:
            # Whether the job was accepted is unknown; if it runs, it records its number.
            book.append(msgspec.structs.replace(event, reason=silent.what))
            raise
        try:
            book.append(msgspec.structs.replace(event, job=job))
        except AssayError:
            scheduler.cancel([job])  # it would be recorded nowhere
            raise
    return book.job(number)


def living(book: JobBook, scheduler: BatchScheduler, ignore: int | None = None) -> list[JobHistory]:
    """The run's jobs that are queued or running. Raises AssayError, SchedulerSilent.

    Records the end of jobs that have ended since.
    """
    open_ = [s for s in book.jobs() if not s.ended and s.job and s.number != ignore]
    known = scheduler.status([story.job for story in open_]) if open_ else {}
    alive = []
    for story in open_:
        status = known.get(story.job, JobStatus("unknown"))
        if status.state in ("queued", "running"):
            alive.append(story)
        else:
            book.ended(story.number, status.state, status.reason)
    return alive
