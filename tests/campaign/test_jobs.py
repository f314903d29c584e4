"""Runs through a scheduler's jobs: asked, measured, followed, and every fault on the way."""

from __future__ import annotations

import io
import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from assay.campaign.jobs import batch, follow
from assay.records.directory import NODES, list_runs
from assay.records.jobs import JobBook
from assay.records.reading import read_run
from assay.schedulers.model import JobStatus
from jobs_bench import Bench, counted, is_whole, measurement_counts, wait_for


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    yield from Bench(tmp_path).used()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    """What the run holds if nothing happens."""
    bench = Bench(tmp_path_factory.mktemp("undisturbed"))
    done = bench.run("--here")
    assert done.returncode == 0, done.stderr
    return counted(bench.only_run())


def slowly(bench: Bench) -> None:
    """Measurements that last: what there is to watch and to disturb."""
    bench.scenario(delay="40 ms")


# ---- asked, measured, followed -------------------------------------------------------------------


def test_a_run_in_a_job_is_what_it_would_be_here(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    done = bench.run()
    assert done.returncode == 0, done.stderr
    is_whole(bench, undisturbed)
    run = bench.only_run()
    report = json.loads(done.stdout)
    assert report["run"] == run.name == run.manifest().run
    (job,) = bench.scheduler.jobs()
    assert f"Submitted as job {job}" in done.stderr
    assert [(e.event, e.number) for e in bench.book().events()] == [
        ("submitted", 1), ("started", 1), ("ended", 1), ("accounted", 1),
    ]  # fmt: skip
    story = bench.book().job(1)
    assert (story.job, story.name) == (job, bench.scheduler.order(job)["name"])
    assert story.ended is not None
    assert story.ended.state == "complete"
    end = bench.book().end(1)
    assert end is not None
    assert (end.how, end.made, end.missing) == ("complete", len(undisturbed), [])
    # Asked for as estimated, in whole minutes.
    assert bench.scheduler.order(job)["walltime"] % 60 == 0


@pytest.mark.long
def test_detached_it_is_queued_then_running_then_followed(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.scheduler.set(delay=60.0)
    done = bench.run("--detach")
    assert done.returncode == 0, done.stderr
    assert "assay runs --follow" in done.stderr
    assert not bench.only_run().begun
    (listed,) = json.loads(bench.assay("runs", "--json").stdout)
    assert (listed["state"], listed["suite"], listed["cells"]) == ("queued", "plan", None)
    shown = bench.assay("report")
    assert shown.returncode == 2
    assert "no plan yet" in shown.stderr
    bench.scheduler.do("begin")
    followed = bench.assay("runs", "--follow", "--json", "--no-report")
    assert followed.returncode == 0, followed.stderr
    is_whole(bench, undisturbed)
    (listed,) = json.loads(bench.assay("runs", "--json", "--check").stdout)
    assert listed["state"] == "complete"
    # One that is over already is presented at once.
    again = bench.assay("runs", "--follow", "--json", "--no-report")
    assert (again.returncode, again.stdout) == (0, followed.stdout), again.stderr


def test_without_a_submitted_run_there_is_nothing_to_follow(bench: Bench) -> None:
    assert bench.run("--here").returncode == 0
    done = bench.assay("runs", "--follow")
    assert done.returncode == 2
    assert "No run was submitted here." in done.stderr


def test_the_plan_is_the_one_that_was_asked_for(bench: Bench) -> None:
    (bench.path / "more.toml").write_text(
        'schema = 1\n[[measure]]\nkernel = "npb.cg"\nclass = "S"\n'
    )
    text = (bench.path / "plan.toml").read_text()
    (bench.path / "plan.toml").write_text(
        text.replace("seed = 5", 'seed = 5\ninclude = ["more.toml"]')
    )
    bench.scheduler.set(delay=60.0)
    assert bench.run("--detach", "bytes=16", "--budget", "2 s").returncode == 0
    (bench.path / "plan.toml").write_text("what is this")
    (bench.path / "more.toml").unlink()
    bench.scheduler.do("begin")
    assert bench.assay("runs", "--follow", "--no-report").returncode == 0
    plan = bench.only_run().manifest().plan
    assert {c.parameters["bytes"] for c in plan.cells if c.kernel == "network.pingpong"} == {16}
    assert "npb.cg" in {cell.kernel for cell in plan.cells}
    assert plan.replication.budget == 2.0


def test_a_dry_run_prints_the_scripts_and_leaves_nothing(bench: Bench) -> None:
    before = sorted(bench.path.rglob("*"))
    done = bench.run("--dry-run", "--walltime", "10 min", "--budget", "1500 s")
    assert done.returncode == 0, done.stderr
    scripts = json.loads(done.stdout)
    assert len(scripts) > 1
    assert {script["walltime"] for script in scripts} == {600.0}
    for number, script in enumerate(scripts, 1):
        assert f"--number {number} " in script["script"]
        assert script["script"].splitlines()[-1].startswith("exec ")
    assert sorted(bench.path.rglob("*")) == before
    assert bench.scheduler.jobs() == []
    said = bench.assay(
        "run", "plan.toml", "--fake", "scenario.toml", "--dry-run", "--walltime", "10 min",
        "--budget", "1500 s",
    )  # fmt: skip
    assert f"About {len(scripts)} jobs of 1 node for 10 min," in said.stderr


@pytest.mark.long
def test_partition_and_walltime_reach_the_scheduler(bench: Bench) -> None:
    (bench.path / "assay.toml").write_text('[scheduler]\npartition = "slow"\n')
    assert bench.run("--partition", "fast", "--walltime", "3 min").returncode == 0
    order = bench.scheduler.order(bench.scheduler.jobs()[0])
    assert (order["partition"], order["walltime"]) == ("fast", 180.0)


def test_a_wrong_plan_is_told_before_anything_is_submitted(bench: Bench) -> None:
    text = (bench.path / "plan.toml").read_text()
    (bench.path / "plan.toml").write_text(text.replace("npb.ep", "npb.pe"))
    done = bench.run()
    assert done.returncode == 2
    assert "plan.toml:18" in done.stderr
    assert list_runs(bench.runs) == []
    assert bench.scheduler.jobs() == []


def test_what_a_node_cannot_do_is_told_by_the_job_and_said_here(bench: Bench) -> None:
    # Not known here: how many cores a node has.
    text = (bench.path / "plan.toml").read_text()
    (bench.path / "plan.toml").write_text(text.replace("ppn = [1, 2]", "ppn = 64"))
    done = bench.run()
    assert done.returncode == 2
    assert "64" in done.stderr
    assert "assay run --resume" in done.stderr
    end = bench.book().end(1)
    assert end is not None
    assert end.how == "failed"


# ---- faults --------------------------------------------------------------------------------------


def test_a_job_that_is_refused_leaves_nothing_and_says_why(bench: Bench) -> None:
    bench.scheduler.set(reject="qsub: Unauthorized Request MSG=group ACL is not satisfied")
    done = bench.run()
    assert done.returncode == 2
    assert "group ACL is not satisfied" in done.stderr
    assert list_runs(bench.runs) == []


def test_a_silent_scheduler_is_said_and_waited_for(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    slowly(bench)
    process = bench.start()
    wait_for(bench.measuring)
    bench.scheduler.set(silent=True)
    time.sleep(1.0)
    bench.scheduler.set(silent=False)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert said.count("does not answer") == 1
    assert said.count("answers again") == 1
    is_whole(bench, undisturbed)


def test_a_scheduler_that_forgets_its_jobs_makes_no_difference(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.scheduler.set(forgetful=True)
    assert bench.run().returncode == 0
    is_whole(bench, undisturbed)


@pytest.mark.slow
def test_where_the_walltime_ends_the_next_job_goes_on(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.scenario(delay="100 ms")
    bench.scheduler.set(walltime_factor=5.0)
    done = bench.run("--walltime", "4 s")
    assert done.returncode == 0, done.stderr
    jobs = bench.scheduler.jobs()
    assert len(jobs) > 1
    assert f"Job {jobs[1]} goes on." in done.stderr
    is_whole(bench, undisturbed)
    ends = [bench.book().end(number) for number in range(1, len(jobs) + 1)]
    assert [end.how for end in ends if end] == ["time"] * (len(jobs) - 1) + ["complete"]
    assert sum(end.made for end in ends if end) == len(undisturbed)


@pytest.mark.long
@pytest.mark.slow
def test_where_a_job_may_not_submit_the_follower_does(
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
def test_where_the_scheduler_ends_a_job_sooner_than_it_said_the_next_goes_on(
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
def test_after_a_preemption_or_a_dead_node_the_next_job_goes_on(
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
    """What is missing, and nothing twice."""
    kept = counted(bench.only_run()) if bench.only_run().begun else {}
    assert not bench.only_run().complete
    done = bench.run("--resume")
    assert done.returncode == 0, done.stderr
    is_whole(bench, undisturbed)
    assert {name: counted(bench.only_run())[name] for name in kept} == kept


@pytest.mark.long
def test_a_job_that_was_cancelled_is_not_begun_again_but_resumed(
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
    assert (bench.only_run().path / "samples.parquet").exists()  # it ended in good order
    resumed(bench, undisturbed)


def test_a_job_that_was_killed_outright_is_resumed(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
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
def test_without_its_follower_the_job_goes_on(
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


def test_ctrl_c_ends_the_job_in_good_order(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    slowly(bench)
    process = bench.start()
    wait_for(bench.measuring)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Ctrl-C again leaves at once" in said
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
    assert "Nothing was measured yet" in said
    bench.scheduler.set(delay=0.0)
    resumed(bench, undisturbed)


@pytest.mark.long
@pytest.mark.slow
def test_ctrl_c_twice_leaves_at_once_and_says_what_still_runs(bench: Bench) -> None:
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
    assert "Nothing is left" in bench.assay("runs", "--clean").stdout


def test_only_a_runs_own_jobs_are_cleaned_up(bench: Bench) -> None:
    slowly(bench)
    bench.scheduler.set(delay=60.0)
    assert bench.run("--detach").returncode == 0
    (job,) = bench.scheduler.jobs()
    # The scheduler counts from the beginning again, and somebody else has that number now.
    home = bench.scheduler.folder / "jobs" / job / "order.json"
    home.write_text(json.dumps({**json.loads(home.read_text()), "name": "theirs"}))
    assert "Nothing is left" in bench.assay("runs", "--clean", "--yes").stdout
    assert not (home.parent / "cancel").exists()


def test_records_that_come_late_are_waited_for(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.environment["ASSAY_TEST_LAG"] = "1.5"
    done = bench.run()
    assert done.returncode == 0, done.stderr
    is_whole(bench, undisturbed)
    assert len(json.loads(done.stdout)["cells"]) == 7


@pytest.mark.long
@pytest.mark.slow
def test_records_that_never_come_are_left_to_resume(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.environment["ASSAY_TEST_LATE"] = "0.5"
    bench.environment["ASSAY_TEST_LAG"] = "5"
    done = bench.run()
    assert done.returncode == 1, done.stderr
    assert "not all that it wrote is seen here yet" in done.stderr
    assert "assay run --resume" in done.stderr
    wait_for(lambda: bench.only_run().complete and not bench.only_run().broken_seal())
    is_whole(bench, undisturbed)


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
def test_a_disk_too_full_for_the_end_is_told_by_the_jobs_own_words(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.environment["ASSAY_TEST_NO_SPACE_FOR"] = "end.json"
    done = bench.run("--walltime", "2 min", "--budget", "0.01 s")
    assert "No space left" in next(bench.only_run().path.glob("jobs/*.out")).read_text()
    assert done.returncode == 0, done.stderr  # it had sealed the run before


def test_a_job_that_nobody_would_know_of_is_given_back(bench: Bench) -> None:
    bench.scheduler.set(delay=60.0)
    bench.environment["ASSAY_TEST_NO_SPACE_FOR"] = "jobs.jsonl"
    done = bench.run("--detach")
    assert done.returncode == 2
    assert "No space left" in done.stderr
    (job,) = bench.scheduler.jobs()
    wait_for(lambda: bench.scheduler.status([job])[job].state == "cancelled")
    assert list_runs(bench.runs) == []


def test_a_rank_that_hangs_fails_its_cell_alone(bench: Bench) -> None:
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
def test_two_at_the_same_run(bench: Bench, undisturbed: dict[str, list[float]]) -> None:
    bench.scenario(delay="250 ms")  # for as long as it takes to start assay twice
    assert bench.run("--detach").returncode == 0
    wait_for(bench.measuring)
    (job,) = bench.scheduler.jobs()
    again = bench.run("--resume")
    assert again.returncode == 2
    assert f"Job {job} is at this run already." in again.stderr
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


# ---- the pieces ----------------------------------------------------------------------------------


def test_polling_grows_to_half_a_minute_and_no_further() -> None:
    poll = follow.Poll()
    waits = []
    for _ in range(12):
        waits.append(poll.wait)
        poll.next()
    assert waits[0] == 2.0
    assert all(later >= sooner for sooner, later in pairwise(waits))
    assert waits[-1] == 30.0


def test_the_jobs_state_is_told_in_one_line(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.scheduler.set(delay=60.0)
    assert bench.run("--detach").returncode == 0
    run = bench.only_run()
    request = run.request()
    assert request is not None
    console = Console(file=io.StringIO(), width=200)
    with follow.watching(run, request, console) as watch:
        follower = follow.Follower(run, request, bench.scheduler, console, watch)
        story, poll = bench.book().job(1), follow.Poll(due=0.0)
        assert not follower._asked(story, poll)
        follower._since -= 180
        assert follower._status_line() == f"job {story.job}: queued for 3 min, Resources"
        bench.scheduler.set(silent=True)
        poll.due = 0.0
        assert not follower._asked(story, poll)
        follower._silent_since = (follower._silent_since or 0.0) - 120
        assert follower._status_line().endswith("no answer from the scheduler for 2 min")
        bench.scheduler.set(silent=False)
        bench.scheduler.do("begin")
        wait_for(lambda: bench.book().job(1).started)
        poll.due = 0.0
        follower._asked(story, poll)
        follower._state = JobStatus("running")
        line = follower._status_line()
        assert line.startswith(f"job {story.job}: running on {socket.gethostname()}, ")
        assert line.endswith(" left")
        for number in (1, 2):
            reply = {"host": f"n{number}", "hostname": f"n{number}", "utc": time.time()}
            with (run.path / NODES).open("a") as stream:
                stream.write(json.dumps({**reply, "identity": "a"}) + "\n")
        assert "running on n[1-2], " in follower._status_line()
    wait_for(lambda: bench.only_run().complete)


def test_a_book_of_jobs_outlives_torn_lines(tmp_path: Path) -> None:
    book = JobBook(tmp_path)
    book.append(batch.JobEvent("submitted", 1, 10.0, job="7", name="a"))
    with (tmp_path / "jobs.jsonl").open("ab") as stream:
        stream.write(b'{"event": "started", "num')
    book.append(batch.JobEvent("started", 1, 11.0, host="n1"))
    book.append(batch.JobEvent("started", 1, 12.0, host="n2"))  # seen again
    book.ended(1, "timeout")
    assert [event.event for event in book.events()] == ["submitted", "started", "ended"]
    story = book.job(1)
    assert (story.job, story.name) == ("7", "a")
    assert story.started is not None
    assert story.started.host == "n1"
    assert book.job(2).events == []


@pytest.mark.long
@pytest.mark.slow
def test_each_measurement_is_made_once_whatever_ends_the_job(
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
