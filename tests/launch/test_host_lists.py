"""Lists of hosts: a word, or a file where it would be too long."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay.config import ClusterConfig, Config
from assay.kernels.toolchains import select_toolchain
from assay.launch.mpi import host_lists
from assay.launch.mpi.host_lists import hydra_hosts, open_mpi_hosts, srun_hosts
from assay.launch.mpi.mpirun import launcher_words
from assay.model.placement import Placement

MANY = [f"node{number:05d}.cluster.example.org" for number in range(5000)]
# execve(2), MAX_ARG_STRLEN.
LIMIT = 32 * 4096


def test_few_hosts_are_one_word() -> None:
    assert hydra_hosts(["a", "b"]) == ["-hosts", "a,b"]
    assert open_mpi_hosts(["a", "::1"], 2) == ["--host", "a:2,[::1]:2"]
    assert srun_hosts(["a", "b"]) == ["--nodelist=a,b"]


def test_thousands_of_hosts_are_a_file_in_their_order() -> None:
    assert len(",".join(MANY)) > LIMIT
    option, file = hydra_hosts(MANY)
    assert (option, Path(file).read_text().splitlines()) == ("-f", MANY)
    option, file = open_mpi_hosts(MANY, 4)
    lines = [f"{host} slots=4" for host in MANY]
    assert (option, Path(file).read_text().splitlines()) == ("--hostfile", lines)
    (word,) = srun_hosts(MANY)
    assert Path(word.removeprefix("--nodelist=")).read_text().splitlines() == MANY
    assert hydra_hosts(MANY) == hydra_hosts(list(MANY))
    assert hydra_hosts(MANY) != hydra_hosts(MANY[::-1])


def test_a_launch_by_a_file_uses_its_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_lists, "LONGEST", 0)
    shell = tmp_path / "shell"
    shell.write_text(
        f'#!/bin/sh\nwhile [ "${{1#-}}" != "$1" ]; do shift; done\necho "$1" >>{tmp_path}/asked\n'
        'shift\nexec sh -c "$*"\n'
    )
    shell.chmod(0o755)
    toolchain = select_toolchain(None, Config())
    if toolchain.mpi_flavour != "mpich":
        pytest.skip("The toolchain is not MPICH.")
    cluster = ClusterConfig(("one", "two", "three"), str(shell), "127.0.0.1")
    words = launcher_words(toolchain, Placement(nodes=2, ppn=2), cluster=cluster)
    assert "-f" in words
    done = subprocess.run(
        [*words, "sh", "-c", "echo rank $PMI_RANK"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")[:-1]) == [f"rank {rank}" for rank in range(4)]
    assert sorted((tmp_path / "asked").read_text().split()) == ["one", "two"]
