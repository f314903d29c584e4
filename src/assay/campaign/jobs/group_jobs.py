"""Chooses the jobs in which the members of a group measure: arrays, one job per named node, or one
job for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import AssayError
from assay.records.request import RunRequest
from assay.schedulers.model import BatchScheduler, SchedulerNode
from assay.units import counted, listed

# Maximum number of nodes whose state is explained in a message.
_MOST_NAMED = 20


@dataclass(frozen=True)
class GroupJob:
    """One job of a group."""

    #: Members that the job measures, each in a task of an array.
    members: tuple[int, ...]
    #: Whether the job is one allocation instead, with a node for each member.
    together: bool = False
    #: Nodes that the job must run on; empty for any nodes.
    hosts: tuple[str, ...] = ()


def group_jobs(
    request: RunRequest, scheduler: BatchScheduler, members: Sequence[int]
) -> list[GroupJob]:
    """The jobs for these members.

    An array that exceeds the scheduler's limit is split. If the scheduler has no arrays, one
    allocation serves all members. Members with named nodes otherwise have one job each, since all
    tasks of an array have the same request. Raises SchedulerSilent.
    """
    assert request.scheduler is not None
    limit = scheduler.array_limit() if request.scheduler.arrays else 1
    hosts = tuple(request.hosts[member] for member in members) if request.hosts else ()
    if len(members) > 1 and limit is not None and limit <= 1:
        return [GroupJob(tuple(members), together=True, hosts=hosts)]
    if hosts:
        return [
            GroupJob((member,), hosts=(host,)) for member, host in zip(members, hosts, strict=True)
        ]
    most = limit or max(len(members), 1)
    parts = (members[first : first + most] for first in range(0, len(members), most))
    return [GroupJob(tuple(part)) for part in parts]


def described(jobs: Sequence[GroupJob], each: str) -> str:
    """A sentence on the jobs of a group. ``each``: the time per node, such as "5 min"."""
    total = sum(len(job.members) for job in jobs)
    if any(job.together for job in jobs):
        return f"One job of {counted(total, 'node')}, each measured separately, for {each}."
    if jobs and jobs[0].hosts:
        return f"{counted(total, 'job')}, one for each named node: {each} each."
    arrays = "one array" if len(jobs) == 1 else f"{len(jobs)} arrays"
    return f"{total} jobs of 1 node for {each}, in {arrays}."


def usable_nodes(scheduler: BatchScheduler, partition: str | None) -> tuple[list[str], str]:
    """All nodes of a partition that can run jobs, and a sentence on the other nodes (empty if there
    are none).

    Raises AssayError if no node can run jobs, or if the scheduler doesn't list its nodes.
    """
    found = scheduler.nodes(partition)
    if found is None:
        raise AssayError(
            "assay knows the nodes of a partition only with Slurm.",
            where="--nodes all",
            fix="Name a number of nodes.",
        )
    usable = [node.name for node in found if node.usable]
    left_out = [node for node in found if not node.usable]
    sentence = _left_out(left_out) if left_out else ""
    if not usable:
        raise AssayError(
            f"No node of the partition {partition or 'by default'} can run jobs.",
            where="--nodes all",
            fix=sentence or "Name another partition.",
        )
    return usable, sentence


def _left_out(nodes: Sequence[SchedulerNode]) -> str:
    words = [
        f"{node.name} ({node.state}{': ' + node.reason if node.reason else ''})"
        for node in nodes[:_MOST_NAMED]
    ]
    if len(nodes) > _MOST_NAMED:
        words.append(f"{len(nodes) - _MOST_NAMED} others")
    return f"Left out: {listed(words)}."
