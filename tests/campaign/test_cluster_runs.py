"""Runs in the jobs of a real Slurm: complete, and with failures during the run."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.lab.slurm import SlurmCluster
from assay.model.sessions import session_of
from assay.records.directory import NODES, list_runs
from assay.records.group import read_group
from assay.records.reading import read_run
from assay.records.sessions import read_sessions
from assay.system.survey import read_nodes
from jobs_bench import Bench, counted, is_whole, measurement_counts
from slurm_lab import reason, running_slurm
from waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(reason is not None, reason=reason or "")]
DRIVER = Path(__file__).parents[1] / "support" / "assay_in_a_hurry.py"


KERNELS = """
schema = 1
[replication]
budget = "2 min"
cell_budget = "20 ms"
min_launches = 2
max_launches = 2
[[measure]]
kernel = "network.pingpong"
nodes = 2
bytes = 1024
[[measure]]
kernel = "memory.stream"
elements = 20000
"""


SESSIONS = """
schema = 1
seed = 1
[replication]
budget = "5 s"
every = "40 s"
cell_budget = "20 ms"
min_launches = 2
max_launches = 2
[[measure]]
kernel = "npb.ep"
class = "S"
ppn = [1, 2]
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    settings = {
        **{"KillWait": "2", "MessageTimeout": "5"},
        **{"PreemptType": "preempt/partition_prio", "PreemptMode": "CANCEL"},
    }
    with running_slurm(4, settings=settings) as cluster:
        yield cluster


@pytest.fixture
def bench(slurm: SlurmCluster, tmp_path: Path) -> Iterator[Bench]:
    slurm.await_idle()
    bench = Bench(tmp_path, DRIVER)
    yield bench
    try:
        wait_for(lambda: queue() == [])  # a job that has ended completes for a while
    finally:
        subprocess.run(["scancel", "--user=root"], timeout=60, check=False)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    bench = Bench(tmp_path_factory.mktemp("undisturbed"), DRIVER)
    done = bench.run("--here")
    assert done.returncode == 0, done.stderr
    return counted(bench.only_run())


