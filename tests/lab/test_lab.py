"""Two hosts: measured over networks of known rates, killed, and removed without leftovers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import psutil
import pytest

import virtual_cluster
from assay.errors import AssayError
from assay.lab import cluster as lab
from assay.lab import names, network
from assay.lab.cluster import Host, burst_of, remove_leftovers
from assay.records.directory import list_runs
from assay.records.reading import read_run
from assay.records.schema import Job, MeasurementOrder
from assay.records.stream import read_stream, sent_by_adapter
from kernel_runs import faulty
from lab_shell import detached
from native_build import TOOLS
from open_mpi import OPEN_MPI, PREFIX, TOOLCHAIN, build_open_mpi
from virtual_cluster import FAST_ETHERNET, GIGABIT, VirtualCluster, new_name

MIB = 1 << 20
reason = network.why_not()
needs_a_lab = pytest.mark.skipif(reason is not None, reason=reason or "")


# ---- the cluster itself ----------------------------------------------------------------------


def test_names_distinguish_running_owners_from_ended_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    name = new_name()
    assert new_name() != name
    assert not names.is_orphaned(name)
    assert not names.is_orphaned(f"{name}-node1")
    # The same process id, but of a process with another start time.
    prefix, pid, start, serial = name.rsplit("-", 3)
    assert names.is_orphaned(f"{prefix}-{pid}-{int(start) + 1}-{serial}-switch")
    with subprocess.Popen(["true"]) as child:
        pass
    assert names.is_orphaned(f"{prefix}-{child.pid}-{start}-{serial}")
    for other in ("node1", "assay-lab", "assay-lab-x-1-1", f"my-{name}"):
        assert not names.is_orphaned(other)


def test_without_rights_or_tools_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(AssayError, match="needs root") as error, VirtualCluster():
        pass
    assert error.value.fix
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(AssayError, match="needs the program 'ip'"), VirtualCluster():
        pass


@pytest.mark.parametrize(
    ("cores", "hosts", "shares"),
    [
        (range(8), 2, [(0, 1, 2, 3), (4, 5, 6, 7)]),
        (range(8), 3, [(0, 1), (2, 3), (4, 5)]),
        ([3, 7], 2, [(3,), (7,)]),
        ([3, 7], 4, [(3,), (7,), (3,), (7,)]),
    ],
)
def test_hosts_divide_the_cores(
    cores: Sequence[int], hosts: int, shares: list[tuple[int, ...]]
) -> None:
    assert [lab.share_of(cores, host, hosts) for host in range(hosts)] == shares


def namespaces() -> list[str]:
    folder = Path("/run/netns")
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def of(cluster: VirtualCluster) -> list[str]:
    return [name for name in namespaces() if name.startswith(f"{cluster.name}-")]


@needs_a_lab
def test_hosts_have_names_and_adapters_and_reach_each_other() -> None:
    here = os.uname().nodename
    with VirtualCluster(3, rates=(GIGABIT, None)) as cluster:
        first, second, third = cluster.hosts
        shell = str(cluster.remote_shell)
        for host in cluster.hosts:
            # Words are joined and passed to a shell, as by ssh.
            for called in (host.name, *host.addresses):
                said = network.run(shell, "-x", called, "uname -n;", "ls /sys/class/net | xargs")
                assert said == f"{host.name}\neth0 eth1 lo\n"
        for rail in (0, 1):
            to = (second.addresses[rail], 9000)
            listen = f"import socket; s = socket.create_server({to}); print(flush=True); s.accept()"
            command = cluster.command(second, sys.executable, "-c", listen)
            with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
                assert server.stdout and server.stdout.readline()
                ask = f"import socket; socket.create_connection({to}, 10)"
                network.run(*cluster.command(third, sys.executable, "-c", ask))
                assert server.wait(60) == 0
        assert cluster.command(first, "true")
        wrong = subprocess.run([shell, "10.9.9.9", "true"], capture_output=True, text=True)
        assert wrong.returncode == 255
        assert "no host '10.9.9.9'" in wrong.stderr
    assert of(cluster) == []
    assert not cluster.remote_shell.parent.exists()
    assert os.uname().nodename == here


@needs_a_lab
def test_after_an_exception_it_is_removed_with_its_processes() -> None:
    with pytest.raises(RuntimeError), VirtualCluster() as cluster:
        sleeper = subprocess.Popen(cluster.command(cluster.hosts[0], "sleep", "1000"))
        while not network.processes_in(cluster.hosts[0].namespace):
            time.sleep(0.01)
        raise RuntimeError
    assert sleeper.wait(60) == -signal.SIGKILL
    assert of(cluster) == []


@needs_a_lab
def test_a_cluster_that_fails_during_creation_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssayError("no rate")

    monkeypatch.setattr(network, "limit", fail)
    cluster = VirtualCluster()
    with pytest.raises(AssayError, match="no rate"), cluster:
        pass
    assert of(cluster) == []


SUPPORT = str(Path(virtual_cluster.__file__).parent)
OWNER = """\
import subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from virtual_cluster import VirtualCluster
with VirtualCluster() as cluster:
    subprocess.Popen(cluster.command(cluster.hosts[1], "sleep", "1000"), stdout=subprocess.DEVNULL)
    print(cluster.name, flush=True)
    time.sleep(1000)
