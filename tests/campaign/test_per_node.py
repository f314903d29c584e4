"""Runs per node: in an array of jobs and on hosts; and the comparison of nodes."""

from __future__ import annotations

import json
import shlex
import signal
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from assay.campaign.commands.per_node import assign
from assay.errors import AssayError
from assay.records.directory import RunDirectory
from assay.records.group import Member, read_group, unfinished_members
from assay.records.jobs import JobBook
from assay.records.reading import read_run
from assay.report import write_report
from assay.report.nodes.build import build_group
from assay.subjects.nodes.answer import answer
from assay.subjects.nodes.by_node import by_node, gains, measure_node
from assay.subjects.nodes.findings import compare_nodes, find
from assay.subjects.nodes.model import MeasuredNode
from jobs_bench import Bench, measurement_counts
from records_builder import make_cell, make_launch, make_plan, make_record, make_run, make_stream
from waiting import wait_for

pytestmark = pytest.mark.usefixtures("patient_ranks")

# A host of a fake cluster: a shell that runs the command on this machine.
REMOTE_SHELL = """#!/bin/sh
host=$1
shift
echo "$host" >> {log}
{broken}
exec sh -c "$*"
"""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    yield from Bench(tmp_path).used()


def group_of(bench: Bench) -> RunDirectory:
    run = bench.only_run()
    assert (run.path / "members").is_dir()
    return run


# ---- in jobs -------------------------------------------------------------------------------------


@pytest.mark.long
def test_an_array_of_jobs_makes_one_run_per_node(bench: Bench) -> None:
    done = bench.run("--per-node", "--nodes", "3")
    assert done.returncode == 0, done.stderr
    group = group_of(bench)
    (job,) = bench.scheduler.jobs()
    order = bench.scheduler.order(job)
    assert (len(order["outputs"]), order["nodes"]) == (3, 1)
    for member in range(3):
        run = group.member(member)
        assert run.complete
        assert run.broken_seal() == []
        assert set(measurement_counts(run).values()) == {1}
        assert run.manifest().plan.seed == 5
    assert group.complete
    (listed,) = json.loads(bench.assay("runs", "--json").stdout)
    assert (listed["state"], listed["members"]) == ("complete", {"complete": 3})
    assert listed["run"] == group.name
    report = json.loads(done.stdout)
    (section,) = report["sections"]
    assert section["id"] == "nodes"
    assert section["status"] == "answered"
    assert report["findings_schema"] == 1
    assert section["findings"]["measured"] == 3
    assert [member["state"] for member in section["findings"]["members"]] == ["complete"] * 3
    shown = bench.assay("report", group.name)
    assert shown.returncode == 0, shown.stderr
    assert "How alike are its nodes?" in shown.stdout
    assert (group.path / "report.html").stat().st_size > 100_000


@pytest.mark.long
def test_only_the_missing_nodes_are_measured_again(bench: Bench) -> None:
    bench.scenario(delay="25 ms")
    assert bench.run("--per-node", "--nodes", "3", "--detach").returncode == 0
    group = group_of(bench)
    wait_for(lambda: sum(group.member(n).begun for n in range(3)) == 3)
    wait_for(lambda: all(sum(measurement_counts(group.member(n)).values()) > 3 for n in range(3)))
    # One node fails with its task; the other two complete.
    victims = [p for p in bench.scheduler.processes() if p.environ().get("ASSAY_TASK") == "1"]
    for victim in victims:
        victim.kill()
    assert victims
    followed = bench.assay("runs", "--follow", "--no-report", "--json")
    assert followed.returncode == 1, followed.stderr
    assert "assay run --resume" in followed.stderr
    assert unfinished_members(group.path, 3) == [1]
    (listed,) = json.loads(bench.assay("runs", "--json").stdout)
    assert listed["state"] == "unfinished"
    assert listed["members"] == {"complete": 2, "unfinished": 1}
    kept = {n: group.member(n).streams() for n in (0, 2)}
    done = bench.run("--resume")
    assert done.returncode == 0, done.stderr
    assert group.complete
    assert {n: group.member(n).streams() for n in (0, 2)} == kept
    assert set(measurement_counts(group.member(1)).values()) == {1}
    assert JobBook(group.path).job(2).members == [1]
    assert len(bench.scheduler.order(bench.scheduler.jobs()[1])["outputs"]) == 1


def test_without_a_number_of_nodes_it_is_refused(bench: Bench) -> None:
    done = bench.run("--per-node")
    assert done.returncode == 2
    assert "--nodes" in done.stderr
    wrong = bench.run("--per-node", "--nodes", "1,2")
    assert wrong.returncode == 2
    assert "'1,2' is not a number of nodes" in wrong.stderr


# ---- on given hosts ------------------------------------------------------------------------------


def with_hosts(bench: Bench, *hosts: str, broken: str = "") -> None:
    shell = bench.path / "remote-shell"
    log = shlex.quote(str(bench.path / "asked"))
    shell.write_text(REMOTE_SHELL.format(log=log, broken=broken))
    shell.chmod(0o700)
    names = ", ".join(f'"{host}"' for host in hosts)
    (bench.path / "assay.toml").write_text(
        f'[cluster]\nhosts = [{names}]\nremote_shell = "./remote-shell"\n'
    )


