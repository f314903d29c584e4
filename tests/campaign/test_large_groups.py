"""Thousands of nodes: what their members leave in the file system."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from rich.console import Console

from assay.campaign.jobs import job as module
from assay.campaign.jobs.job import JobTurn, work
from assay.records.creation import create_requested
from assay.records.directory import RunDirectory
from assay.records.group import describe_members, read_group, unfinished_members
from assay.records.jobs import JobBook, JobEvent
from assay.records.members.packs import pack_member
from assay.records.request import REQUEST_SCHEMA, RunRequest

PLAN = """
schema = 1
title = "A triad"
seed = 5
[replication]
precision = "5%"
budget = "1000 s"
min_launches = 3
max_launches = 3
cell_budget = "20 ms"
[[measure]]
kernel = "memory.stream"
"""
SCENARIO = 'schema = 1\nseed = 3\nlaunch_time = "1 ms"\n[[kernel]]\ntime = 0.001\n'
NODES = 5000
PER_JOB = 1000


def make_large(path: Path, members: int) -> RunDirectory:
    """A group whose members are measured by the fake executor, in arrays of a thousand."""
    plan, scenario = path / "plan.toml", path / "scenario.toml"
    plan.write_text(PLAN)
    scenario.write_text(SCENARIO)
    request = RunRequest(
        schema=REQUEST_SCHEMA,
        run="",
        utc=time.time(),
        assay="0",
        tag="t",
        command=["assay", "run", "--per-node"],
        folder=str(path),
        plan=str(plan),
        texts={str(plan): PLAN},
        seed=5,
        fake=str(scenario),
        report=False,
        members=members,
    )
    run = create_requested(path / "runs", "group", request)
    book = JobBook(run.path)
    for first in range(0, members, PER_JOB):
        tasks = list(range(first, min(first + PER_JOB, members)))
        number = first // PER_JOB + 1
        book.append(JobEvent("submitted", number, time.time(), job=str(number), members=tasks))
    return run


def measure(run: RunDirectory, member: int) -> int:
    turn = JobTurn(member // PER_JOB + 1, task=member % PER_JOB)
    with Path(os.devnull).open("w") as nowhere:
        return work(run.path, turn, Console(file=nowhere))


def files_in(path: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(path))


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here must survive a failure of power."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def test_a_complete_member_of_a_large_group_is_packed(tmp_path, monkeypatch, unsynced) -> None:
    run = make_large(tmp_path, NODES)
    before = files_in(run.path)
    seen = []

    def watched(folder: Path, *more: Path) -> bool:
        seen.append(files_in(run.path))
        return pack_member(folder, *more)

    monkeypatch.setattr(module, "pack_member", watched)
    for member in (0, 64, 4999):
        assert measure(run, member) == 0
    # The lock of the ends and the ends of two jobs; two packs.
    assert files_in(run.path) - before == 3 + 2
    assert max(seen) - before <= 3 + 2 + 12  # and the files of a member at work
    found = read_group(run.path)
    for member in (0, 64, 4999):
        data = found.members[member].run
        assert data is not None and data.complete and len(data.measurements) == 3
        assert found.members[member].host == f"fake{member}"
    assert describe_members(run.path, NODES) == {"complete": 3, "missing": NODES - 3}
    assert len(unfinished_members(run.path, NODES)) == NODES - 3


def test_a_member_that_is_not_complete_or_of_a_small_group_is_a_folder(
    tmp_path, monkeypatch, unsynced
) -> None:
    (tmp_path / "small").mkdir()
    small = make_large(tmp_path / "small", 3)
    assert measure(small, 1) == 0 and (small.member(1).path / "seal.json").exists()
    (tmp_path / "large").mkdir()
    large = make_large(tmp_path / "large", NODES)
    failing = SCENARIO + '[[failure]]\nkind = "killed"\n'
    (tmp_path / "large" / "scenario.toml").write_text(failing)
    assert measure(large, 7) == 1
    assert JobBook(large.path).end(1, 7).how == "incomplete"
    assert large.member(7).begun and not large.member(7).complete
    assert not (large.path / "members" / "packs").exists()
    # The next job completes it.
    (tmp_path / "large" / "scenario.toml").write_text(SCENARIO)
    assert measure(large, 7) == 0 and large.member(7).complete
    assert not large.member(7).path.exists()


@pytest.mark.long
def test_hundreds_of_nodes_leave_few_files(tmp_path, unsynced) -> None:
    """Ten members per pack: a few by the fake executor; the others' folders hold less."""
    nodes = 640
    run = make_large(tmp_path, nodes)
    book = JobBook(run.path)
    peak = 0
    for number in range(nodes):
        if number % 200 == 0:
            assert measure(run, number) == 0
            continue
        folder = run.member(number).path
        folder.mkdir()
        for name in ("manifest.json", "launches.jsonl", "seal.json"):
            (folder / name).write_bytes(b"{}")
        output = book.output_path(1, number)
        output.write_bytes(b"")
        if number % 100 == 99:
            peak = max(peak, files_in(run.path))
        assert pack_member(folder, output)
    assert peak < 80 and files_in(run.path) < 75  # 64 packs
    assert describe_members(run.path, nodes) == {"complete": nodes}
    assert unfinished_members(run.path, nodes) == [] and run.complete
