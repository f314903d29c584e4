"""Runs through a scheduler's jobs: submitted, refused, measured, followed."""

from __future__ import annotations

import io
import json
import socket
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from assay.campaign.jobs import batch, polling
from assay.campaign.jobs.follow import Follower
from assay.campaign.jobs.run_watch import watching
from assay.campaign.jobs.status_line import status_line
from assay.records.directory import NODES, list_runs
from assay.records.jobs import JobBook
from assay.schedulers.model import JobStatus
from jobs_bench import Bench, is_whole, local_results, slowly
from waiting import wait_for


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    yield from Bench(tmp_path).used()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    return local_results(tmp_path_factory.mktemp("undisturbed"))


# ---- submitted, measured, followed ---------------------------------------------------------------


def test_a_run_in_a_job_equals_a_local_run(
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
    # Requested as estimated, in whole minutes.
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
    # A run that has ended is presented immediately.
    again = bench.assay("runs", "--follow", "--json", "--no-report")
    assert (again.returncode, again.stdout) == (0, followed.stdout), again.stderr


@pytest.mark.long
def test_without_a_submitted_run_there_is_nothing_to_follow(bench: Bench) -> None:
    assert bench.run("--here").returncode == 0
    done = bench.assay("runs", "--follow")
    assert done.returncode == 2
    assert "No run in this folder was submitted." in done.stderr


@pytest.mark.long
def test_the_plan_is_the_requested_one(bench: Bench) -> None:
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


def test_a_wrong_plan_is_reported_before_submission(bench: Bench) -> None:
    text = (bench.path / "plan.toml").read_text()
    (bench.path / "plan.toml").write_text(text.replace("npb.ep", "npb.pe"))
    done = bench.run()
    assert done.returncode == 2
    assert "plan.toml:19" in done.stderr
    assert list_runs(bench.runs) == []
    assert bench.scheduler.jobs() == []


def test_what_a_node_cannot_run_is_reported_by_the_job_and_shown_here(bench: Bench) -> None:
    # Not known here: the number of cores of a node.
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


def test_a_refused_job_leaves_nothing_and_the_reason_is_reported(bench: Bench) -> None:
    bench.scheduler.set(reject="qsub: Unauthorized Request MSG=group ACL is not satisfied")
    done = bench.run()
    assert done.returncode == 2
    assert "group ACL is not satisfied" in done.stderr
    assert list_runs(bench.runs) == []


@pytest.mark.long
def test_a_silent_scheduler_is_reported_and_waited_for(
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


@pytest.mark.long
def test_a_scheduler_that_forgets_its_jobs_makes_no_difference(
    bench: Bench, undisturbed: dict[str, list[float]]
) -> None:
    bench.scheduler.set(forgetful=True)
    assert bench.run().returncode == 0
    is_whole(bench, undisturbed)


# ---- the pieces ----------------------------------------------------------------------------------


def test_polling_intervals_grow_to_half_a_minute() -> None:
    poll = polling.Poll()
    waits = []
    for _ in range(12):
        waits.append(poll.wait)
        poll.next()
    assert waits[0] == 2.0
    assert all(later >= sooner for sooner, later in pairwise(waits))
    assert waits[-1] == 30.0


def test_the_jobs_state_is_one_line(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.scheduler.set(delay=60.0)
    assert bench.run("--detach").returncode == 0
    run = bench.only_run()
    request = run.request()
    assert request is not None
    console = Console(file=io.StringIO(), width=200)
    with watching(run, request, console) as watch:
        follower = Follower(run, request, bench.scheduler, console, watch)
        story, poll = bench.book().job(1), follower._poll
        poll.begin(story.job)

        def line() -> str:
            return status_line(run, bench.book(), poll)

        def ask() -> bool:
            poll._poll.due = 0.0
            return follower._ask(story)

        assert not ask()
        poll.since -= 180
        assert line() == f"job {story.job}: queued for 3 min, Resources"
        bench.scheduler.set(silent=True)
        assert not ask()
        poll.silent_since = (poll.silent_since or 0.0) - 120
        assert line().endswith("no answer from the scheduler for 2 min")
        bench.scheduler.set(silent=False)
        bench.scheduler.do("begin")
        wait_for(lambda: bench.book().job(1).started)
        ask()
        poll.state = JobStatus("running")
        assert line().startswith(f"job {story.job}: running on {socket.gethostname()}, ")
        assert line().endswith(" left")
        for number in (1, 2):
            reply = {"host": f"n{number}", "hostname": f"n{number}", "utc": time.time()}
            with (run.path / NODES).open("a") as stream:
                stream.write(json.dumps({**reply, "identity": "a"}) + "\n")
        assert "running on n[1-2], " in line()
    wait_for(lambda: bench.only_run().complete)


def test_a_job_book_survives_partial_lines(tmp_path: Path) -> None:
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
def test_a_result_that_misses_an_expectation_fails_the_run(bench: Bench) -> None:
    expectations = """
[scheduler]
[[expect]]
cells = "network.pingpong bytes=8"
value = "1 ms"
tolerance = "20%"
[[expect]]
cells = "npb.ep class=S ppn=1"
metric = "time"
value = "0.5 ms"
"""
    (bench.path / "assay.toml").write_text(expectations)
    done = bench.run("--fail-on", "expectation", "--junit", "junit.xml")
    assert done.returncode == 1, done.stderr
    assert "2 expectations: 1 met and 1 missed." in done.stderr
    assert "missed: EP class S" in done.stderr
    assert (bench.path / "junit.xml").read_text().count("<failure") == 1
    again = bench.assay("report", "--fail-on", "expectation", "--format", "terminal")
    assert again.returncode == 1
    assert bench.assay("report", "--format", "terminal").returncode == 0
    assert bench.assay("runs", "--follow", "--no-report").returncode == 0