@pytest.mark.long
def test_hosts_in_brackets(bench: Bench) -> None:
    with_hosts(bench, "n[00001-10000]")
    done = bench.run("--per-node", "--nodes", "10001")
    assert done.returncode == 2
    assert "There are 10,000 nodes." in done.stderr
    with_hosts(bench, "n[08-09]", "m1")
    done = bench.run("--per-node")
    assert done.returncode == 0, done.stderr
    assert sorted((bench.path / "asked").read_text().split()) == ["m1", "n08", "n09"]


def test_on_given_hosts_each_measures_itself(bench: Bench) -> None:
    with_hosts(bench, "n1", "n2")
    done = bench.run("--per-node")
    assert done.returncode == 0, done.stderr
    group = group_of(bench)
    assert group.complete
    assert sorted((bench.path / "asked").read_text().split()) == ["n1", "n2"]
    request = group.request()
    assert request is not None
    assert (request.members, request.scheduler) == (2, None)


@pytest.mark.long
def test_a_host_that_fails_is_named_and_measured_at_the_next_try(bench: Bench) -> None:
    broken = '[ "$host" != n2 ] || { echo "No route to host" >&2; exit 255; }'
    with_hosts(bench, "n1", "n2", broken=broken)
    done = bench.run("--per-node")
    assert done.returncode == 1
    assert "n2: No route to host" in done.stderr
    group = group_of(bench)
    assert unfinished_members(group.path, 2) == [1]
    with_hosts(bench, "n1", "n2")
    done = bench.run("--resume", "--fake", "scenario.toml")
    assert done.returncode == 0, done.stderr
    assert group.complete


@pytest.mark.long
def test_a_remote_shell_may_pass_no_input_on(bench: Bench) -> None:
    with_hosts(bench, "n1", "n2", broken="exec </dev/null")
    done = bench.run("--per-node")
    assert done.returncode == 0, done.stderr
    assert group_of(bench).complete


def test_a_missing_node_is_one_that_was_not_measured() -> None:
    assert assign([1, 4], ["n1.site", None], ["n1", "n2", "n3"]) == {1: "n2", 4: "n3"}
    assert assign([0], ["n2"], ["n1.site", "n2.site"]) == {0: "n1.site"}
    with pytest.raises(AssayError, match="1 of the 2 hosts here have already been"):
        assign([1, 4], ["n1"], ["n1", "n2"])


@pytest.mark.long
def test_ctrl_c_ends_all_hosts_regularly(bench: Bench) -> None:
    bench.scenario(delay="50 ms")
    with_hosts(bench, "n1", "n2")
    process = bench.start("--per-node")
    wait_for(lambda: bench.runs.is_dir() and list(bench.runs.glob("*/members/*/raw/*.jsonl")))
    group = group_of(bench)
    wait_for(lambda: all(group.member(n).begun for n in range(2)))
    wait_for(lambda: all(sum(measurement_counts(group.member(n)).values()) > 2 for n in range(2)))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    ends = [JobBook(group.path).end(1, task) for task in range(2)]
    assert [end.how for end in ends if end] == ["asked", "asked"]
    assert [m.state for m in read_group(group.path).members] == ["unfinished", "unfinished"]
    bench.scenario()
    assert bench.run("--resume", "--fake", "scenario.toml").returncode == 0
    assert group.complete
    assert all(set(measurement_counts(group.member(n)).values()) == {1} for n in range(2))


@pytest.mark.long
def test_when_the_leader_is_killed_the_hosts_end(bench: Bench) -> None:
    bench.scenario(delay="50 ms")
    with_hosts(bench, "n1", "n2")
    process = bench.start("--per-node")
    # A member that has not begun yet would have no end.
    wait_for(lambda: len({path.parent for path in bench.runs.glob("*/members/*/raw/*.jsonl")}) == 2)
    group = group_of(bench)
    process.kill()
    process.communicate(timeout=20)
    wait_for(lambda: all(JobBook(group.path).end(1, task) for task in range(2)))
    bench.scenario()
    assert bench.run("--resume", "--fake", "scenario.toml").returncode == 0
    assert group.complete


# ---- comparison ----------------------------------------------------------------------------------

CELLS = [make_cell("network.barrier", ppn=2), make_cell("network.barrier", ppn=4)]


def node(root: Path, name: str, times: Sequence[float], member: int = 0) -> MeasuredNode:
    """A node on which each cell takes this long, in six launches."""
    run = make_run(root / name, make_plan(CELLS, precision=0.5))
    for launch in range(6):
        records = [make_record(cell, launch, [t] * 5) for cell, t in zip(CELLS, times, strict=True)]
        name_ = f"{launch:04d}-a"
        (run.raw / f"{name_}.jsonl").write_bytes(make_stream(name_, records))
        run.append_launch(make_launch(name_))
    run.seal()
    return measure_node(name, member, read_run(run.path))


