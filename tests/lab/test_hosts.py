"""Several real hosts: surveyed, examined, lost during a run, and completed afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.kernels.builds.identity import cpu_kind
from assay.lab import network
from assay.records.directory import NODES, list_runs
from assay.records.reading import read_run
from assay.records.stream import read_stream
from assay.system.survey import read_nodes
from campaign_lab import measurement_counts
from virtual_cluster import VirtualCluster

reason = network.why_not()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(reason is not None, reason=reason or ""),
    pytest.mark.usefixtures("patient_ranks"),
]
# A host whose adapter is down can't be reached, though a namespace can always be entered.
SHELL = """\
#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
case $1 in {cases} esac
if ! ip -n "$namespace" -brief link show eth0 | grep -q ' UP '; then
  echo "no route to $1" >&2
  exit 255
fi
exec {shell} "$@"
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    with VirtualCluster(4) as made:
        yield made


@pytest.fixture
def folder(cluster: VirtualCluster, tmp_path: Path) -> Path:
    shell = tmp_path / "shell"
    cases = " ".join(
        f"{host.name} | {host.addresses[0]}) namespace={host.namespace} ;;"
        for host in cluster.hosts
    )
    shell.write_text(SHELL.format(cases=cases, shell=cluster.remote_shell))
    shell.chmod(0o700)
    text = cluster.config().replace(str(cluster.remote_shell), str(shell))
    (tmp_path / "assay.toml").write_text(text)
    return tmp_path


def command(cluster: VirtualCluster, *words: str) -> list[str]:
    return cluster.command(cluster.hosts[0], sys.executable, "-m", "assay", *words)


def assay(cluster: VirtualCluster, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(cluster, *words), cwd=folder, capture_output=True, text=True, timeout=300
    )


def link(cluster: VirtualCluster, host: int, state: str) -> None:
    network.run("ip", "-n", cluster.hosts[host].namespace, "link", "set", "eth0", state)


@pytest.mark.parametrize("nodes", ["1,2", pytest.param("1,2,4", marks=pytest.mark.long)])
@pytest.mark.long
def test_all_hosts_are_surveyed_and_every_record_finds_its_host(
    cluster: VirtualCluster, folder: Path, nodes: str
) -> None:
    words = ["npb.cg", "class=S", f"nodes={nodes}", "--launches", "1", "--samples", "5", "--keep"]
    done = assay(cluster, folder, "measure", *words, "--json")
    assert done.returncode in (0, 1), done.stderr
    (run,) = list_runs(folder / "runs")
    surveyed = read_nodes(run.path / NODES)
    addresses = [host.addresses[0] for host in cluster.hosts]
    assert [n.host for n in surveyed] == addresses
    assert [n.hostname for n in surveyed] == [host.name for host in cluster.hosts]
    assert {n.identity for n in surveyed} == {cpu_kind()}
    assert all(n.seen and n.writable and n.cores == 1 for n in surveyed)
    for n in surveyed:
        assert n.ahead is not None and n.ahead[0] < 0 < n.ahead[1]
    hostnames = {n.hostname for n in surveyed}
    data = read_run(run.path)
    assert {m.cell.placement.nodes for m in data.measurements} == {
        int(each) for each in nodes.split(",")
    }
    for m in data.measurements:
        assert {rank.host for rank in m.ranks} <= hostnames
        assert len({rank.host for rank in m.ranks}) == m.cell.placement.nodes


@pytest.mark.long
def test_a_drawn_node_set_determines_where_ranks_run(cluster: VirtualCluster, folder: Path) -> None:
    words = ["network.barrier", "nodes=2", "node_set=0..3:+1", "--seed", "3", "--launches", "1"]
    done = assay(cluster, folder, "measure", *words, "--samples", "5", "--keep", "--json")
    assert done.returncode in (0, 1), done.stderr
    from assay.launch.node_sets import choose_hosts

    names = {host.addresses[0]: host.name for host in cluster.hosts}
    (run,) = list_runs(folder / "runs")
    seen = {}
    for m in read_run(run.path).measurements:
        seen[m.cell.placement.node_set] = {rank.host for rank in m.ranks}
    assert seen == {
        k: {names[host] for host in choose_hosts(list(names), 2, k, 3)} for k in range(4)
    }
    assert len({frozenset(hosts) for hosts in seen.values()}) > 1
    assert [cell["hosts"] for cell in json.loads(done.stdout)] != [["node[1-2]"]] * 4


