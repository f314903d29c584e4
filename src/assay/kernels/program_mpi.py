"""The MPI that an executable is linked with, and its launcher.

The launcher is the one beside the library that ``ldd`` names, else the one on PATH, provided it
belongs to the same MPI.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from assay.kernels.builds.toolchain import Flavour
from assay.kernels.probes import ask
from assay.kernels.toolchains import mpi_of_launcher

# How a program uses several cores.
Parallel = Literal["mpi", "openmp", "serial"]

_MPI = re.compile(r"\s*(libmpi[\w+-]*\.so[\w.]*)\s+=>\s+(\S+)", re.M)
_MISSING = re.compile(r"\s*(\S+)\s+=>\s+not found", re.M)
_OPENMP = re.compile(r"lib(?:gomp|omp|iomp5|nvomp)\.so")
_STATIC_MPI = re.compile(rb"\bMPI_Init\b|\bmpi_init_\b|PMPI_Init")
# Identified by the MPI's own strings in a statically linked executable.
_OPEN_MPI = re.compile(rb"Open MPI|opal_init")
LAUNCHERS = (
    *("mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra"),
    *("mpiexec.openmpi", "mpiexec.mpich", "orterun", "prterun"),
)

# Fields of a 64-bit ELF header: type, and offset, size and number of program headers (elf(5)).
_HEADER = struct.Struct("<16xH14xQ14xHH")
_ET_EXEC, _ET_DYN, _PT_INTERP = 2, 3, 3


class ProgramRefused(Exception):
    """Why an executable can't be measured; the text ends a sentence that begins with the
    executable's name.
    """


def is_static_mpi(content: bytes) -> bool:
    """Whether it is an ELF executable that contains MPI and that nothing can be preloaded into."""
    return is_static(content) and _STATIC_MPI.search(content) is not None


def is_static(content: bytes) -> bool:
    """Whether it is an ELF executable without an interpreter (``PT_INTERP``), so that nothing can
    be preloaded into it.
    """
    if content[:6] != b"\x7fELF\x02\x01" or len(content) < _HEADER.size:
        return False
    kind, at, size, number = _HEADER.unpack_from(content)
    offsets = [at + k * size for k in range(number)]
    if any(offset + 4 > len(content) for offset in offsets):
        return False
    types = {int.from_bytes(content[offset : offset + 4], "little") for offset in offsets}
    return kind in (_ET_EXEC, _ET_DYN) and _PT_INTERP not in types


def parallel_of(path: Path, content: bytes) -> tuple[Parallel, Flavour | Literal[""], str]:
    """How it uses several cores, its MPI and the MPI's launcher. Raises ProgramRefused."""
    if content.startswith(b"#!"):
        return "serial", "", ""
    linked = ask(["ldd", str(path)], depends=[path], keep=False).text
    missing = _MISSING.search(linked)
    if missing:
        raise ProgramRefused(f"can't be run: its library {missing[1]} is not found.")
    libraries = _MPI.findall(linked)
    if libraries:
        expected: tuple[Flavour, ...] = ("mpich", "intel")
        if (
            "open-pal" in linked
            or "open-rte" in linked
            or any(".so.40" in name for name, _ in libraries)
        ):
            expected = ("openmpi",)
        return ("mpi", *_launcher([Path(place) for _, place in libraries], expected))
    if _STATIC_MPI.search(content) and "=>" not in linked:
        static: tuple[Flavour, ...] = ("openmpi",) if _OPEN_MPI.search(content) else ("mpich",)
        return ("mpi", *_launcher([], static))
    return ("openmp" if _OPENMP.search(linked) else "serial"), "", ""


def _launcher(libraries: Sequence[Path], expected: Sequence[Flavour]) -> tuple[Flavour, str]:
    """The MPI and the launcher beside one of its libraries, else on PATH. Raises ProgramRefused.

    The Fortran bindings are a separate library, which may be in a different folder than MPI's
    library.
    """
    folders: list[str | None] = []
    for place in (each for library in libraries for each in (library, library.resolve())):
        folders += [str(above / "bin") for above in list(place.parents)[1:5]]
    found = {
        launcher: None
        for folder in dict.fromkeys((*folders, None))
        for name in LAUNCHERS
        if (launcher := shutil.which(name, path=folder))
    }
    for launcher in found:
        flavour, _ = mpi_of_launcher(launcher)
        if flavour in expected:
            return flavour, launcher
    whose = "Open MPI" if "openmpi" in expected else "MPICH or Intel MPI"
    linked = f" ({libraries[0]})" if libraries else ""
    raise ProgramRefused(
        f"can't be launched: no mpirun of its {whose}{linked} is beside it or on PATH."
    )