def test_deviations_equal_brute_force(tmp_path: Path) -> None:
    times = {"n1": 1.00, "n2": 1.02, "n3": 0.99, "n4": 1.01, "n5": 1.30, "n6": 1.00, "n7": 0.98}
    nodes = [
        node(tmp_path, name, [time, 2 * time], number)
        for number, (name, time) in enumerate(times.items())
    ]
    first, second = by_node(nodes)
    median = statistics.median(times.values())
    sigma = 1.4826 * statistics.median(abs(t - median) for t in times.values())
    assert first.median == median
    assert second.median == 2 * median
    assert first.robust == pytest.approx(sigma / median)
    assert first.cov == pytest.approx(
        statistics.stdev(times.values()) / statistics.mean(times.values())
    )
    assert first.ci95 is not None
    for value in first.values:  # less time is better
        assert value.gain == pytest.approx((median - times[value.node]) / median)
        assert value.sigmas == pytest.approx((median - times[value.node]) / sigma)
    assert next(value.node for value in first.values) == "n7"
    assert [value.node for value in first.values][-1] == "n5"
    behind = gains([first, second])
    assert behind[0].node == "n5"
    assert behind[0].gain == pytest.approx(-0.3)
    replied = answer(compare_nodes(nodes, [first, second]))
    assert replied.status == "answered"
    # Seven nodes don't show how long the tail of their values is, but no usual tail reaches so far.
    assert replied.confidence == "high"
    assert replied.verdict.startswith("1 of 7 nodes to check. n5: ")
    assert " 30% slower" in replied.verdict


def test_without_a_node_to_check_the_verdict_says_how_far_they_differ(tmp_path: Path) -> None:
    nodes = [node(tmp_path, f"n{i}", [1.0 + 0.01 * i, 2.0], i) for i in range(4)]
    verdict = answer(compare_nodes(nodes, by_node(nodes))).verdict
    assert "to check" not in verdict
    assert "The largest difference is " in verdict
    assert "between n3 (−1.5%" in verdict and " and n0 (+1.5%" in verdict


def test_if_most_nodes_are_equal_there_is_no_robust_deviation(tmp_path: Path) -> None:
    nodes = [node(tmp_path, f"n{i}", [1.0, 1.0 if i else 3.0], i) for i in range(5)]
    first, second = by_node(nodes)
    assert {value.sigmas for value in (*first.values, *second.values)} == {None}
    assert second.values[-1].gain == pytest.approx(-2.0)


def test_a_cell_of_one_node_gives_no_comparison(tmp_path: Path) -> None:
    alone = node(tmp_path, "n1", [1.0, 2.0])
    assert by_node([alone]) == []
    members = [Member(0, "complete", "n1"), Member(1, "missing")]
    replied = answer(compare_nodes([alone], [], members))
    assert replied.status == "unmeasured"
    assert replied.verdict == "Not measured: 1 node of 2 cannot be compared."
    assert replied.caveats == ["No result from 1 node: number 1."]


@pytest.mark.long
def test_the_groups_report_is_made_in_each_form(bench: Bench, tmp_path: Path) -> None:
    assert bench.run("--per-node", "--nodes", "2").returncode == 0
    group = read_group(group_of(bench).path)
    found = find(group)
    assert [node.name for node in found.measurements] == ["fake0", "fake1"]
    assert not found.examined  # of two nodes the deviating one cannot be identified
    model = build_group(group, found)
    assert model.complete
    written = write_report(model, tmp_path / "report", ["html", "markdown", "json"])
    page, text, data = (path.read_text() for path in written)
    assert "Each node against the median node" in page
    assert "Each cell, over all nodes" in text
    assert len(msgspec.json.decode(data)["sections"][0]["figures"][0]["rows"]) == 2 * 7


SLOW = """
schema = 1
seed = 3
launch_time = "1 ms"
[[kernel]]
match = "network.*"
time = "0.001 * (1 + 0.25 * (node == 4))"
noise = { sigma = 0.01, launch_sigma = 0.01 }
[[kernel]]
time = 0.001
noise = { sigma = 0.01, launch_sigma = 0.01 }
"""


@pytest.mark.long
def test_a_slow_node_is_named_and_fails_a_run_if_requested(bench: Bench) -> None:
    (bench.path / "scenario.toml").write_text(SLOW)
    done = bench.run("--per-node", "--nodes", "6", "--fail-on", "nodes")
    assert done.returncode == 1, done.stderr
    (section,) = json.loads(done.stdout)["sections"]
    assert section["verdict"].startswith("1 of 6 nodes to check. fake4: messages within the node")
    (suspects,) = [table for table in section["tables"] if table["id"] == "nodes-suspects"]
    assert suspects["rows"][0][0]["text"] == "fake4"
    assert suspects["rows"][0][2]["value"] == pytest.approx(-0.25, abs=0.03)
    again = bench.assay("runs", "--follow", "--no-report", "--json", "--fail-on", "failure")
    assert again.returncode == 0, again.stderr
    shown = bench.assay("report", group_of(bench).name, "--format", "terminal")
    assert "Check fake4" in shown.stdout