"""


@needs_a_lab
def test_leftovers_of_a_killed_owner_are_found_and_removed() -> None:
    with VirtualCluster() as living:
        with subprocess.Popen(
            [sys.executable, "-c", OWNER, SUPPORT], stdout=subprocess.PIPE
        ) as owner:
            assert owner.stdout
            name = owner.stdout.readline().decode().strip()
            assert not any(names.is_orphaned(each) for each in namespaces() if name in each)
            owner.kill()
        left = [each for each in namespaces() if name in each]
        assert len(left) == 3
        assert set(left) <= set(remove_leftovers())
        assert not any(name in each for each in namespaces())
        assert len(of(living)) == 3


# ---- assay on it -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    if reason:
        pytest.skip(reason)
    with VirtualCluster(2, rates=(GIGABIT, FAST_ETHERNET)) as created:
        yield created


@pytest.fixture
def folder(cluster: VirtualCluster, tmp_path: Path) -> Path:
    (tmp_path / "assay.toml").write_text(cluster.config())
    return tmp_path


def assay(cluster: VirtualCluster, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = cluster.command(cluster.hosts[0], sys.executable, "-m", "assay", *words)
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.long
@pytest.mark.slow
@needs_a_lab
def test_bandwidth_stays_within_the_limits_of_the_networks(
    cluster: VirtualCluster, folder: Path
) -> None:
    words = ["network.pingpong", "bytes=8,2MiB", "--nodes", "2", "--adapter", "eth0,eth1"]
    few = ["--launches", "1", "--samples", "8", "--budget", "60 s", "--keep", "--json"]
    done = assay(cluster, folder, "measure", *words, *few)
    assert done.returncode in (0, 1), done.stderr
    cells = json.loads(done.stdout)
    assert [c["cell"]["placement"]["adapter"] for c in cells].count("eth0") == 2
    assert len(cells) == 4
    limits = {"eth0": GIGABIT, "eth1": FAST_ETHERNET}
    for cell in cells:
        assert cell["verified"] is True, cell
        rate = limits[cell["cell"]["placement"]["adapter"]]
        if cell["parameters"]["bytes"] == 2 * MIB:
            # All of a message except the first burst waits for its tokens.
            most = rate * 2 * MIB / (2 * MIB - burst_of(rate))
            fastest = cell["parameters"]["bytes"] / cell["metrics"]["latency"]["min"]
            assert 0 < fastest <= most  # the lower side depends on how busy the machine is
    (run,) = list_runs(folder / "runs")
    data = read_run(run.path)
    for measurement in data.measurements:
        assert [(r.host, r.local_rank) for r in measurement.ranks] == [("node1", 0), ("node2", 0)]
    commands = [" ".join(launch.command) for launch in data.launches]
    assert len([line for line in commands if "UCX_NET_DEVICES eth1" in line]) == 1
    assert all("-hosts 10.87.0.1,10.87.0.2 -ppn 1" in line for line in commands)


@pytest.mark.slow
@needs_a_lab
@pytest.mark.parametrize("rail", [pytest.param(each, marks=pytest.mark.long) for each in (0, 1)])
def test_records_name_the_adapter_of_the_bytes(
    cluster: VirtualCluster, folder: Path, rail: int
) -> None:
    size, adapter = MIB, f"eth{rail}"
    words = ["network.pingpong", f"bytes={size}", "--nodes", "2", "--adapter", adapter]
    few = ["--launches", "1", "--samples", "10", "--budget", "60 s", "--keep", "--json"]
    done = assay(cluster, folder, "measure", *words, *few)
    assert done.returncode in (0, 1), done.stderr
    (run,) = list_runs(folder / "runs")
    data = read_run(run.path)
    (measurement,) = data.measurements
    record = measurement.record
    traffic = {(each.host, each.adapter): each for each in record.traffic}
    assert {name for _, name in traffic} == {adapter}
    # Each sample was sent in both directions, plus headers and earlier messages.
    payload = size * len(record.series[0].values) * (record.batch or 1) / 2
    for host in ("node1", "node2"):
        found = traffic[host, adapter]
        assert payload <= found.sent <= 3 * payload + MIB
        assert payload <= found.received <= 3 * payload + MIB
    assert sent_by_adapter([record])[adapter] == traffic["node1", adapter].sent + (
        traffic["node2", adapter].sent
    )
    assert "went over" not in done.stdout


@pytest.mark.slow
@needs_a_lab
@pytest.mark.sanitizable
def test_clocks_of_hosts_agree_and_one_that_is_ahead_is_found(
    cluster: VirtualCluster, folder: Path
) -> None:
    """All hosts share this machine's clocks; then one is half a second ahead, as planted."""
    stream, wrong = folder / "stream.jsonl", folder / "wrong.jsonl"
    job = folder / "job.json"
    orders = [MeasurementOrder("m0", "network.barrier", {}, 0.2, 0.95, 0.1, 5, 20)]
    job.write_bytes(msgspec.json.encode(Job(1, "job", 1, "compact", 1, orders)))
    for out, planted in ((stream, ""), (wrong, "node2=0.5")):
        hosts = ",".join(host.addresses[0] for host in cluster.hosts)
        launch = [
            *(str(TOOLS / "mpirun"), "-n", "2", "-launcher", "ssh"),
            *("-launcher-exec", str(cluster.remote_shell), "-rmk", "user"),
            *("-localhost", cluster.hosts[0].addresses[0], "-hosts", hosts, "-ppn", "1"),
            *("-genv", "ASSAY_TEST_UTC_AHEAD", planted),
            *(str(faulty()), "--job", str(job), "--out", str(out)),
        ]
        done = subprocess.run(
            cluster.command(cluster.hosts[0], *launch), capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
    first, second = (rank.clocks for rank in read_stream(stream).ranks)
    assert first is not None and second is not None
    for clock in (second.utc, second.monotonic):
        assert 0.0 < clock.error < 0.1
        assert abs(clock.offset) <= clock.error
    ahead = read_stream(wrong).ranks[1].clocks
    assert ahead is not None
    assert abs(ahead.utc.offset - 0.5) <= ahead.utc.error
    assert abs(ahead.monotonic.offset) <= ahead.monotonic.error


@pytest.mark.slow
@needs_a_lab
@pytest.mark.parametrize(
    ("order", "hosts"),
    [
        ("2,0,3,1", ["node2 0", "node1 0", "node2 1", "node1 1"]),
        *(
            pytest.param(order, hosts, marks=pytest.mark.long)
            for order, hosts in (
                ("block", ["node1 0", "node1 1", "node2 0", "node2 1"]),
                ("cyclic", ["node1 0", "node2 0", "node1 1", "node2 1"]),
                ("reversed", ["node2 1", "node2 0", "node1 1", "node1 0"]),
            )
        ),
    ],
)
def test_ranks_are_numbered_as_requested(
    cluster: VirtualCluster, folder: Path, order: str, hosts: list[str]
) -> None:
    words = ["network.barrier", "--nodes", "2", "--ppn", "2", "--order", order, "--keep"]
    few = ["--launches", "1", "--samples", "5", "--oversubscribe", "--json"]
    done = assay(cluster, folder, "measure", *words, *few)
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["verified"] is True
    (run,) = list_runs(folder / "runs")
    (measurement,) = read_run(run.path).measurements
    assert measurement.cell.placement.order == order
    assert [f"{r.host} {r.local_rank}" for r in measurement.ranks] == hosts
    cores = {host.name: set(host.cores) for host in cluster.hosts}
    assert all(set(r.cpus) <= cores[r.host] for r in measurement.ranks)


def ranks_on(host: Host) -> list[psutil.Process]:
    found = [psutil.Process(pid) for pid in network.processes_in(host.namespace)]
    return [process for process in found if process.name() == "assay-kernels"]


def left_on(*hosts: Host) -> list[int]:
    return [pid for host in hosts for pid in network.processes_in(host.namespace)]


def below(pid: int) -> set[int]:
    return {process.pid for process in psutil.Process(pid).children(recursive=True)}


@pytest.mark.slow
@needs_a_lab
@pytest.mark.parametrize("toolchain", ["embedded", OPEN_MPI])
@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_killed_it_leaves_nothing_on_any_host(
    cluster: VirtualCluster, folder: Path, how: signal.Signals, toolchain: str
) -> None:
    first, second = cluster.hosts
    if toolchain == "openmpi":
        build_open_mpi()
    with detached(cluster.remote_shell, folder) as shell:
        # Ranks on the second host alone: none is below assay, which is the hardest case.
        config = cluster.config().replace(str(cluster.remote_shell), str(shell))
        config = config.replace(f'"{first.addresses[0]}", ', "", 1)
        (folder / "assay.toml").write_text(f"{config}\n{TOOLCHAIN if PREFIX else ''}")
        words = ["network.barrier", "--ppn", "2", "--oversubscribe", "--budget", "100 s"]
        words += ["--precision", "0.0001%", "--toolchain", toolchain, "--keep"]
        command = cluster.command(first, sys.executable, "-m", "assay", "measure", *words)
        with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as running:
            until = time.monotonic() + 120
            while not begun(folder) and time.monotonic() < until:
                time.sleep(0.05)
            ranks = ranks_on(second)
            assert len(ranks) == 2
            assert not below(running.pid) & {rank.pid for rank in ranks}
            running.send_signal(how)
            running.wait(30)
        # The launcher's daemon notices the loss a moment after assay has ended.
        until = time.monotonic() + 10
        while left_on(first, second) and time.monotonic() < until:
            time.sleep(0.05)
        assert left_on(first, second) == []
        (run,) = list_runs(folder / "runs")
        (stream,) = run.streams()
        if how == signal.SIGTERM:  # asked to end, the ranks close their stream
            assert '"reason":"signal"' in stream.read_text()


def begun(folder: Path) -> bool:
    try:
        streams = list(folder.glob("runs/*/raw/*.jsonl"))
    except FileNotFoundError:  # a file was renamed during the search
        return False
    return any('"record":"begin"' in stream.read_text() for stream in streams)


@pytest.mark.long
@pytest.mark.slow
@needs_a_lab
def test_impossible_requests_are_reported_before_a_launch(
    cluster: VirtualCluster, folder: Path
) -> None:
    wrong: dict[tuple[str, ...], str] = {
        ("--nodes", "3"): "nodes = 3, but there are 2 nodes",
        ("--nodes", "2", "--adapter", "eth7"): "there is no network adapter 'eth7'",
        ("--ppn", "2", "--oversubscribe", "--adapter", "eth0"): "communicate through shared memory",
        ("--nodes", "2", "--order", "0,1,2"): "order = '0,1,2', but there are 2 ranks",
        ("--nodes", "2", "--order", "0,2"): "doesn't name each seat from 0 to 1 exactly once",
        ("--nodes", "2", "--order", "blok"): "Did you mean 'block'?",
    }
    for words, hint in wrong.items():
        done = assay(cluster, folder, "measure", "network.pingpong", *words, "--keep")
        assert done.returncode == 2, (words, done.stdout, done.stderr)
        assert hint in " ".join(done.stderr.split()), (words, done.stderr)
    assert list_runs(folder / "runs") == []
