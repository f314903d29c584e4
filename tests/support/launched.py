"""Programs under the launchers of the MPI libraries on this machine, profiled as a user does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import prepared_assay
from mpi_counts import PROFILE
from mpi_libraries import MPI_LIBRARIES, WHEEL_OPEN_MPI, MpiLibrary

# Root may use Open MPI's launcher, and on fewer CPUs than ranks.
ROOT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
EMBEDDED, MPICH, OPEN_MPI = MPI_LIBRARIES
FORTRAN = {
    "mpif.h": ("", "include 'mpif.h'", "integer :: status(MPI_STATUS_SIZE)"),
    "use mpi": ("use mpi", "", "integer :: status(MPI_STATUS_SIZE)"),
    "use mpi_f08": ("use mpi_f08", "", "type(MPI_Status) :: status"),
}


def need(library: MpiLibrary) -> None:
    """Skip the test if the library isn't installed."""
    if not library.is_there:
        pytest.skip(f"{library.name} isn't installed (requirements/install-mpi.sh)")


def need_mpi4py() -> str:
    """Debian's Python; skip the test if it has no mpi4py."""
    python = "/usr/bin/python3"
    has = subprocess.run([python, "-c", "import mpi4py"], capture_output=True, check=False)
    if has.returncode:
        pytest.skip("python3-mpi4py isn't installed (requirements/install-mpi.sh)")
    return python


def compiled(library: MpiLibrary, folder: Path, language: str = "C", *flags: str) -> str:
    """``launched`` in a language, for an MPI, as ``./launched`` in the folder."""
    command = [library.cc, PROFILE / "launched.c"]
    if language == "C++":
        command = [library.cxx, PROFILE / "launched.cpp"]
    elif language in FORTRAN:
        source = folder / "launched.f90"
        text = (PROFILE / "launched.f90.in").read_text()
        for name, line in zip(("USE", "INCLUDE", "STATUS"), FORTRAN[language], strict=True):
            text = text.replace(f"@{name}@", line)
        source.write_text(text)
        command = [library.fortran, "-fallow-argument-mismatch", source]
    subprocess.run(
        [*command, "-O1", *flags, "-o", folder / "launched"], check=True, cwd=folder, timeout=120
    )
    return "./launched"


def assay(
    folder: Path, *words: str | Path, status: int = 0, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """``assay WORDS`` in a folder; its exit status is checked."""
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", *map(str, words)],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, **ROOT, **(variables or {})},
    )  # fmt: skip
    assert done.returncode == status, done.stderr + done.stdout
    return done


def profiled(
    folder: Path,
    command: Sequence[str | Path],
    *options: str,
    variables: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The findings of ``assay profile --json OPTIONS -- COMMAND``, whose folder is ``kept``."""
    words = ("profile", "--json", "--folder", "kept", *options, "--", *command)
    return findings(assay(folder, *words, variables=variables))


def findings(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Those that a command printed behind the output of the program."""
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{\n") :])
    return found


def calls(found: Mapping[str, Any]) -> dict[str, int]:
    """Calls by function."""
    return {one["function"]: one["calls"] for one in found["functions"]}


def places(found: Mapping[str, Any], function: str) -> set[str]:
    """The places that call a function."""
    return {one["place"] for one in found["sites"] if one["function"] == function}


def launchers() -> list[Any]:
    """Parameters of a test: all libraries; the long test has those that the quick one lacks."""
    return [
        pytest.param(OPEN_MPI, id="Debian Open MPI"),
        pytest.param(MPICH, id="Debian MPICH", marks=pytest.mark.long),
        pytest.param(EMBEDDED, id="wheel MPICH", marks=pytest.mark.long),
        pytest.param(WHEEL_OPEN_MPI, id="wheel Open MPI", marks=pytest.mark.long),
    ]
