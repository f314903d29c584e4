"""Jobs in the scheduler's queue: requeued, waiting with a reason or for ever, lost, unreadable."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs_bench import Bench, is_whole, local_results, slowly
from waiting import wait_for


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    yield from Bench(tmp_path).used()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    return local_results(tmp_path_factory.mktemp("undisturbed"))


def ended(command: subprocess.Popen[str], timeout: float = 60) -> tuple[int, str]:
    _, said = command.communicate(timeout=timeout)
    return command.returncode, said


# ---- requeued ------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["requeue", "fail-requeue"])
@pytest.mark.long
def test_a_requeued_job_is_waited_for(
    bench: Bench, undisturbed: dict[str, list[float]], what: str
) -> None:
    """By a user or an administrator, and after the failure of its node."""
    slowly(bench)
    command = bench.start()
    wait_for(bench.measuring)
    bench.scheduler.set(delay=1.5, reason="BeginTime")
    bench.scheduler.do(what)
    status, said = ended(command)
    assert status == 0, said
    (job,) = bench.scheduler.jobs()
    assert f"has requeued job {job} (BeginTime)" in said
    is_whole(bench, undisturbed)
    assert [event.event for event in bench.book().events()] == [
        *("submitted", "started", "ended", "requeued", "started", "ended", "accounted")
    ] if what == "requeue" else True  # fmt: skip
    end = bench.book().end(1)
    assert end is not None and end.how == "complete"


def test_a_requeued_job_without_a_follower(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    """Nothing else is submitted while it waits, and who follows later sees its end."""
    slowly(bench)
    assert bench.run("--detach").returncode == 0
    wait_for(bench.measuring)
    bench.scheduler.set(delay=60.0)
    bench.scheduler.do("requeue")
    wait_for(lambda: bench.book().job(1).ended)
    job = bench.scheduler.jobs()[0]
    wait_for(lambda: bench.scheduler.status([job])[job].state == "queued")
    again = bench.run("--resume", "--detach")
    assert again.returncode == 2
    assert f"Job {job} is already measuring this run." in again.stderr
    assert bench.scheduler.jobs() == [job]
    bench.scheduler.do("begin")
    done = bench.assay("runs", "--follow", "--no-report")
    assert done.returncode == 0, done.stderr
    is_whole(bench, undisturbed)


def test_requeued_tasks_of_a_group(bench: Bench) -> None:
    slowly(bench)
    command = bench.start("--per-node", "--nodes", "2")
    wait_for(lambda: len(list(bench.runs.glob("*/members/*/raw/*"))) >= 2)
    bench.scheduler.set(delay=1.0)
    bench.scheduler.do("requeue")
    status, said = ended(command)
    assert status == 0, said
    assert len(bench.scheduler.jobs()) == 1
    assert len(re.findall("has requeued job", said)) == 1


# ---- waiting -------------------------------------------------------------------------------------


def test_a_job_that_does_not_start_is_left_in_its_queue(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    reason = "PartitionNodeLimit: The number of nodes is outside of the partition's limits."
    bench.scheduler.set(delay=60.0, reason=reason, prospect="limited")
    done = bench.run("--patience", "1 s")
    (job,) = bench.scheduler.jobs()
    assert done.returncode == 1
    assert done.stdout == ""
    assert f"Job {job} is queued: {reason} It starts only if the limit" in done.stderr
    assert done.stderr.count("is queued") == 1
    assert f"Job {job} has not started within 1.00 s (PartitionNodeLimit: " in done.stderr
    name = bench.only_run().name
    assert f"It stays in the queue. Continue with: assay runs --follow {name}\n" in done.stderr
    assert bench.scheduler.status([job])[job].state == "queued"
    # The command that was printed goes on.
    bench.scheduler.do("begin")
    done = bench.assay("runs", "--follow", name, "--no-report", "--patience", "50 s")
    assert done.returncode == 0, done.stderr
    is_whole(bench, undisturbed)


def test_reasons_are_said_again_when_they_change(bench: Bench) -> None:
    bench.scheduler.set(delay=60.0)
    command = bench.start("--patience", "40 s")
    log = bench.path / "scheduler" / "settings.json"
    wait_for(lambda: bench.scheduler.jobs())

    def meanwhile(**settings: object) -> None:
        time.sleep(1.0)
        bench.scheduler.set(**settings)

    meanwhile(reason="Priority")
    meanwhile(reason="Resources")
    meanwhile(reason="DependencyNeverSatisfied", prospect="never")
    meanwhile(reason="JobHeldAdmin", prospect="held")
    meanwhile(reason="Not Running: 3 of 8 nodes", prospect="")
    meanwhile(reason="Not Running: 4 of 8 nodes")
    meanwhile(reason="Resources", delay=0.0)
    assert json.loads(log.read_text())["reason"] == "Resources"
    bench.scheduler.do("begin")
    status, said = ended(command)
    assert status == 0, said
    assert re.findall(r"is queued: (.*)", said) == [
        "Resources.",
        "Priority.",
        "DependencyNeverSatisfied. The scheduler reports that the job will never start.",
        "JobHeldAdmin. It is held, and starts only after it is released.",
        "Not Running: 3 of 8 nodes.",
    ]


def test_a_job_that_begins_in_time_may_run_for_longer(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    slowly(bench)
    done = bench.run("--patience", "3 s")
    assert done.returncode == 0, done.stderr
    is_whole(bench, undisturbed)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--patience", "soon"), "--patience"),
        (("--patience", "-1 s"), "--patience"),
        (("--patience", "0 s"), "'0 s' is not a valid waiting time."),
        (("--patience", "1 s", "--here"), "there are no jobs here"),
        (("--patience", "1 s", "--detach"), "--detach doesn't wait for jobs"),
    ],
)
def test_a_patience_that_means_nothing_is_refused(
    bench: Bench, words: tuple[str, ...], complaint: str
) -> None:
    done = bench.run(*words)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert bench.scheduler.jobs() == []


# ---- lost, unreadable ----------------------------------------------------------------------------


def test_a_job_that_the_scheduler_lost_in_an_outage(bench: Bench) -> None:
    bench.scheduler.set(delay=60.0)
    command = bench.start()
    wait_for(lambda: bench.scheduler.jobs())
    time.sleep(1.0)
    bench.scheduler.set(silent=True)
    time.sleep(1.5)
    bench.scheduler.set(silent=False, lost=True)
    status, said = ended(command)
    (job,) = bench.scheduler.jobs()
    assert status == 1
    assert "The scheduler does not answer; assay asks again. (Connection refused.)" in said
    assert "The scheduler answers again" in said
    assert f"Job {job} is lost: the scheduler gave no answer for" in said
    assert "Its controller seems to have lost its state." in said
    assert f"assay run --resume {bench.only_run().name}" in said
    assert "remote shell" not in said


def test_an_outage_before_the_next_job_is_waited_out(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.scenario(delay="40 ms")
    bench.scheduler.set(walltime_factor=2.0)
    bench.environment["ASSAY_TEST_NO_SUBMISSION_FROM_JOBS"] = "1"
    command = bench.start("--walltime", "4 s")
    wait_for(bench.measuring)
    bench.scheduler.set(silent=True)
    wait_for(lambda: bench.book().job(1).ended, 30)
    time.sleep(1.0)
    bench.scheduler.set(silent=False, walltime_factor=100.0)
    status, said = ended(command)
    assert status == 0, said
    assert "The scheduler does not answer" in said
    is_whole(bench, undisturbed)


def test_answers_that_cannot_be_read_are_not_waited_for(bench: Bench) -> None:
    bench.scheduler.set(delay=60.0, unreadable=True)
    done = bench.run()
    assert done.returncode == 2
    assert done.stderr.count("The answer can't be read: invalid JSON.") == 2  # said, and the end
    assert "assay runs --follow" in done.stderr


def test_a_running_job_needs_no_answers(bench: Bench, undisturbed: dict[str, list[float]]) -> None:
    """Its own files show that it runs, and how it ended."""
    slowly(bench)
    command = bench.start()
    wait_for(bench.measuring)
    bench.scheduler.set(unreadable=True)
    status, said = ended(command)
    assert status == 0, said
    is_whole(bench, undisturbed)
