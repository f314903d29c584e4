"""Runs one job for several members of a group: each node of its allocation measures one member."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from assay.campaign.engine.execute import stopping_at_sigterm
from assay.campaign.jobs.member_set import MemberSet, assign
from assay.campaign.jobs.node import allocation_here, wait_for
from assay.console import harmless
from assay.errors import AssayError
from assay.records.access.trust import check_trusted_run
from assay.records.directory import RunDirectory
from assay.records.group import read_group
from assay.records.jobs import JobBook, JobEnd
from assay.records.request import RunRequest
from assay.schedulers.script import preparation

# Seconds between checks of the members.
LOOK = 0.5


def work_together(path: Path, number: int, walltime: float | None) -> int:
    """Let each node of this job measure a member.

    Returns the exit status of the command. ``number``: number of the job. ``walltime``: requested
    seconds. When the job is asked to end, its members are also asked, and store their results.
    """
    began = time.time()
    book = JobBook(path)
    with stopping_at_sigterm():
        members: list[int] = []
        try:
            run = RunDirectory(path)
            request = wait_for(run.request, path)
            check_trusted_run(path)
            members = wait_for(lambda: book.job(number).members, path)
            ends = None if walltime is None else began + walltime
            return _measure(run, request, number, members, ends)
        except KeyboardInterrupt:
            return 0
        except AssayError as error:
            print(harmless(f"assay: {error}"), file=sys.stderr)
            for task in range(len(members)):
                book.write_end(_failed(number, error), task)
            return 1


def _measure(
    run: RunDirectory, request: RunRequest, number: int, members: list[int], ends: float | None
) -> int:
    allocation = allocation_here()
    if allocation is None:
        raise AssayError(
            "The nodes of this job can't be determined.",
            where=f"job {number}",
            fix="Start the job through the scheduler.",
        )
    ends = allocation.ends or ends
    if request.hosts is not None:
        hosts = [request.hosts[member] for member in members]
    else:
        measured = (m.host for m in read_group(run.path).members if m.state == "complete")
        hosts = list(assign(members, measured, allocation.hosts).values())
    member_set = MemberSet(
        run,
        number,
        allocation.cluster.remote_shell,
        hosts,
        walltime=None if ends is None else max(ends - time.time(), 1.0),
        preparation=preparation(request.scheduler) if request.scheduler else (),
    )
    try:
        while member_set.at_work():
            time.sleep(LOOK)
    finally:
        member_set.end()
    complaints = member_set.complaints()
    if complaints:
        print(harmless(complaints), file=sys.stderr)
    return 1 if complaints else 0


def _failed(number: int, error: AssayError) -> JobEnd:
    return JobEnd(
        number,
        time.time(),
        "failed",
        error=error.what,
        where=error.where,
        fix=error.fix,
        detail=error.detail,
    )
