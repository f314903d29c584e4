"""A private Slurm over virtual hosts: it runs, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from assay.config import Config
from assay.errors import AssayError
from assay.kernels.toolchains import select_toolchain
from assay.lab import network
from assay.lab.slurm import SlurmCluster, check_length
from slurm_lab import reason, running_slurm
from virtual_cluster import VirtualCluster

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(reason is not None, reason=reason or "")]

# Each rank prints the number of ranks, counted by messages, and its host.
RANK = """\
import ctypes, os, sys
mpi = ctypes.CDLL(sys.argv[1])
mpi.MPI_Init(None, None)
one, all_ = ctypes.c_int(1), ctypes.c_int(0)
WORLD, INT, SUM = 0x44000000, 0x4C000405, 0x58000003  # mpi.h of MPICH
mpi.MPI_Allreduce(ctypes.byref(one), ctypes.byref(all_), 1, INT, SUM, WORLD)
os.write(1, f"{all_.value} {os.uname().nodename}\\n".encode())
mpi.MPI_Finalize()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmCluster]:
    with running_slurm(4, login=False) as slurm:
        yield slurm


def ask(*words: str, timeout: float = 60) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done
    return done.stdout


def test_all_nodes_are_idle_and_run_jobs(cluster: SlurmCluster) -> None:
    assert cluster.states() == {f"node{i}": "idle" for i in range(1, 5)}
    names = sorted(ask("srun", "-N4", "hostname").split())
    assert names == ["node1", "node2", "node3", "node4"]
    # Hosts know each other by name, over the network that connects them.
    addresses = ask("srun", "-N1", "getent", "hosts", "node3").split()
    assert addresses == [cluster.cluster.hosts[2].addresses[0], "node3"]


def test_an_mpi_job_runs_over_the_nodes(cluster: SlurmCluster, tmp_path: Path) -> None:
    mpirun = select_toolchain("embedded", Config()).mpirun
    assert mpirun is not None
    # The wheel has files in place of links, each naming another file.
    found = Path(mpirun).parents[1].glob("lib/**/libmpi.so*")
    library = max(found, key=lambda path: path.stat().st_size)
    program = tmp_path / "rank.py"
    program.write_text(RANK)
    command = [mpirun, "-n", "4", "-ppn", "1", sys.executable, str(program), str(library)]
    said = ask("salloc", "-N4", "--quiet", *command)
    assert sorted(said.split("\n")[:-1]) == [f"4 node{i}" for i in range(1, 5)]


def test_the_commands_work_on_a_host_too(cluster: SlurmCluster) -> None:
    second = cluster.cluster.hosts[1]
    said = subprocess.run(
        cluster.cluster.command(second, "sinfo", "--noheader", "--format=%D"),
        env={**os.environ, **cluster.environment()},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert said.stdout.strip() == "4", said


def test_nothing_is_left_including_jobs() -> None:
    with VirtualCluster(2, rates=(None,)) as cluster:
        with SlurmCluster(cluster) as slurm:
            environment = {**os.environ, **slurm.environment()}
            subprocess.run(
                ["sbatch", "-N2", "--output=/dev/null", "--wrap", "srun sleep 1000"],
                env=environment,
                check=True,
                capture_output=True,
                timeout=60,
            )
            while not all(busy(host.namespace) for host in cluster.hosts):
                pass
            running = {p for host in cluster.hosts for p in network.processes_in(host.namespace)}
            assert len(running) >= 6
            folder = slurm.folder
        for host in cluster.hosts:
            assert network.processes_in(host.namespace) == []
    assert not any(psutil.pid_exists(pid) and alive(pid) for pid in running)
    assert not folder.exists()


def busy(namespace: str) -> bool:
    names = []
    for pid in network.processes_in(namespace):
        try:
            names.append(psutil.Process(pid).name())
        except psutil.NoSuchProcess:
            continue
    return "sleep" in names


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_failed_start_reports_why_and_leaves_nothing() -> None:
    with VirtualCluster(2, rates=(None,)) as cluster:
        slurm = SlurmCluster(cluster, settings={"SelectType": "select/none-such"}, patience=20)
        with pytest.raises(AssayError, match="can't be started: slurmctld ended") as error, slurm:
            pass
        assert "none-such" in error.value.detail
        assert not slurm.folder.exists()
        for host in cluster.hosts:
            assert network.processes_in(host.namespace) == []


def test_without_the_programs_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.lab.slurm._find", lambda name: None if name == "munged" else "/x")
    with (
        VirtualCluster(1, rates=(None,)) as cluster,
        pytest.raises(AssayError, match="needs the program 'munged'"),
        SlurmCluster(cluster),
    ):
        pass


def test_a_folder_that_is_too_long_for_sockets_is_refused() -> None:
    """slurmd's socket of a step may have 107 characters; five digits are left for jobs."""
    step = "/spool/node1/node1_99999.4294967295"
    check_length(Path("/" + "x" * (107 - len(step) - 1)), ["n", "node1"])
    with pytest.raises(AssayError, match="too long for the sockets of a Slurm, by 1 character"):
        check_length(Path("/" + "x" * (108 - len(step) - 1)), ["n", "node1"])
