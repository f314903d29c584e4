"""Jobs of a real Slurm that start late, again or never, and a controller that crashes."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.lab.slurm import SlurmCluster
from assay.records.group import read_group
from assay.schedulers.slurm import SlurmScheduler
from jobs_bench import Bench, slowly
from slurm_lab import reason, running_slurm
from waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(reason is not None, reason=reason or "")]
DRIVER = Path(__file__).parents[1] / "support" / "assay_in_a_hurry.py"


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    settings = {"KillWait": "2", "MessageTimeout": "5", "MinJobAge": "300"}
    with running_slurm(2, settings=settings) as cluster:
        yield cluster


@pytest.fixture
def bench(slurm: SlurmCluster, tmp_path: Path) -> Iterator[Bench]:
    slurm.await_idle()
    yield Bench(tmp_path, DRIVER)
    subprocess.run(["scancel", "--user=root"], timeout=60, check=False)


def scheduler_options(bench: Bench, text: str) -> None:
    (bench.path / "assay.toml").write_text(f"[scheduler]\n{text}\n")


def scontrol(*words: str) -> str:
    done = subprocess.run(["scontrol", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    return done.stdout


def ended(command: subprocess.Popen[str], timeout: float = 120) -> tuple[int, str]:
    _, said = command.communicate(timeout=timeout)
    return command.returncode, said


def job_of(bench: Bench) -> str:
    return bench.book().jobs()[-1].job


def test_a_requeued_job_is_followed_to_its_end(bench: Bench) -> None:
    scheduler_options(bench, 'directives = ["--requeue"]')
    slowly(bench)
    command = bench.start("--walltime", "5 min")
    wait_for(bench.measuring, 60)
    job = job_of(bench)
    scontrol("requeue", job)
    wait_for(lambda: "JobState=PENDING" in scontrol("show", "job", job), 60)
    time.sleep(2)  # it is seen in the queue
    scontrol("update", f"JobId={job}", "StartTime=now")  # Slurm would wait for two minutes
    status, said = ended(command)
    assert status == 0, said
    assert f"The scheduler has requeued job {job}" in said
    assert bench.only_run().complete
    assert [story.job for story in bench.book().jobs()] == [job]


def test_a_job_that_never_starts_is_left_with_slurms_reason(
    bench: Bench, slurm: SlurmCluster
) -> None:
    if "PartitionName=few" not in scontrol("show", "partition"):
        scontrol("create", "PartitionName=few", "Nodes=ALL", "MaxTime=1")
    scheduler_options(bench, 'partition = "few"')
    done = bench.run("--walltime", "10 min", "--patience", "6 s")
    assert done.returncode == 1
    job = job_of(bench)
    assert f"Job {job} is queued: PartitionTimeLimit: " in done.stderr
    assert "It starts only if the limit or the job is changed." in done.stderr
    assert f"Job {job} has not started within 6.00 s (PartitionTimeLimit: " in done.stderr
    assert f"assay runs --follow {bench.only_run().name}" in done.stderr
    # What Slurm itself calls permanent.
    scheduler_options(bench, f'directives = ["--dependency=afternotok:{job}"]')
    scontrol("update", f"JobId={job}", "TimeLimit=1")
    # Slurm may look at the job a minute later, and the job itself may last for another.
    wait_for(lambda: SlurmScheduler().status([job])[job].state == "complete", 180)
    done = bench.run("--patience", "6 s")
    assert "DependencyNeverSatisfied" in done.stderr
    assert "The scheduler reports that the job will never start." in done.stderr


def test_pending_tasks_of_an_array_are_not_lost(bench: Bench) -> None:
    """scontrol prints a record for tasks that wait, with the limit between numbers and name."""
    scheduler_options(bench, "at_once = 1")
    command = bench.start("--per-node", "--nodes", "3", "--walltime", "5 min")
    wait_for(lambda: bool(list(bench.runs.glob("*/jobs.jsonl"))) and job_of(bench) != "", 60)
    job = job_of(bench)
    held = [f"JobId={job}_{task}" for task in (1, 2)]
    for task in (1, 2):
        scontrol("hold", f"{job}_{task}")
    wait_for(lambda: "JobState=COMPLETED" in scontrol("show", "job", job), 60)
    status = SlurmScheduler().status([job])[job]
    assert status.state == "queued", status
    assert [status.tasks[task].state for task in range(3)] == ["complete", "queued", "queued"]
    assert status.prospect == "held"
    time.sleep(SEVERAL_LOOKS)
    assert command.poll() is None
    for task in held:
        scontrol("release", task.removeprefix("JobId="))
    code, said = ended(command)
    assert code == 0, said
    assert re.search(rf"Job {job} is queued: JobHeld\w+.*It is held", said), said
    (group,) = bench.runs.iterdir()
    assert [member.state for member in read_group(group).members] == ["complete"] * 3


SEVERAL_LOOKS = 10.0  # s in which a follower asks the scheduler several times
OUTAGE = 10.0  # s; commands repeat their requests for half of it


def test_a_crashed_controller_is_waited_for(bench: Bench, slurm: SlurmCluster) -> None:
    bench.scenario(delay="0.5 s")
    command = bench.start("--walltime", "5 min")
    wait_for(bench.measuring, 60)
    time.sleep(5)  # it saves its state every few seconds
    slurm.crash_controller()
    time.sleep(OUTAGE)
    slurm.start_controller()
    status, said = ended(command)
    assert status == 0, said
    assert "The scheduler does not answer; assay asks again." in said
    assert "The scheduler answers again, after " in said
    assert bench.only_run().complete


def test_what_a_crashed_controller_has_lost_is_named(bench: Bench, slurm: SlurmCluster) -> None:
    bench.scenario(delay="2 s")
    command = bench.start("--walltime", "5 min")
    wait_for(bench.measuring, 60)
    job = job_of(bench)
    slurm.crash_controller(losing_state=True)
    time.sleep(OUTAGE)
    slurm.start_controller()
    status, said = ended(command)
    assert status == 1, said
    assert f"Job {job} is lost: the scheduler gave no answer for" in said
    assert "no longer knows the job (Slurm does not know the job)" in said
    assert "Its controller seems to have lost its state." in said
    assert f"Continue with: assay run --resume {bench.only_run().name}" in said
    assert "remote shell" not in said
