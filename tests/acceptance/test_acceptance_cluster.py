"""A whole acceptance through a real Slurm: one node's link is 5% slower than the others'."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from assay.records.directory import RunDirectory, list_runs
from assay.records.group import read_group
from jobs_bench import Bench
from node_faults import rate_command
from slurm_lab import FailingSlurm, reason
from virtual_cluster import VirtualCluster
from waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(reason is not None, reason=reason or "")]
SUPPORT = Path(__file__).parents[1] / "support"
PROGRAM = str(SUPPORT / "link_sender.py")
RATE, NODES, SLOW = 2e6, 6, "node4"
# 4 MB take 2.09 s with the headers of frames, and 2.20 s on the slow link; the promise is in
# between. On a busy machine launches scatter, and neighbours are alike: greater risks than usual
# keep their number small.
CONTRACT = f"""
schema = 1
title = "Links of {NODES} nodes"

[risks]
supplier = "20%"
buyer = "20%"

[machine]
hosts = "node[2-{NODES + 1}]"

[penalties]
currency = "EUR"

[[commitment]]
name = "Link of each node"
cells = "app"
metric = "time"
at_most = "2.16 s"
margin = "3%"
per = "node"
penalty = 1000
variation = "1.4%"
"""


class Links:
    """A Slurm whose nodes send over shaped links, and programs that receive there."""

    def __init__(self, stack: ExitStack) -> None:
        cluster = stack.enter_context(VirtualCluster(NODES + 1, rates=(RATE,)))
        self.nodes = cluster.hosts[1:]
        slurm = stack.enter_context(FailingSlurm(cluster, nodes=self.nodes))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in slurm.environment().items():
            patch.setenv(name, value)
        for node in self.nodes:
            words = cluster.command(node, sys.executable, PROGRAM, "sink", node.addresses[0])
            sink = subprocess.Popen(words, stdout=subprocess.PIPE)
            stack.callback(sink.wait)
            stack.callback(sink.kill)
            assert sink.stdout is not None and sink.stdout.readline()
            if node.name == SLOW:
                subprocess.run(cluster.command(node, *rate_command(0.95 * RATE)), check=True)

    @property
    def command(self) -> str:
        listed = ",".join(f"{node.name}={node.addresses[0]}" for node in self.nodes)
        return f"{sys.executable} {PROGRAM} send {listed}"


@pytest.fixture
def links() -> Iterator[Links]:
    with ExitStack() as stack:
        yield Links(stack)


def test_the_slow_node_is_found_although_the_following_process_was_killed(
    links: Links, tmp_path: Path
) -> None:
    bench = Bench(tmp_path, SUPPORT / "assay_in_a_hurry.py")
    (tmp_path / "contract.toml").write_text(CONTRACT)
    words = [
        *("accept", "contract.toml", "--measure", "--submit", "--runs", str(bench.runs), "--json"),
        *("--app", links.command, "--time", r"took (\S+) s", "--walltime", "20 min"),
    ]
    first = subprocess.Popen(
        bench.command(*words),
        cwd=tmp_path,
        env=bench.environment | dict(os.environ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: any(launches(bench, number) >= 2 for number in range(NODES)), 300)
    first.send_signal(signal.SIGKILL)
    first.wait()
    done = bench.assay(*words, timeout=600)
    assert done.returncode == 1, done.stderr
    (run,) = list_runs(bench.runs)
    assert run.complete
    hosts = {member.host for member in read_group(run.path).members}
    assert hosts == {node.name for node in links.nodes}
    found = json.loads(done.stdout)
    (each,) = found["commitments"]
    assert (found["outcome"], each["outcome"]) == ("rejected", "rejected")
    assert [node["node"] for node in each["nodes"]["slow"]] == [SLOW]
    assert each["nodes"]["doubtful"] == 1
    # The slow link's share of what was promised, divided by all nodes: for each per cent 1,000.
    slow = each["nodes"]["slow"][0]["value"]
    assert slow == pytest.approx(each["value"] / 0.95, rel=0.01)
    missing = slow / each["promised"] - 1.0
    assert found["penalty"]["value"] == pytest.approx(1000 * 100 * missing / NODES)
    assert 0.02 < missing < 0.05


def launches(bench: Bench, number: int) -> int:
    """The launches of a member so far."""
    member: RunDirectory | None = next(iter(list_runs(bench.runs)), None)
    return len(list(member.member(number).raw.glob("*.jsonl"))) if member is not None else 0
