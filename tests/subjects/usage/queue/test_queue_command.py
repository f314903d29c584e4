"""`assay usage` with the scheduler's model: the native program, and what it is right to expect."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.cli.app import main
from assay.report.usage.replaying import native_replay
from assay.subjects.usage.queue.asking import QueueQuery, find_with_queue
from assay.subjects.usage.queue.findings import Replay
from assay.usage.analysis.query import UsageQuery
from assay.usage.queue.measure import measure_of
from assay.usage.queue.policies import POLICIES
from assay.usage.scheduler.machine import EqualNodes, Machine
from assay.usage.workload.change import with_limits
from assay.usage.workload.estimates import modal
from assay.usage.workload.lublin import lublin
from plain_scheduler import first_come
from planted_loads import planted_load
from usage_logs import swf_of

JOBS = [(n, 500 * n, 60 * (n % 7), 300 * (n % 9) + 10, 1 + n % 8) for n in range(1, 1000)]


def run(*words: str | Path) -> int:
    """The status of a command."""
    with pytest.raises(SystemExit) as left:
        main(["usage", *map(str, words)])
    return int(left.value.code or 0)


def test_a_load_as_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    log.write_text(swf_of(JOBS, processors=16))
    script = tmp_path / "load.sh"
    assert run(log, "--as-slurm", script, "--scale", 60, "--nodes", 4, "--jobs", 20) == 0
    assert "submits 20 jobs" in " ".join(capsys.readouterr().out.split())
    lines = script.read_text().splitlines()
    assert sum(line.startswith("submit ") for line in lines) == 20
    assert script.stat().st_mode & 0o100
    assert run(log, "--as-slurm", tmp_path / "no" / "load.sh") == 2
    assert "can't be written" in capsys.readouterr().err


def test_wrong_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    log.write_text(swf_of(JOBS, processors=16))
    for words, said in (
        (("--synthetic", "lublin", log), "replaces a log"),
        (("--synthetic", "jann"), "no synthetic load"),
        ((log, "--model", "esay"), "Did you mean 'easy'?"),
        ((log, "--what-if", "nodse=1"), "Did you mean 'nodes'?"),
        ((log, "--estimates", "soon"), "not a kind of estimates"),
        ((log, "--scale", "60"), "--as-slurm FILE"),
        ((log, "--run", tmp_path), "no what-if refers to it"),
        ((log, "--run", tmp_path, "--what-if", "nodes=+1"), "no what-if refers to it"),
        ((log, "--run", tmp_path, "--what-if", "cov=run:1%"), "There is no run here"),
        ((log, "--what-if", "cov=run:1%"), "no run to take the CoV from"),
        ((log, "--resamples", "10"), "Resamples are only used for what-ifs"),
        ((log, "--seed", "5"), "only used with the scheduler"),
        ((log, "--as-slurm", "load.sh", "--json"), "without a report"),
        ((log, "--as-slurm", "load.sh", "-o", "a.html"), "without a report"),
        ((log, "--as-slurm", "load.sh", "--jobs", "0"), "from 1 to 10000000"),
        (
            (log, "--as-slurm", "load.sh", "--nodes", "0"),
            "--nodes: A Slurm cluster has at least one node",
        ),
        ((log, "--as-slurm", "load.sh", "--scale", "1e-300"), "more than ten years"),
        (("--synthetic", "lublin", "--jobs", "1"), "from 2 to 10000000"),
        ((log, "--jobs", "5"), "only be stated for a synthetic load"),
        ((log, "--model", "easy", "--user", "0"), "all queues and users"),
    ):
        assert run(*words) == 2, words
        assert said in " ".join(capsys.readouterr().err.split())


def test_a_log_without_waits_has_no_what_ifs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    log.write_text(swf_of([(job, begin, 0, *rest) for job, begin, _, *rest in JOBS], processors=16))
    assert run(log, "--what-if", "nodes=+50%") == 2
    assert "The log has no waits" in " ".join(capsys.readouterr().err.split())


@pytest.fixture(scope="module")
def native() -> Replay:
    return native_replay()


@pytest.mark.slow
def test_the_command_reports_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    jobs = [(n, 5000 * n, 0, 900 * (n % 9) + 10, 1 + n % 8) for n in range(1, 1000)]
    load = planted_load(*np.array(jobs)[:, [1, 3, 4]].T, limit=[2 * job[3] + 60 for job in jobs])
    machine = Machine(nodes=(EqualNodes(count=8),))
    waits = native_replay()(load, machine, POLICIES["easy"]).start - load.submit
    jobs = [(n, at, int(waits[n - 1]), run, size) for n, at, _, run, size in jobs]
    log.write_text(swf_of(jobs, processors=8, users=1000))
    words = ("--what-if", "nodes=+50%", "--what-if", "cov=5.7%:1%", "--resamples", 20)
    assert run(log, *words, "--verbose", "-o", tmp_path / "a.json") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "How busy is it, and what does the queue cost?" in out
    assert "lets users ask for" in out
    assert run(log, *words, "--json") == 0
    found = json.loads(capsys.readouterr().out)["queue"]
    assert found["model"] == "easy" and found["resamples"] == 20
    assert found["what_ifs"][0]["wait"] < 0
    assert [each["text"] for each in found["what_ifs"]] == ["nodes=+50%", "cov=5.7%:1%"]


@pytest.mark.slow
def test_one_server_has_the_waits_of_lindleys_recursion(native: Replay) -> None:
    """Poisson arrivals: exact, job by job; and the mean wait of M/D/1, ρ S ÷ (2 (1 − ρ))."""
    rng = np.random.default_rng(7)
    count = 60_000
    submit = np.cumsum(rng.exponential(100.0, count))
    load = planted_load(submit, np.full(count, 60.0))
    one = Machine(nodes=(EqualNodes(count=1),))
    schedule = native(load, one, POLICIES["fcfs"])
    ready = np.arange(count) * 60.0
    # W(n) = max over k <= n of (S(k..n-1) - (A(n) - A(k))).
    begin = np.maximum.accumulate(submit - ready) + ready
    assert schedule.start == pytest.approx(begin, abs=1e-3)
    found = measure_of(load, schedule, 1)
    assert found.wait == pytest.approx(0.6 * 60.0 / (2 * 0.4), rel=0.05)
    assert found.utilisation == pytest.approx(0.6, rel=0.02)


@pytest.mark.slow
def test_the_plain_scheduler_is_the_native_one(native: Replay) -> None:
    load = modal(lublin(800, 32, 5), 5)
    load = replace(load, run=np.where(np.arange(800) % 9 == 0, load.run * 2, load.run))
    machine = Machine(nodes=(EqualNodes(count=32),))
    ours, theirs = (each(load, machine, POLICIES["fcfs"]) for each in (first_come, native))
    assert ours.start == pytest.approx(theirs.start, abs=1e-6)
    assert np.array_equal(ours.state, theirs.state)


@pytest.mark.slow
def test_halved_limits_shorten_planted_waits(native: Replay) -> None:
    """Short jobs whose requests are twice too long fit a hole only once these are halved.

    Per cycle: 3 of 4 processors for 100 s, then a job of all 4 that must wait for them, then a job
    of one processor and 60 s. Requesting 120 s it would delay the large job, and runs after it;
    requesting 60 s it is started at once.
    """
    cycles = 200
    begin = np.repeat(np.arange(cycles) * 1000.0, 3)
    submit = begin + np.tile([0.0, 1.0, 2.0], cycles)
    load = planted_load(
        submit,
        np.tile([100.0, 50.0, 60.0], cycles),
        np.tile([3, 4, 1], cycles),
        limit=np.tile([100.0, 50.0, 120.0], cycles),
    )
    machine = Machine(nodes=(EqualNodes(count=4),))
    waits = [
        measure_of(each, native(each, machine, POLICIES["easy"]), 4).wait
        for each in (load, with_limits(load, 0.5))
    ]
    # 0 + 99 + 148 s before; 0 + 99 + 0 s with shorter requests.
    assert waits == pytest.approx([247 / 3, 99 / 3])


@pytest.mark.slow
def test_a_lost_node_and_a_longest_request(native: Replay) -> None:
    found = find_with_queue(
        None,
        UsageQuery(processors=16),
        QueueQuery(
            synthetic="lublin",
            jobs=3000,
            load=0.8,
            what_ifs=("lost-node=2d:8", "longest=2h", "policy=fcfs"),
            resamples=20,
        ),
        lambda: native,
    )
    queue = found.queue
    assert queue is not None
    lost, split, fcfs = queue.what_ifs
    assert lost.wait is not None and lost.wait > 0.0 and lost.measure.lost > 0.0
    assert split.measure.jobs == 3000
    assert fcfs.wait is not None and fcfs.wait > 0.0
    assert msgspec.json.encode(queue)
