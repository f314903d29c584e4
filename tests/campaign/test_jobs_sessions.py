"""Sessions through a scheduler: one job each, held until due, and the resources of jobs."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from assay.campaign.jobs.batch import job_request
from assay.model.sessions import session_of
from assay.records.jobs import JobAccounting, JobBook, JobEvent
from assay.records.reading import read_run
from assay.records.sessions import read_sessions
from jobs_bench import Bench, measurement_counts
from waiting import wait_for

EVERY = 4.0
PLAN = f"""
schema = 1
title = "Sessions"
seed = 5

[replication]
precision = "5%"
budget = "2 s"
every = "{EVERY} s"
min_launches = 2
max_launches = 2
cell_budget = "20 ms"

[[measure]]
kernel = "npb.ep"
class = ["S", "W"]
ppn = [1, 2]
"""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    yield from bench.used()


def by_session(bench: Bench) -> Counter[int]:
    data = read_run(bench.only_run().path)
    return Counter(
        session_of(m.replicate, data.manifest.plan.replication) for m in data.measurements
    )


def is_whole(bench: Bench, sessions: int) -> None:
    run = bench.only_run()
    assert run.complete
    assert run.broken_seal() == []
    assert by_session(bench) == dict.fromkeys(range(sessions), 8)
    assert set(measurement_counts(run).values()) == {1}


def dues(bench: Bench) -> list[float]:
    found = [e.due for e in read_sessions(bench.only_run().path) if e.event == "begun"]
    assert all(due is not None for due in found)
    return [due for due in found if due is not None]


def submitted_for_its_due_time(bench: Bench, job: str) -> float:
    """Checks the begin time of the second session's job, and returns it.

    A job that a busy machine starts more than EVERY after its begin time misses that session and
    takes the next one.
    """
    start, due = dues(bench)
    begin = bench.scheduler.order(job)["begin"]
    assert isinstance(begin, float)
    assert start < begin <= due
    assert (begin - start) % EVERY == pytest.approx(0.0, abs=1e-6)
    assert (due - begin) % EVERY == pytest.approx(0.0, abs=1e-6)
    return begin


@pytest.mark.long
def test_one_job_per_session_each_held_until_due(bench: Bench) -> None:
    done = bench.run("--sessions", "2")
    assert done.returncode == 0, done.stderr
    is_whole(bench, 2)
    assert "2 sessions, one every 4.00 s, and for each of them: One job of 1 node" in done.stderr
    first, second = bench.scheduler.jobs()
    assert bench.scheduler.order(first)["begin"] is None
    begin = submitted_for_its_due_time(bench, second)
    assert f"Job {second} continues, beginning on " in done.stderr
    # The first job submitted it when it ended.
    ends = [bench.book().end(number) for number in (1, 2)]
    assert [(end.how, end.made, end.next) for end in ends if end] == [
        ("session", 8, 2), ("complete", 8, None),
    ]  # fmt: skip
    events = {(e.event, e.number): e for e in bench.book().events()}
    assert events["submitted", 2].begin == begin
    assert events["started", 2].utc >= begin - 0.05
    assert events["ended", 1].state == "session"


def test_a_dry_run_prints_the_job_of_each_session(bench: Bench) -> None:
    done = bench.run("--dry-run", "--every", "6 h", "--duration", "2 days")
    assert done.returncode == 0, done.stderr
    scripts = json.loads(done.stdout)
    assert len(scripts) == 8
    assert scripts[0]["begin"] is None
    begins = [script["begin"] for script in scripts[1:]]
    assert [later - sooner for sooner, later in pairwise(begins)] == [6 * 3600.0] * 6
    assert begins[0] - time.time() == pytest.approx(6 * 3600.0, abs=60.0)
    for number, script in enumerate(scripts, 1):
        assert f"--number {number} " in script["script"]
    assert bench.scheduler.jobs() == []
    long = bench.run(
        *("--dry-run", "--every", "6 h", "--sessions", "2"),
        *("--walltime", "10 min", "--budget", "1500 s"),
    )
    scripts = json.loads(long.stdout)
    of_one = len(scripts) // 2
    assert of_one > 1
    assert [script["begin"] is not None for script in scripts] == [
        number == of_one for number in range(2 * of_one)
    ]
    # Each requests the time of one session, not two days.
    assert {script["walltime"] for script in scripts} == {600.0}


@pytest.mark.long
@pytest.mark.slow
def test_if_jobs_may_not_submit_the_follower_does(bench: Bench) -> None:
    bench.environment["ASSAY_TEST_NO_SUBMISSION_FROM_JOBS"] = "1"
    done = bench.run("--sessions", "2")
    assert done.returncode == 0, done.stderr
    is_whole(bench, 2)
    assert "its session is over" in done.stderr
    _, second = bench.scheduler.jobs()
    submitted_for_its_due_time(bench, second)


@pytest.mark.long
@pytest.mark.slow
def test_a_session_queued_too_long_is_missed_and_made_up_for(bench: Bench) -> None:
    process = bench.start("--sessions", "2")
    wait_for(lambda: len(bench.scheduler.jobs()) == 1)
    bench.scheduler.set(delay=3.0 * EVERY)
    _, said = process.communicate(timeout=90)
    assert process.returncode == 0, said
    is_whole(bench, 2)
    start, due = dues(bench)
    assert due - start >= 2 * EVERY
    assert (due - start) % EVERY == pytest.approx(0.0, abs=1e-6)
    begun = [e for e in read_sessions(bench.only_run().path) if e.event == "begun"]
    assert begun[1].missed == round((due - start) / EVERY) - 1


@pytest.mark.long
@pytest.mark.slow
def test_a_cancelled_session_is_not_restarted_but_resumed_when_the_next_is_due(
    bench: Bench,
) -> None:
    bench.scenario(delay="40 ms")
    process = bench.start("--sessions", "2")
    wait_for(bench.measuring)
    bench.scheduler.do("cancel")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1, said
    begun = dues(bench)[0]
    wait_for(lambda: time.time() > begun + EVERY)
    bench.scenario()
    done = bench.run("--resume")
    assert done.returncode == 0, done.stderr
    counts = by_session(bench)
    assert counts[0] < 8
    # Whether the first one counts depends on whether each cell was measured.
    voids = [e.session for e in read_sessions(bench.only_run().path) if e.how == "void"]
    assert sorted(counts.values())[1:] == [8] * (1 + len(voids))
    assert bench.only_run().complete


@pytest.mark.slow
def test_ctrl_c_while_the_next_session_is_waited_for(bench: Bench) -> None:
    process = bench.start("--sessions", "2", "--every", "60 s")
    wait_for(lambda: len(bench.scheduler.jobs()) == 2)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    second = bench.scheduler.jobs()[1]
    assert bench.scheduler.status([second])[second].state == "cancelled"
    # The next job is held until the same turn.
    due = bench.scheduler.order(second)["begin"]
    done = bench.run("--resume", "--detach")
    assert done.returncode == 0, done.stderr
    assert ", beginning on " in done.stderr
    third = bench.scheduler.jobs()[2]
    assert bench.scheduler.order(third)["begin"] == due
    bench.scheduler.do("cancel")


def test_runs_per_node_measure_once(bench: Bench) -> None:
    done = bench.run("--per-node", "--nodes", "2", "--sessions", "2")
    assert done.returncode == 2
    assert "compares nodes with each other" in done.stderr
    assert bench.scheduler.jobs() == []


# ---- resources of jobs ---------------------------------------------------------------------------


@pytest.mark.long
def test_a_jobs_resources_are_queried_once_and_kept(bench: Bench) -> None:
    bench.scenario(delay="50 ms")
    done = bench.run()
    assert done.returncode == 0, done.stderr
    (event,) = [event for event in bench.book().events() if event.event == "accounted"]
    account = event.accounting
    assert account is not None
    assert (account.source, account.state) == ("process", "complete")
    story = bench.book().job(1)
    assert story.accounted == event
    assert story.started is not None and story.ended is not None
    assert account.elapsed is not None and account.cpu is not None
    assert account.elapsed >= story.ended.utc - story.started.utc
    assert account.cpu > 0.0
    # They are not part of the measurement, and were not sealed.
    assert bench.only_run().broken_seal() == []
    assert bench.assay("runs", "--follow", "--no-report").returncode == 0
    assert [e.event for e in bench.book().events()].count("accounted") == 1


@pytest.mark.long
@pytest.mark.slow
def test_without_accounting_nothing_is_reported(bench: Bench) -> None:
    bench.scheduler.set(accounts=False)
    done = bench.run()
    assert done.returncode == 0, done.stderr
    assert bench.book().job(1).accounted is None
    assert "account" not in done.stderr
    # Accounting may be available later.
    bench.scheduler.set(accounts=True)
    assert bench.assay("runs", "--follow", "--no-report").returncode == 0
    assert bench.book().job(1).accounted is not None


def test_a_line_of_accounts_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    book = JobBook(tmp_path)
    account = JobAccounting("sacct", "COMPLETED", 61.0, 0.0, 118.5, 117.0, 1.5, "n[1-2]")
    book.append(JobEvent("submitted", 1, 10.0, job="7", begin=3600.0))
    book.account(1, account)
    book.account(1, JobAccounting("sacct", "FAILED"))  # queried again: the first one counts
    story = book.job(1)
    assert story.accounted is not None
    assert (story.accounted.accounting, story.accounted.job) == (account, "7")
    assert story.submitted is not None
    assert story.submitted.begin == 3600.0
    lines = (tmp_path / "jobs.jsonl").read_text().splitlines()
    assert len(lines) == 2
    # An unreported value isn't written, and certainly not as 0.
    assert json.loads(msgspec.json.encode(JobAccounting("flux jobs", elapsed=3.0))) == {
        "source": "flux jobs",
        "elapsed": 3.0,
    }


def test_a_jobs_time_is_that_of_its_session(bench: Bench) -> None:
    bench.scheduler.set(delay=60.0)
    assert bench.run("--detach", "--sessions", "3").returncode == 0
    request = bench.only_run().request()
    assert request is not None
    assert (request.sessions, request.every) == ("3", None)
    order = job_request(bench.only_run().path, request, 2, begin=5.0)
    assert order.begin == 5.0
    assert order.walltime == bench.scheduler.order(bench.scheduler.jobs()[0])["walltime"]
    bench.scheduler.do("cancel")