PLAN = """
schema = 1
seed = 4
[replication]
budget = "300 s"
cell_budget = "1.5 s"
precision = "0.001%"
min_launches = 2
max_launches = 2
[[measure]]
kernel = "network.barrier"
ppn = 1
nodes = [2, 3, 4]
"""


def under_way(folder: Path, ranks: int) -> bool:
    """Whether a launch of this many ranks is measuring."""
    for path in folder.glob("runs/*/raw/*.jsonl"):
        stream = read_stream(path)
        if stream.start and stream.start.ranks == ranks and stream.begun:
            return True
    return False


@pytest.mark.long
def test_a_host_is_cut_off_during_a_run_and_resume_completes_it(
    cluster: VirtualCluster, folder: Path
) -> None:
    (folder / "plan.toml").write_text(PLAN)
    with (folder / "assay.toml").open("a") as config:
        config.write('[defaults]\npatience = "10 s"\n')
    with subprocess.Popen(
        command(cluster, "run", "plan.toml", "--no-report", "--json"),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            until = time.monotonic() + 120
            while not under_way(folder, 4) and time.monotonic() < until:
                assert running.poll() is None
                time.sleep(0.05)
            link(cluster, 3, "down")
            _, said = running.communicate(timeout=200)
        finally:
            link(cluster, 3, "up")
            if running.poll() is None:
                running.kill()
    assert running.returncode == 1, said
    lost = cluster.hosts[3].addresses[0]
    assert f"Lost during the run: {lost}." in said
    assert "Left out, since they need 4 nodes: network.barrier" in said
    (run,) = list_runs(folder / "runs")
    assert not run.complete
    data = read_run(run.path)
    assert [launch.lost for launch in data.launches if launch.outcome == "lost"] == [(lost,)]
    counts = [m.cell.placement.nodes for m in data.measurements]
    assert (counts.count(2), counts.count(3)) == (2, 2)
    assert counts.count(4) < 2
    before = measurement_counts(run)
    done = assay(cluster, folder, "run", "--resume", "--no-report", "--json")
    assert done.returncode in (0, 1), done.stderr
    assert run.complete
    data = read_run(run.path)
    counts = [m.cell.placement.nodes for m in data.measurements]
    assert [counts.count(nodes) for nodes in (2, 3, 4)] == [2, 2, 2]
    new = {name for name in measurement_counts(run) if name not in before}
    cells = {cell.id: cell.placement.nodes for cell in data.manifest.plan.cells}
    assert {cells[name.rpartition("-")[0]] for name in new} == {4}
    # Processes on the unreachable host were ended when it was back.
    until = time.monotonic() + 10
    while network.processes_in(cluster.hosts[3].namespace) and time.monotonic() < until:
        time.sleep(0.05)
    assert network.processes_in(cluster.hosts[3].namespace) == []


@pytest.mark.long
def test_the_doctor_tries_compiler_and_mpi_on_the_hosts(
    cluster: VirtualCluster, folder: Path
) -> None:
    done = assay(cluster, folder, "doctor", "--cluster", "--json")
    assert done.returncode == 0, done.stderr
    findings = {f["what"]: f["severity"] for f in json.loads(done.stdout)["findings"]}
    one, two = (host.addresses[0] for host in cluster.hosts[:2])
    for wanted in (f"compiles with the toolchain 'embedded' on {one}.", f"on {one} and {two}."):
        assert [s for what, s in findings.items() if wanted in what] == ["ok"], findings
    assert [s for what, s in findings.items() if "All 4 hosts answer" in what] == ["ok"]
    link(cluster, 1, "down")
    try:
        done = assay(cluster, folder, "doctor", "--cluster", "--fail-on", "problem", "--json")
    finally:
        link(cluster, 1, "up")
    assert done.returncode == 1
    found = json.loads(done.stdout)["findings"][0]
    assert found["what"] == f"{two} does not answer: no route to {two}."
