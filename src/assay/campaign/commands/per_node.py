"""``--per-node`` without a scheduler: all nodes measure themselves at the same time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from assay.campaign.jobs.endings import Ending
from assay.campaign.jobs.member_set import MemberSet, assign
from assay.campaign.jobs.run_watch import GroupWatch
from assay.config import ClusterConfig
from assay.records.access.trust import check_trusted_run
from assay.records.directory import RunDirectory
from assay.records.group import read_group, unfinished_members
from assay.records.jobs import JobBook, JobEvent
from assay.records.request import RunRequest

if TYPE_CHECKING:
    from rich.console import Console


# Seconds between checks of the members.
LOOK = 0.5


def measure_members(
    run: RunDirectory, request: RunRequest, cluster: ClusterConfig, console: Console
) -> Ending:
    """Let the cluster's hosts measure the missing members of the group.

    Raises AssayError if the measurement can't be started.
    """
    assert request.members is not None
    check_trusted_run(run.path)
    book = JobBook(run.path)
    with book.submitting():
        missing = unfinished_members(run.path, request.members)
        measured = (m.host for m in read_group(run.path).members if m.state == "complete")
        hosts = assign(missing, measured, cluster.hosts)
        number = max((story.number for story in book.jobs()), default=0) + 1
        book.append(JobEvent("submitted", number, time.time(), nodes=1, members=sorted(hosts)))
    with GroupWatch(run.path, request.members, console) as watch:
        member_set = MemberSet(run, number, cluster.remote_shell, list(hosts.values()))
        ending: Ending | None = None
        try:
            while member_set.at_work():
                watch.look(f"{member_set.at_work()} nodes measuring")
                time.sleep(LOOK)
        except KeyboardInterrupt:
            ending = Ending("stopped")
            console.print("Stopping. Press Ctrl-C again to leave immediately.", style="dim")
        finally:
            member_set.end()
    book.ended(number, ending.how if ending else "ended")
    if ending is not None:
        return ending
    left = unfinished_members(run.path, request.members)
    return Ending("ended" if left else "complete", member_set.complaints())


def measure_fake_members(run: RunDirectory, request: RunRequest, console: Console) -> Ending:
    """Measure the missing members of the group on the nodes of its scenario, one by one.

    Their times are simulated, so they need no processes and no hosts.
    """
    from rich.console import Console as Unheard

    from assay.campaign.jobs.job import JobTurn, work

    assert request.members is not None
    book = JobBook(run.path)
    with book.submitting():
        missing = sorted(unfinished_members(run.path, request.members))
        number = max((story.number for story in book.jobs()), default=0) + 1
        book.append(JobEvent("submitted", number, time.time(), nodes=1, members=missing))
    stopped = False
    with GroupWatch(run.path, request.members, console) as watch:
        for task in range(len(missing)):
            watch.look(f"node {task + 1} of {len(missing)}")
            work(run.path, JobTurn(number, task=task), Unheard(quiet=True))
            if (end := book.end(number, task)) is not None and end.how in ("asked", "warned"):
                stopped = True
                break
    book.ended(number, "stopped" if stopped else "ended")
    if stopped:
        return Ending("stopped")
    return Ending("ended" if unfinished_members(run.path, request.members) else "complete")
