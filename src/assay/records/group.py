"""A group of runs, one per node: ``members/00012`` in its directory is the run of task 12.

Comparisons of nodes read the group; each member is an ordinary run. Complete members of large
groups are in packs (``members/packs.py``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from assay.errors import AssayError
from assay.records.directory import MEMBERS, SEAL, RunDirectory
from assay.records.jobs import JobBook, JobEnd
from assay.records.members.packs import PackedMember, packed_members, unpacked
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.records.request import RunRequest

MemberState = Literal["complete", "unfinished", "failed", "missing"]


@dataclass(frozen=True)
class Member:
    """One node's run."""

    number: int
    #: ``complete``; ``unfinished``: begun, and can be continued; ``failed``: ``problem`` says why
    #: it didn't begin or can't be read; ``missing``: neither begun nor reported an error. ``run``
    #: is None for the latter two.
    state: MemberState
    #: Its node, None before it began.
    host: str | None = None
    run: RunData | None = None
    problem: str = ""


@dataclass(frozen=True)
class GroupData:
    """A whole group in memory, with its members by number."""

    path: Path
    request: RunRequest
    members: tuple[Member, ...]


def describe_members(group: Path, expected: int) -> dict[str, int]:
    """Number of members in each state, without reading their streams."""
    return dict(Counter(describe_each(group, expected)))


def describe_each(group: Path, expected: int) -> list[MemberState]:
    """The state of each member, without reading their streams."""
    ends, packed = _ends(group), packed_members(group / MEMBERS)
    return [
        "complete" if number in packed else _state(group, number, ends.get(number))
        for number in range(expected)
    ]


def unfinished_members(group: Path, expected: int) -> list[int]:
    """Numbers of the members that aren't complete."""
    packed = packed_members(group / MEMBERS)
    return [n for n in range(expected) if n not in packed and not _is_sealed(group, n)]


def read_group(path: Path) -> GroupData:
    """Read a group with its members' runs. Raises AssayError if it is not a group.

    Members that can't be read are ``failed``, with the reason.
    """
    request = RunDirectory(path).request()
    if request is None or request.members is None:
        raise AssayError(
            "This is not a group of runs.",
            where=str(path),
            fix="Name the folder of a run by 'assay run --per-node'.",
        )
    ends, packed = _ends(path), packed_members(path / MEMBERS)
    return GroupData(
        path=path,
        request=request,
        members=tuple(_read(path, n, ends.get(n), packed.get(n)) for n in range(request.members)),
    )


def _read(group: Path, number: int, end: JobEnd | None, packed: PackedMember | None) -> Member:
    if packed is not None:
        return _read_packed(group, number, packed)
    state = _state(group, number, end)
    problem = end.error or "" if end else ""
    if state in ("failed", "missing"):
        return Member(number, state, problem=problem)
    try:
        run = read_run(RunDirectory(group).member(number).path)
    except AssayError as error:
        return Member(number, "failed", problem=str(error))
    return Member(number, state, host=host_of(run), run=run, problem=problem)


def _read_packed(group: Path, number: int, packed: PackedMember) -> Member:
    try:
        with unpacked(packed) as folder:
            # Its samples are held in memory, because the files exist only temporarily.
            run = read_run(folder, samples=True)
    except AssayError as error:
        return Member(number, "failed", problem=str(error))
    run = replace(run, path=RunDirectory(group).member(number).path)
    return Member(number, "complete", host=host_of(run), run=run)


def host_of(run: RunData) -> str | None:
    """The node of a single-node run: from its ranks, else from its system's hostname."""
    hosts = {rank.host for measurement in run.measurements for rank in measurement.ranks}
    if hosts:
        return ", ".join(sorted(hosts))
    system = run.manifest.system.get("os")
    name = system.get("hostname") if isinstance(system, dict) else None
    return str(name) if name else None


def _state(group: Path, number: int, end: JobEnd | None) -> MemberState:
    if _is_sealed(group, number):
        return "complete"
    if RunDirectory(group).member(number).begun:
        return "unfinished"
    return "failed" if end is not None and end.error else "missing"


def _is_sealed(group: Path, number: int) -> bool:
    """Whether a member that is not in a pack is complete."""
    return (RunDirectory(group).member(number).path / SEAL).exists()


def _ends(group: Path) -> dict[int, JobEnd]:
    """How each member's last job ended, by the members' numbers."""
    book = JobBook(group)
    ends: dict[int, JobEnd] = {}
    for job in book.jobs():
        known = book.task_ends(job.number)
        for task, member in enumerate(job.members):
            # Earlier versions wrote a file per task.
            end = known.get(task) if known else book.end(job.number, task)
            if end is not None:
                ends[member] = end
    return ends