def queue() -> list[str]:
    """The ids of the jobs that are queued or running."""
    command = ["squeue", "--noheader", "--format=%i", "--states=PD,R,CG"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


def on_node(bench: Bench) -> str:
    started = bench.book().jobs()[-1].started
    assert started is not None
    assert started.host is not None
    return started.host


def test_a_run_is_submitted_followed_and_presented(
    bench: Bench, slurm: SlurmCluster, undisturbed: dict[str, list[float]]
) -> None:
    done = bench.run("--walltime", "3 min")
    assert done.returncode == 0, done.stderr
    is_whole(bench, undisturbed)
    assert on_node(bench) in {node.name for node in slurm.nodes}
    story = bench.book().job(1)
    record = subprocess.run(
        ["scontrol", "show", "job", story.job], capture_output=True, text=True, timeout=60
    ).stdout
    assert f"JobName={story.name}" in record
    assert "TimeLimit=00:03:00" in record
    assert json.loads(done.stdout)["run"] == bench.only_run().name


def test_kernels_are_measured_over_two_nodes_through_a_job(
    bench: Bench, slurm: SlurmCluster, polite_waiting: None
) -> None:
    bench.environment.update(
        {name: value for name, value in os.environ.items() if name.startswith("MPIR_")}
    )
    (bench.path / "plan.toml").write_text(KERNELS)
    done = bench.assay("run", "plan.toml", "--no-report", "--walltime", "9 min", timeout=500)
    assert done.returncode == 0, done.stderr
    run = bench.only_run()
    assert run.complete
    assert bench.book().job(1).ended is not None
    data = read_run(run.path)
    hosts = {(m.cell.kernel, frozenset(rank.host for rank in m.ranks)) for m in data.measurements}
    first, second = [node.host for node in read_nodes(run.path / NODES)]
    assert {first, second} <= {node.name for node in slurm.nodes}
    assert hosts == {
        ("network.pingpong", frozenset((first, second))),
        ("memory.stream", frozenset((first,))),
    }
    assert {m.record.verified for m in data.measurements} == {True}


def test_a_refusal_is_reported_in_slurms_message(bench: Bench) -> None:
    done = bench.run("--partition", "nowhere")
    assert done.returncode == 2
    assert "nvalid partition" in done.stderr
    assert list_runs(bench.runs) == []


def test_ctrl_c_ends_the_job_and_resume_continues(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.scenario(delay="100 ms")
    process = bench.start()
    wait_for(bench.measuring, 60)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=90)
    assert process.returncode == 130, said
    wait_for(lambda: queue() == [])
    kept = counted(bench.only_run())
    assert 0 < len(kept) < len(undisturbed)
    end = bench.book().end(1)
    assert end is not None
    assert (end.how, end.made) == ("asked", len(kept))
    bench.scenario()
    done = bench.run("--resume", timeout=120)
    assert done.returncode == 0, done.stderr
    is_whole(bench, undisturbed)


def test_a_failed_node_is_left_out_and_the_next_job_continues(
    bench: Bench, slurm: SlurmCluster, undisturbed: dict[str, list[float]]
) -> None:
    bench.scenario(delay="100 ms")
    process = bench.start()
    wait_for(bench.measuring, 60)
    node = on_node(bench)
    slurm.kill_node(node)
    try:
        subprocess.run(
            ["scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test"],
            timeout=60, check=True,
        )  # fmt: skip
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
        assert "a node failed" in said
        is_whole(bench, undisturbed)
        assert on_node(bench) != node
    finally:
        slurm.start_node(node)
        subprocess.run(
            ["scontrol", "update", f"NodeName={node}", "State=RESUME"], timeout=60, check=False
        )


def test_a_preempted_job_is_followed_by_the_next(
    bench: Bench, slurm: SlurmCluster, undisturbed: dict[str, list[float]]
) -> None:
    """A partition of higher priority takes all nodes for some seconds."""
    nodes = ",".join(node.name for node in slurm.nodes)
    subprocess.run(
        ["scontrol", "create", "PartitionName=urgent", f"Nodes={nodes}", "PriorityTier=9"],
        timeout=60, check=True,
    )  # fmt: skip
    try:
        bench.scenario(delay="200 ms")
        process = bench.start()
        wait_for(bench.measuring, 60)
        subprocess.run(
            ["sbatch", "--partition=urgent", f"--nodes={len(slurm.nodes)}", "--exclusive",
             "--output=/dev/null", "--wrap=sleep 5"],
            timeout=60, check=True,
        )  # fmt: skip
        _, said = process.communicate(timeout=180)
        assert process.returncode == 0, said
        assert "it was preempted" in said
        first, second = bench.book().jobs()
        assert first.ended is not None and second.ended is not None
        is_whole(bench, undisturbed)
    finally:
        subprocess.run(["scontrol", "delete", "PartitionName=urgent"], timeout=60, check=False)


def test_when_the_walltime_ends_the_next_job_continues(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.scenario(delay="1.5 s")
    process = bench.start("--walltime", "1 min")
    wait_for(bench.measuring, 60)
    bench.scenario(delay="0.5 s")  # of the next job
    _, said = process.communicate(timeout=180)
    assert process.returncode == 0, said
    assert len(bench.book().jobs()) == 2
    first = bench.book().end(1)
    assert first is not None
    assert (first.how, first.next) == ("time", 2)  # submitted by the first, on its node
    is_whole(bench, undisturbed)


def test_two_sessions_are_two_jobs_and_the_second_is_held_until_due(
    bench: Bench,
) -> None:
    (bench.path / "plan.toml").write_text(SESSIONS)
    done = bench.run("--sessions", "2", "--walltime", "1 min", timeout=300)
    assert done.returncode == 0, done.stderr
    run = bench.only_run()
    assert run.complete
    first, second = (event for event in read_sessions(run.path) if event.event == "begun")
    assert first.due is not None and second.due is not None
    # At a later turn if this machine, or Slurm, was slow.
    assert (second.due - first.due) % 40.0 == pytest.approx(0.0, abs=1e-6)
    one, two = bench.book().jobs()
    assert two.submitted is not None and two.started is not None
    begin = two.submitted.begin
    assert begin is not None
    assert (begin - first.due) % 40.0 == pytest.approx(0.0, abs=1e-6)
    assert two.started.utc >= begin
    record = subprocess.run(
        ["scontrol", "show", "job", two.job], capture_output=True, text=True, timeout=60
    ).stdout
    printed = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(math.ceil(begin)))
    assert f"EligibleTime={printed}" in record
    data = read_run(run.path)
    rule = data.manifest.plan.replication
    assert Counter(session_of(m.replicate, rule) for m in data.measurements) == {0: 4, 1: 4}
    assert all(m.utc >= begin for m in data.measurements if m.replicate >= rule.max_launches)
    # This Slurm has no accounting, which must not matter.
    assert one.accounted is None


def test_a_controller_is_waited_for_that_is_missing_when_the_job_ends(
    bench: Bench, slurm: SlurmCluster, undisturbed: dict[str, list[float]]
) -> None:
    bench.scenario(delay="300 ms")
    process = bench.start()
    wait_for(bench.measuring, 60)
    slurm.stop_controller()
    try:
        wait_for(lambda: bench.book().end(1), 120)
        time.sleep(20.0)
    finally:
        slurm.start_controller()
    _, said = process.communicate(timeout=180)
    assert process.returncode == 0, said
    assert "does not answer" in said
    is_whole(bench, undisturbed)
    wait_for(lambda: queue() == [], 60)


def test_only_its_own_jobs_are_cleaned_up(bench: Bench) -> None:
    bench.scenario(delay="1 s")
    other = subprocess.run(
        ["sbatch", "--parsable", "--wrap", "sleep 600", "--output=/dev/null"],
        capture_output=True, text=True, timeout=60, check=True,
    ).stdout.strip()  # fmt: skip
    try:
        assert bench.run("--detach").returncode == 0
        own = bench.book().job(1).job
        shown = bench.assay("runs", "--clean")
        assert f"job {own}" in shown.stdout
        assert sorted(queue()) == sorted([own, other])
        ended = bench.assay("runs", "--clean", "--yes")
        assert f"job {own}" in ended.stdout
        wait_for(lambda: queue() == [other], 60)
    finally:
        subprocess.run(["scancel", other], timeout=60, check=False)
    wait_for(lambda: queue() == [], 60)


def test_per_node_runs_are_one_array(bench: Bench, slurm: SlurmCluster) -> None:
    done = bench.run("--per-node", "--nodes", "4", timeout=120)
    assert done.returncode == 0, done.stderr
    group = bench.only_run()
    assert group.complete
    assert [member.state for member in read_group(group.path).members] == ["complete"] * 4
    assert all(set(measurement_counts(group.member(n)).values()) == {1} for n in range(4))


def test_in_an_allocation_each_host_measures_itself(bench: Bench) -> None:
    words = ("run", "plan.toml", "--per-node", "--fake", "scenario.toml", "--no-report")
    done = subprocess.run(
        ["salloc", "--nodes=3", "--exclusive", "--quiet", *bench.command(*words)],
        cwd=bench.path,
        env=bench.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    group = bench.only_run()
    printed = "".join(path.read_text() for path in (group.path / "jobs").glob("*.out"))
    assert done.returncode == 0, done.stderr + printed
    assert [member.state for member in read_group(group.path).members] == ["complete"] * 3
    assert all(set(measurement_counts(group.member(n)).values()) == {1} for n in range(3))
    wait_for(lambda: queue() == [], 60)


def test_the_doctor_examines_two_nodes_through_a_job(bench: Bench) -> None:
    done = bench.assay("doctor", "--cluster", "--json", timeout=240)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    checks = {finding["check"]: finding for finding in found["findings"]}
    assert checks["submission"]["severity"] == "ok", found
    assert {"hosts", "folder", "mpi"} <= checks.keys(), found
    assert not list(bench.runs.glob(".doctor-*"))
    (bench.path / "assay.toml").write_text('[scheduler]\npartition = "nowhere"\n')
    done = bench.assay("doctor", "--cluster", "--json", "--fail-on", "problem")
    assert done.returncode == 1, done.stderr
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["check"] == "submission"
    assert "nvalid partition" in finding["what"]
