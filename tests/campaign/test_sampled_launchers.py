"""``assay profile --sample`` with the launchers that users type, and programs in Fortran and
Python.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.trace.samples.model import Activity, ProgramSamples
from launched import MPICH, OPEN_MPI, assay, findings, need, need_mpi4py
from mpi_libraries import MpiLibrary
from sampled_programs import SAMPLING, assert_share, counts, places_of, samples_in
from slurm_lab import running_slurm

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("patient_ranks")]

RANKS = 2
FORTRAN = ("physics::advance", "physics::diagnose")
PYTHON = ("advance", "diagnose")


def _solve(library: MpiLibrary, folder: Path) -> str:
    need(library)
    flags = ["-O2", "-g", "-fno-inline", "-fno-optimize-sibling-calls"]
    words = [library.fortran, *flags, SAMPLING / "solve.f90", "-o", "solve"]
    subprocess.run(words, check=True, cwd=folder, timeout=120)
    return "./solve"


def _sampled(folder: Path, command: Sequence[str | Path]) -> tuple[dict[str, Any], str]:
    """The report's part on functions, and the lines for the user."""
    words = ("profile", "--sample", "199", "--json", "--folder", "kept", "--", *command)
    done = assay(folder, *words)
    found: dict[str, Any] = findings(done)["samples"]
    return found, done.stderr


def _check(folder: Path, found: dict[str, Any], notes: str, names: tuple[str, str]) -> None:
    """Shares of 3 : 1 on each rank, in the samples and in the report."""
    samples = samples_in(folder / "kept")
    assert {one.rank for one in samples.threads} == set(range(RANKS))
    for rank in range(RANKS):
        (main,) = (one for one in samples.threads if (one.rank, one.thread) == (rank, 0))
        here = counts(samples, names, main)
        every = here[names[0]] + here[names[1]]
        assert every > 40
        assert_share(here[names[0]], every, 0.75)
    _assert_start_is_no_computing(samples)
    inclusive = {one["function"]: one["inclusive"] for one in found["functions"]}
    assert inclusive[names[0]] > inclusive[names[1]]
    assert re.search(rf"samples: \d+ of \d+ threads in {RANKS} processes", notes)
    # The launcher, whose functions have no names, isn't part of the program.
    assert "orterun" not in notes and "mpiexec" not in notes
    # Nor are libraries that MPI_Init uses, some of which are stripped.
    assert "hwloc" not in notes


def _assert_start_is_no_computing(samples: ProgramSamples) -> None:
    """``MPI_Init`` reads the topology for a tenth of a second: a part of MPI, not of computing."""
    starting = {
        number
        for number in range(len(samples.stacks))
        if any(re.fullmatch("P?MPI_Init.*", one.function) for one in places_of(samples, number))
    }
    found = [
        activity
        for thread in samples.threads
        for stack, activity in zip(thread.stacks, thread.activities, strict=True)
        if stack in starting
    ]
    assert set(found) == {Activity.MPI}


@pytest.mark.parametrize(
    "library",
    [pytest.param(OPEN_MPI, id="Debian Open MPI"),
     pytest.param(MPICH, id="Debian MPICH", marks=pytest.mark.long)],
)  # fmt: skip
def test_fortran_is_sampled_under_its_launcher(tmp_path: Path, library: MpiLibrary) -> None:
    program = _solve(library, tmp_path)
    found, notes = _sampled(tmp_path, [*library.run, "-n", str(RANKS), program, "2500"])
    _check(tmp_path, found, notes, FORTRAN)


@pytest.mark.long
def test_python_is_sampled_under_its_launcher(tmp_path: Path) -> None:
    """mpi4py of Debian is linked with Open MPI; functions of Python are named."""
    need(OPEN_MPI)
    program = [need_mpi4py(), SAMPLING / "ranks.py", "300"]
    found, notes = _sampled(tmp_path, [*OPEN_MPI.run, "-n", str(RANKS), *program])
    _check(tmp_path, found, notes, PYTHON)


@pytest.mark.long
def test_python_is_sampled_without_a_launcher(tmp_path: Path) -> None:
    """One rank, which nothing in the command shows to use MPI."""
    words = ("profile", "--sample", "199", "--json", "--folder", "kept", "--")
    done = assay(tmp_path, *words, need_mpi4py(), SAMPLING / "ranks.py", "300")
    assert done.stdout.startswith("sum 1\n")
    found = findings(done)["samples"]
    assert {"advance", "diagnose", "work"} <= {one["function"] for one in found["functions"]}


@pytest.mark.cluster
def test_ranks_that_srun_starts_are_sampled(tmp_path: Path) -> None:
    program = tmp_path / _solve(MPICH, tmp_path)
    with running_slurm(2):
        for number, export in enumerate(((), ("--export=NONE",))):
            words = ["srun", "--mpi=pmi2", "-n", str(RANKS), *export, str(program), "2500"]
            found, notes = _sampled(tmp_path, words)
            _check(tmp_path, found, notes, FORTRAN)
            (tmp_path / "kept").rename(tmp_path / f"kept-{number}")
