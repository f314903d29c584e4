"""A toolchain: the MPI, compiler and BLAS that kernels are built and launched with."""

from __future__ import annotations

from typing import Literal

import msgspec

Flavour = Literal["mpich", "openmpi", "intel", "other"]

DEFAULT_FLAGS = "-O3 -march=native"
# The variables that set the compiler of each MPI's wrapper.
WRAPPER_COMPILER: dict[Flavour, tuple[str, ...]] = {
    "mpich": ("MPICH_CXX",),
    "openmpi": ("OMPI_CXX",),
    "intel": ("I_MPI_CXX",),
    "other": ("MPICH_CXX", "OMPI_CXX"),
}


# Names of MPI libraries, and the first major versions with persistent collectives and partitioned
# communication (MPI-4.0).
_LIBRARIES: dict[str, tuple[str, int]] = {
    "mpich": ("MPICH", 4),
    "openmpi": ("Open MPI", 5),
}


def library_before_mpi_4(flavour: str, version: str | None) -> str | None:
    """The name of an MPI library known to lack the operations of MPI 4; else None."""
    name, first = _LIBRARIES.get(flavour, ("", 0))
    major = (version or "").partition(".")[0]
    return f"{name} {version}" if major.isdecimal() and int(major) < first else None


class Blas(msgspec.Struct, frozen=True):
    """A CBLAS to link."""

    name: str
    #: Full paths, or names as for ``-l``; see ``BlasConfig``.
    libraries: tuple[str, ...]
    include: str | None = None
    prefix: str = ""
    suffix: str = ""
    int64: bool = False
    version: str | None = None


class Toolchain(msgspec.Struct, frozen=True):
    """A toolchain as found on this machine."""

    name: str
    kind: Literal["embedded", "site", "path"]
    mpicxx: str
    mpirun: str | None
    mpi_flavour: Flavour
    mpi_version: str | None
    cxx: str
    cxx_version: str | None
    blas: Blas | None
    flags: str = DEFAULT_FLAGS
    launch_flags: tuple[str, ...] = ()
    #: Variables for building and running.
    environment: dict[str, str] = {}
    #: The launcher that starts the ranks.
    launcher: Literal["mpirun", "srun"] = "mpirun"
    #: A sentence on why kernels can't be built with it; empty if they can. ``fix`` is the remedy.
    #: ``blas`` None: ``compute.dgemm`` can't be measured with it. ``mpirun`` None: it can't launch
    #: locally.
    problem: str = ""
    fix: str = ""
    #: The folder of a build from another machine, if this machine has no compiler; the compiler and
    #: the BLAS come from that build.
    built: str = ""
    #: The lines of bash that provide the toolchain; ``loaded`` has the variables that they set.
    modules: tuple[str, ...] = ()
    loaded: dict[str, str] = {}
    #: The words before the program in a launch command.
    wrapper: tuple[str, ...] = ()
    #: The container image with compiler and MPI.
    container: str = ""

    @property
    def variables(self) -> dict[str, str]:
        """The variables for building and running."""
        return {**self.loaded, **self.environment}

    @property
    def wrapper_environment(self) -> dict[str, str]:
        """``variables``, and the variables that make ``mpicxx`` call ``cxx``."""
        named = bool(self.cxx) and not self.container  # the container has its own compiler
        chosen = dict.fromkeys(WRAPPER_COMPILER[self.mpi_flavour], self.cxx) if named else {}
        return {**chosen, **self.variables}
