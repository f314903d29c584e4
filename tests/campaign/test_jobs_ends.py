"""Jobs that end before their run is complete: the next job continues it, or `--resume` does."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.records.directory import list_runs
from assay.records.reading import read_run
from jobs_bench import (
    Bench,
    counted,
    is_whole,
    local_results,
    measurement_counts,
    slowly,
)
from waiting import wait_for


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    yield from Bench(tmp_path).used()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    return local_results(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.long
@pytest.mark.slow
def test_after_the_walltime_the_next_job_continues(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.scenario(delay="100 ms")
    bench.scheduler.set(walltime_factor=5.0)
    done = bench.run("--walltime", "4 s")
    assert done.returncode == 0, done.stderr
    jobs = bench.scheduler.jobs()
    assert len(jobs) > 1
    assert f"Job {jobs[1]} continues." in done.stderr
    is_whole(bench, undisturbed)
    ends = [bench.book().end(number) for number in range(1, len(jobs) + 1)]
    assert [end.how for end in ends if end] == ["time"] * (len(jobs) - 1) + ["complete"]
    assert sum(end.made for end in ends if end) == len(undisturbed)


@pytest.mark.long
@pytest.mark.slow
def test_if_a_job_may_not_submit_the_follower_does(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.scenario(delay="100 ms")
    bench.scheduler.set(walltime_factor=5.0)
    bench.environment["ASSAY_TEST_NO_SUBMISSION_FROM_JOBS"] = "1"
    done = bench.run("--walltime", "4 s")
    assert done.returncode == 0, done.stderr
    assert "its time was over" in done.stderr
    assert len(bench.scheduler.jobs()) > 1
    is_whole(bench, undisturbed)


@pytest.mark.long
@pytest.mark.slow
def test_if_the_scheduler_ends_a_job_early_the_next_continues(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.scenario(delay="100 ms")
    bench.scheduler.set(walltime_factor=0.4)
    process = bench.start("--walltime", "8 s")
    wait_for(bench.measuring)
    bench.scheduler.set(walltime_factor=10.0)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    end = bench.book().end(1)
    assert end is not None
    assert end.how == "asked"
    assert len(bench.scheduler.jobs()) == 2
    is_whole(bench, undisturbed)


@pytest.mark.long
@pytest.mark.parametrize("fault", ["preempt", "fail"])
def test_after_a_preemption_or_a_node_failure_the_next_job_continues(
    bench: Bench, undisturbed: dict[str, list[float]], fault: str
) -> None:
    slowly(bench)
    process = bench.start()
    wait_for(bench.measuring)
    bench.scheduler.do(fault)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert ("preempted" if fault == "preempt" else "a node failed") in said
    assert len(bench.scheduler.jobs()) == 2
    is_whole(bench, undisturbed)


def resumed(bench: Bench, undisturbed: dict[str, list[float]]) -> None:
    """Only what is missing is measured, and nothing twice."""
    kept = counted(bench.only_run()) if bench.only_run().begun else {}
    assert not bench.only_run().complete
    done = bench.run("--resume")
    assert done.returncode == 0, done.stderr
    is_whole(bench, undisturbed)
    assert {name: counted(bench.only_run())[name] for name in kept} == kept


@pytest.mark.long
def test_a_cancelled_job_is_not_restarted_but_resumed(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    slowly(bench)
    process = bench.start()
    wait_for(bench.measuring)
    bench.scheduler.do("cancel")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1, said
    assert "cancelled" in said
    assert "cells have no number" in said
    assert "assay run --resume" in said
    assert len(bench.scheduler.jobs()) == 1
    assert (bench.only_run().path / "samples.parquet").exists()  # it ended regularly
    resumed(bench, undisturbed)


@pytest.mark.long
def test_a_killed_job_is_resumed(bench: Bench, undisturbed: dict[str, list[float]]) -> None:
    slowly(bench)
    process = bench.start()
    wait_for(bench.measuring)
    for victim in bench.scheduler.processes():
        victim.kill()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1, said
    assert "failed" in said
    assert bench.book().end(1) is None
    resumed(bench, undisturbed)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_without_its_follower_the_job_continues(
    bench: Bench, undisturbed: dict[str, list[float]], number: signal.Signals
) -> None:
    slowly(bench)
    process = bench.start()
    wait_for(bench.measuring)
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == -number
    assert bench.scheduler.processes()
    followed = bench.assay("runs", "--follow", "--no-report")
    assert followed.returncode == 0, followed.stderr
    assert len(bench.scheduler.jobs()) == 1
    is_whole(bench, undisturbed)


@pytest.mark.long
def test_ctrl_c_ends_the_job_regularly(bench: Bench, undisturbed: dict[str, list[float]]) -> None:
    slowly(bench)
    process = bench.start()
    wait_for(bench.measuring)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Press Ctrl-C again to leave immediately" in said
    assert "assay run --resume" in said
    wait_for(lambda: not bench.scheduler.processes())
    end = bench.book().end(1)
    assert end is not None
    assert end.how == "asked"
    assert end.made == len(counted(bench.only_run())) > 0
    resumed(bench, undisturbed)


@pytest.mark.long
def test_ctrl_c_while_the_job_is_queued(bench: Bench, undisturbed: dict[str, list[float]]) -> None:
    bench.scheduler.set(delay=60.0)
    process = bench.start()
    wait_for(lambda: bench.scheduler.jobs() and list_runs(bench.runs))
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "No cell was measured" in said
    bench.scheduler.set(delay=0.0)
    resumed(bench, undisturbed)


@pytest.mark.long
@pytest.mark.slow
def test_ctrl_c_twice_leaves_immediately_and_reports_running_jobs(bench: Bench) -> None:
    bench.scenario(delay="500 ms")
    bench.scheduler.set(kill_wait=30.0)
    process = bench.start()
    wait_for(bench.measuring)
    bench.scheduler.set(silent=True)
    process.send_signal(signal.SIGINT)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=10)
    assert process.returncode == 130, said
    (job,) = bench.scheduler.jobs()
    assert f"Job {job} may still run" in said
    assert bench.scheduler.processes()
    bench.scheduler.set(silent=False)
    cleaned = bench.assay("runs", "--clean")
    assert f"job {job}" in cleaned.stdout
    assert "--yes" in cleaned.stdout
    assert bench.scheduler.processes()
    cleaned = bench.assay("runs", "--clean", "--yes")
    assert f"job {job}" in cleaned.stdout
    wait_for(lambda: not bench.scheduler.processes())
    assert "have left no jobs or processes" in bench.assay("runs", "--clean").stdout


def test_only_a_runs_own_jobs_are_cleaned_up(bench: Bench) -> None:
    slowly(bench)
    bench.scheduler.set(delay=60.0)
    assert bench.run("--detach").returncode == 0
    (job,) = bench.scheduler.jobs()
    # The scheduler starts its ids again, and another user's job has that id now.
    home = bench.scheduler.folder / "jobs" / job / "order.json"
    home.write_text(json.dumps({**json.loads(home.read_text()), "name": "theirs"}))
    assert "have left no jobs or processes" in bench.assay("runs", "--clean", "--yes").stdout
    assert not (home.parent / "cancel").exists()


@pytest.mark.long
def test_late_records_are_waited_for(bench: Bench, undisturbed: dict[str, list[float]]) -> None:
    bench.environment["ASSAY_TEST_LAG"] = "1.5"
    done = bench.run()
    assert done.returncode == 0, done.stderr
    is_whole(bench, undisturbed)
    assert len(json.loads(done.stdout)["cells"]) == 7


@pytest.mark.long
@pytest.mark.slow
def test_records_that_never_arrive_are_left_to_resume(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.environment["ASSAY_TEST_LATE"] = "0.5"
    bench.environment["ASSAY_TEST_LAG"] = "5"
    done = bench.run()
    assert done.returncode == 1, done.stderr
    assert "some of its files are not visible here" in done.stderr
    assert "assay run --resume" in done.stderr
    wait_for(lambda: bench.only_run().complete and not bench.only_run().broken_seal())
    is_whole(bench, undisturbed)


@pytest.mark.long
def test_a_full_disk_ends_the_job_and_resume_completes_it(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.scenario(failures='[[failure]]\nkind = "disk full"\nlaunch = 3\nbytes = 2500\ntimes = 1')
    done = bench.run()
    assert done.returncode == 2, done.stderr
    assert "Free some space" in done.stderr
    bench.scenario()
    resumed(bench, undisturbed)


@pytest.mark.long
def test_a_disk_too_full_for_the_end_is_reported_by_the_jobs_own_message(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.environment["ASSAY_TEST_NO_SPACE_FOR"] = "end.json"
    done = bench.run("--walltime", "2 min", "--budget", "0.01 s")
    assert "No space left" in next(bench.only_run().path.glob("jobs/*.out")).read_text()
    assert done.returncode == 0, done.stderr  # the run was sealed before


def test_a_job_that_can_not_be_recorded_is_cancelled(bench: Bench) -> None:
    bench.scheduler.set(delay=60.0)
    bench.environment["ASSAY_TEST_NO_SPACE_FOR"] = "jobs.jsonl"
    done = bench.run("--detach")
    assert done.returncode == 2
    assert "No space left" in done.stderr
    (job,) = bench.scheduler.jobs()
    wait_for(lambda: bench.scheduler.status([job])[job].state == "cancelled")
    assert list_runs(bench.runs) == []


@pytest.mark.long
def test_a_hanging_rank_fails_only_its_cell(bench: Bench) -> None:
    bench.scenario(failures='[[failure]]\nkind = "hang"\nmatch = "npb.ep"\nwhere = "ppn == 2"')
    done = bench.run()
    assert done.returncode == 1, done.stderr
    run = bench.only_run()
    assert run.complete
    measured = {m.cell.id for m in read_run(run.path).measurements}
    cells = run.manifest().plan.cells
    assert {c.id for c in cells} - measured == {
        c.id for c in cells if c.kernel == "npb.ep" and c.placement.ppn == 2
    }


@pytest.mark.long
def test_two_concurrent_commands_on_one_run(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.scenario(delay="250 ms")  # for as long as it takes to start assay twice
    assert bench.run("--detach").returncode == 0
    wait_for(bench.measuring)
    (job,) = bench.scheduler.jobs()
    again = bench.run("--resume")
    assert again.returncode == 2
    assert f"Job {job} is already measuring this run." in again.stderr
    here = bench.run("--resume", "--here")
    assert here.returncode == 2
    assert "Another assay is working on this run" in here.stderr
    assert len(bench.scheduler.jobs()) == 1
    assert bench.assay("runs", "--follow", "--no-report").returncode == 0
    is_whole(bench, undisturbed)


@pytest.mark.long
@pytest.mark.slow
def test_followed_twice_a_job_is_continued_once(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    slowly(bench)
    process = bench.start()
    wait_for(bench.measuring)
    other = subprocess.Popen(
        bench.command("runs", "--follow", "--no-report"),
        cwd=bench.path,
        env=bench.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(1.0)
    bench.scheduler.do("preempt")
    process.communicate(timeout=60)
    assert other.wait(timeout=60) == 0
    assert process.returncode == 0
    assert len(bench.scheduler.jobs()) == 2
    is_whole(bench, undisturbed)


@pytest.mark.long
@pytest.mark.slow
def test_each_measurement_is_made_once_however_the_job_ends(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    slowly(bench)
    assert bench.run("--detach").returncode == 0
    for what in ("cancel", "fail", "preempt"):
        before = sum(measurement_counts(bench.only_run()).values()) if list_runs(bench.runs) else 0
        wait_for(
            lambda before=before: sum(measurement_counts(bench.only_run()).values()) > before + 3
        )
        bench.scheduler.do(what)
        wait_for(lambda: not bench.scheduler.processes())
        wait_for(lambda: bench.scheduler.status(bench.scheduler.jobs()[-1:]))
        time.sleep(0.2)
        done = bench.run("--resume", "--detach")
        assert done.returncode == 0, done.stderr
    assert bench.assay("runs", "--follow", "--no-report").returncode == 0
    is_whole(bench, undisturbed)
