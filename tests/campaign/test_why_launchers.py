"""``assay why`` with the launchers that users type: their MPI, Python, srun, and a job."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from launched import MPICH, OPEN_MPI, ROOT, need, need_mpi4py
from mpi_counts import PROFILE, built_against_mpi
from mpi_libraries import MpiLibrary, compile_c
from native_build import TOOLS
from slurm_lab import running_slurm
from why_answers import agrees, assert_spinner_is_named, found, reason_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("polite_waiting"),
    pytest.mark.flaky(reruns=1, reason="other work of the machine comes and goes between launches"),
]
CPUS = sorted(os.sched_getaffinity(0))[:2]
UNEVEN = ("imbalance", "8", "1e7")
# The last rank computes 1.3 times as long.
PYTHON = """\
from mpi4py import MPI

WORLD = MPI.COMM_WORLD


def solve(steps):
    value = 1.0
    for _ in range(steps):
        value = value * 1.0000001 + 1e-9
    return value


for _ in range(8):
    solve(int(500_000 * (1.3 if WORLD.rank == WORLD.size - 1 else 1.0)))
    WORLD.Barrier()
"""


def planted(library: MpiLibrary, folder: Path) -> str:
    need(library)
    return str(compile_c(library, PROFILE / "planted_reasons.c", folder / "planted"))


@pytest.mark.long
@pytest.mark.parametrize("library", [OPEN_MPI, MPICH], ids=lambda one: str(one.name))
def test_a_reason_is_found_under_the_systems_mpi(tmp_path: Path, library: MpiLibrary) -> None:
    command = [*library.run, "-n", "2", planted(library, tmp_path), *UNEVEN]
    answered, others = found(tmp_path, command, variables=ROOT)
    assert answered["mpi"].startswith("Open MPI" if library is OPEN_MPI else "MPICH")
    assert [one["rank"] for one in answered["by_rank"]] == [0, 1]
    if agrees(answered, others, "imbalance"):
        # Samples name the function and the line of the call.
        assert "rank 1" in reason_of(answered, "imbalance")["where"]
        assert "planted_reasons.c:" in reason_of(answered, "imbalance")["where"]


@pytest.mark.long
@pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")
@pytest.mark.parametrize("library", [OPEN_MPI, MPICH], ids=lambda one: str(one.name))
def test_another_process_is_named_under_the_systems_mpi(
    tmp_path: Path, library: MpiLibrary
) -> None:
    program = planted(library, tmp_path)
    command = [*library.run]
    for number, cpu in enumerate(CPUS):
        pinned = ["taskset", "-c", str(cpu), program, "none", *UNEVEN[1:]]
        command += [":"] * bool(number) + ["-n", "1", *pinned]
    assert_spinner_is_named(tmp_path, command, CPUS[1], ROOT)


@pytest.mark.cluster
@pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")
def test_another_process_is_named_beside_ranks_that_srun_starts(tmp_path: Path) -> None:
    program = planted(MPICH, tmp_path)
    script = tmp_path / "pinned"
    words = " ".join(["none", *UNEVEN[1:]])
    cpus = " ".join(map(str, CPUS))
    script.write_text(
        f"#!/bin/sh\nset -- {cpus}\nshift $SLURM_PROCID\nexec taskset -c $1 {program} {words}\n"
    )
    script.chmod(0o755)
    with running_slurm(2):
        command = ["srun", "--mpi=pmi2", "-N", "2", "-n", "2", str(script)]
        assert_spinner_is_named(tmp_path, command, CPUS[1], ROOT)


@pytest.mark.long
def test_a_reason_is_found_in_python(tmp_path: Path) -> None:
    need(OPEN_MPI)
    (tmp_path / "app.py").write_text(PYTHON)
    command = [*OPEN_MPI.run, "-n", "2", need_mpi4py(), "app.py"]
    answered, others = found(tmp_path, command, variables=ROOT)
    if agrees(answered, others, "imbalance"):
        where = reason_of(answered, "imbalance")["where"]
        assert "rank 1" in where and "app.py:" in where


@pytest.mark.cluster
def test_a_reason_is_found_of_ranks_that_srun_starts(tmp_path: Path) -> None:
    program = planted(MPICH, tmp_path)
    with running_slurm(2):
        command = ["srun", "--mpi=pmi2", "-N", "2", "-n", "2", program, *UNEVEN]
        answered, others = found(tmp_path, command)
    assert [one["host"] for one in answered["by_rank"]] == ["node2", "node3"]
    if agrees(answered, others, "imbalance"):
        assert "rank 1 on node3" in reason_of(answered, "imbalance")["where"]


@pytest.mark.cluster
def test_a_reason_is_found_in_a_job(tmp_path: Path) -> None:
    """All launches run in one job on two nodes; the answer is the terminal's."""
    program = str(built_against_mpi("planted_reasons.c", "-g"))
    with running_slurm(2):
        command = [str(TOOLS / "mpirun"), "-n", "2", "-ppn", "1", program, *UNEVEN]
        answered, others = found(tmp_path, command, "--submit", "--nodes", "2")
    assert (tmp_path / "kept" / "job.out").exists()
    assert [one["kind"] for one in answered["launches"]] == ["plain", "plain"]
    assert [one["host"] for one in answered["by_rank"]] == ["node2", "node3"]
    if agrees(answered, others, "imbalance"):
        assert "rank 1 on node3" in reason_of(answered, "imbalance")["where"]
