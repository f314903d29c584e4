"""The jobs of a group: arrays within the limit, one for all, one per named node."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.campaign.jobs.group_jobs import group_jobs, usable_nodes
from assay.config import SchedulerConfig
from assay.errors import AssayError
from assay.records.jobs import JobBook
from assay.schedulers.model import SchedulerNode
from jobs_bench import Bench, wait_for


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    yield from Bench(tmp_path).used()


def scheduler(limit: int | None = None, nodes: list[SchedulerNode] | None = None) -> Any:
    return SimpleNamespace(array_limit=lambda: limit, nodes=lambda partition: nodes)


def request(hosts: list[str] | None = None, *, arrays: bool = True) -> Any:
    return SimpleNamespace(hosts=hosts, scheduler=SchedulerConfig(arrays=arrays))


@given(
    members=st.lists(st.integers(0, 10_000), min_size=1, max_size=200, unique=True),
    limit=st.none() | st.integers(0, 50),
    arrays=st.booleans(),
)
def test_each_member_is_in_one_job_within_the_limit(
    members: list[int], limit: int | None, arrays: bool
) -> None:
    jobs = group_jobs(request(arrays=arrays), scheduler(limit), members)
    assert [member for job in jobs for member in job.members] == members
    no_arrays = not arrays or (limit is not None and limit <= 1)
    if no_arrays:
        assert len(jobs) == 1
        assert jobs[0].together == (len(members) > 1)
    else:
        assert not any(job.together for job in jobs)
        assert len(jobs) == -(-len(members) // (limit or len(members)))
        assert all(len(job.members) <= (limit or len(members)) for job in jobs)


def test_named_nodes_have_a_job_each_or_one_for_all() -> None:
    named = ["n1", "n2", "n3"]
    each = group_jobs(request(named), scheduler(1000), [0, 2])
    assert [(job.members, job.hosts) for job in each] == [((0,), ("n1",)), ((2,), ("n3",))]
    (one,) = group_jobs(request(named, arrays=False), scheduler(1000), [0, 2])
    assert (one.members, one.hosts, one.together) == ((0, 2), ("n1", "n3"), True)


def test_nodes_that_cannot_run_jobs_are_named() -> None:
    nodes = [
        SchedulerNode("n1", "idle", True),
        SchedulerNode("n2", "drained", False, "bad DIMM"),
        SchedulerNode("n3", "allocated", True),
        SchedulerNode("n4", "down", False),
    ]
    usable, sentence = usable_nodes(scheduler(nodes=nodes), None)
    assert usable == ["n1", "n3"]
    assert sentence == "Left out: n2 (drained: bad DIMM) and n4 (down)."
    with pytest.raises(AssayError, match="No node of the partition big can run jobs"):
        usable_nodes(scheduler(nodes=nodes[1:2]), "big")
    with pytest.raises(AssayError, match="only with Slurm"):
        usable_nodes(scheduler(), None)


@pytest.mark.long
def test_an_array_above_the_limit_is_split_and_all_parts_are_followed(bench: Bench) -> None:
    bench.scheduler.set(array_limit=2)
    shown = bench.run("--per-node", "--nodes", "3", "--dry-run")
    assert shown.returncode == 0, shown.stderr
    done = bench.run("--per-node", "--nodes", "3")
    assert done.returncode == 0, done.stderr
    assert "3 jobs of 1 node for" in done.stderr
    assert "in 2 arrays." in done.stderr
    assert "Submitted as jobs 100 to 101" in done.stderr
    group = bench.only_run()
    assert [story.members for story in JobBook(group.path).jobs()] == [[0, 1], [2]]
    assert [len(bench.scheduler.order(job)["outputs"]) for job in bench.scheduler.jobs()] == [2, 1]
    assert all(group.member(n).complete for n in range(3))


@pytest.mark.long
def test_each_node_of_a_partition_is_measured_once(bench: Bench) -> None:
    nodes = [["n1", "idle", True, ""], ["n2", "drained", False, "fan"], ["n3", "mixed", True, ""]]
    bench.scheduler.set(nodes=nodes)
    done = bench.run("--per-node", "--nodes", "all")
    assert done.returncode == 0, done.stderr
    assert "Left out: n2 (drained: fan)." in done.stderr
    assert "2 jobs, one for each named node:" in done.stderr
    jobs = bench.scheduler.jobs()
    assert [bench.scheduler.order(job)["hosts"] for job in jobs] == [["n1"], ["n3"]]
    stored = bench.only_run().request()
    assert stored is not None and stored.hosts == ["n1", "n3"]


@pytest.mark.long
def test_jobs_that_the_site_refuses_are_submitted_by_resume(bench: Bench) -> None:
    bench.scheduler.set(array_limit=2, most=1)
    done = bench.run("--per-node", "--nodes", "3")
    assert done.returncode == 1
    assert "1 of 2 jobs were submitted. Job violates accounting/QOS policy." in done.stderr
    assert [bench.only_run().member(n).complete for n in range(3)] == [True, True, False]
    bench.scheduler.set(most=None)
    done = bench.run("--resume")
    assert done.returncode == 0, done.stderr
    assert bench.only_run().member(2).complete


@pytest.mark.long
def test_ctrl_c_ends_all_jobs_of_a_group(bench: Bench) -> None:
    bench.scenario(delay="50 ms")
    bench.scheduler.set(array_limit=2)
    process = bench.start("--per-node", "--nodes", "3")
    wait_for(lambda: len({p.parent for p in bench.runs.glob("*/members/*/raw/*.jsonl")}) == 3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Ending 2 jobs" in said
    states = bench.scheduler.status(bench.scheduler.jobs()).values()
    assert {status.state for status in states} == {"cancelled"}
