"""Running a compiler for programs other than the kernels, and reporting its failures."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from assay.errors import AssayError
from assay.kernels.builds.toolchain import Flavour

# The messages of GCC, Clang, and the compilers of NVIDIA and Intel.
_NO_HEADER = re.compile(
    r"mpi\.h['\"]?:? (?:No such file|file not found)"
    r"|(?:cannot|could not) open source file \"mpi\.h\""
)
# Packages by MPI: for Debian and Ubuntu; for Fedora, RHEL and Rocky; for SUSE.
_PACKAGES: dict[Flavour, tuple[str, str, str]] = {
    "openmpi": ("libopenmpi-dev", "openmpi-devel", "openmpi4-devel"),
    "mpich": ("libmpich-dev", "mpich-devel", "mpich-devel"),
    "other": (
        "libopenmpi-dev or libmpich-dev",
        "openmpi-devel or mpich-devel",
        "openmpi4-devel or mpich-devel",
    ),
}
_INTEL_PACKAGE = "intel-oneapi-mpi-devel"


class CompilerOutput(NamedTuple):
    """What a compiler wrote to its streams."""

    out: str
    err: str


def compiled(
    product: str,
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    *,
    text: str = "",
) -> CompilerOutput:
    """Run a compiler for ``product`` (the beginning of a sentence), with ``text`` as its input.

    ``environment``: variables in addition to this process's. Raises AssayError if it can't be run,
    or fails (its output is in ``detail``).
    """
    try:
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
            cwd=folder,
            check=False,
        )
    except OSError as error:
        raise AssayError(
            f"{product} can't be built: '{command[0]}' can't be run: {error.strerror}.",
            fix="Name a C++ compiler that can be run.",
        ) from None
    output = done.stderr + done.stdout
    if done.returncode and lacks_header(output):
        raise AssayError(
            f"{product} can't be compiled with '{command[0]}': there is no mpi.h.",
            fix=f"Install the MPI's header ({header_packages('other')}). Its output follows.",
            detail=output,
        )
    if done.returncode:
        raise AssayError(
            f"{product} can't be compiled with '{command[0]}'.",
            fix="A C++20 compiler is needed (GCC 11, Clang 14 or newer). Its output follows.",
            detail=output,
        )
    return CompilerOutput(done.stdout, done.stderr)


def lacks_header(output: str) -> bool:
    """Whether a compiler's output says that there is no ``mpi.h``."""
    return _NO_HEADER.search(output) is not None


def header_packages(flavour: Flavour) -> str:
    """The packages with the header of an MPI; "other": the packages of the common MPIs."""
    if flavour == "intel":
        return _INTEL_PACKAGE
    debian, fedora, suse = _PACKAGES[flavour]
    return f"{debian} on Debian and Ubuntu, {fedora} on Fedora, RHEL and Rocky, {suse} on SUSE"
