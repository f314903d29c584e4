"""``--per-node``: all nodes measure themselves concurrently; the report compares them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.campaign.commands.finish import FailOn, check_expectations, exit_status, show
from assay.campaign.jobs.endings import Ending
from assay.campaign.jobs.member_set import MemberSet, assign
from assay.campaign.jobs.run_watch import GroupWatch
from assay.config import ClusterConfig
from assay.records.access.trust import check_trusted_run
from assay.records.directory import RunDirectory
from assay.records.group import GroupData, read_group, unfinished_members
from assay.records.jobs import JobBook, JobEvent
from assay.records.request import RunRequest

if TYPE_CHECKING:
    from rich.console import Console

    from assay.campaign.jobs.submission import WhenEnded
    from assay.stats.core.model import CellSummary

# Seconds between checks of the members.
LOOK = 0.5


def measure_members(
    run: RunDirectory, request: RunRequest, cluster: ClusterConfig, console: Console
) -> Ending:
    """Let the cluster's hosts measure the members that the group still lacks.

    Raises AssayError if that can't be started.
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
                watch.look(f"{member_set.at_work()} nodes at work")
                time.sleep(LOOK)
        except KeyboardInterrupt:
            ending = Ending("stopped")
            console.print("Ending; Ctrl-C again leaves immediately.", style="dim")
        finally:
            member_set.end()
    book.ended(number, ending.how if ending else "ended")
    if ending is not None:
        return ending
    left = unfinished_members(run.path, request.members)
    return Ending("ended" if left else "complete", member_set.complaints())


def measure_fake_members(run: RunDirectory, request: RunRequest, console: Console) -> Ending:
    """Measure the members that the group still lacks on the nodes of its scenario, one by one.

    Their times are simulated, so that they need no processes and no hosts.
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


def present_group(path: Path, after: WhenEnded) -> int:
    """Write a group's report, print its summary or the JSON report; returns the exit status."""
    from assay.report.nodes.build import build_group
    from assay.subjects.nodes.findings import find

    group = read_group(path)
    found = find(group)
    show(build_group(group, found), path, report=after.report, as_json=after.as_json)
    fail_on = after.fail_on
    nodes = [(node.name, node.cells) for node in found.measurements]
    if check_expectations(after.expected, path.name, nodes, fail_on):
        return 1
    if fail_on == "nodes" and (found.suspects or found.slow_groups):
        return 1
    return _status(group, [node.cells for node in found.measurements], fail_on)


def _status(group: GroupData, nodes: Sequence[Sequence[CellSummary]], fail_on: FailOn) -> int:
    if fail_on == "never":
        return 0
    if any(member.state != "complete" for member in group.members):
        return 1
    return max((exit_status(cells, fail_on) for cells in nodes), default=0)
