"""Builds that were made elsewhere, for machines without a compiler.

Each build holds the description of its toolchain as found where it was built. On a machine whose
toolchain lacks a compiler, such as a compute node, the stored build of the same toolchain is used.
It is identified by the facts that are known without a compiler: the MPI and its version, the flags,
the compiler and the BLAS if the config names them, assay's sources, and the processor.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from assay.cache import cache_home
from assay.config import ToolchainConfig
from assay.decoding import UNREADABLE
from assay.errors import AssayError
from assay.kernels.builds.identity import cpu_identity, digest, processor_name, source_digest
from assay.kernels.builds.sealed import CONTENT, is_intact
from assay.kernels.builds.shared import shared_builds
from assay.kernels.builds.toolchain import Toolchain
from assay.kernels.builds.units import units_in
from assay.kernels.probes import ask
from assay.kernels.sources import native_sources
from assay.version import VERSION

EXECUTABLE = "assay-kernels"
ORIGIN = "toolchain.json"
# The exit status of the kernels on a processor that lacks instruction sets of the build.
_OTHER_PROCESSOR = 5
# Seconds to wait for the kernels to print their version on a busy shared file system.
_PATIENCE = 60.0
# Words of a compiler's flags that name the processor to compile for.
_PROCESSOR = re.compile(r"(-m(?:arch|cpu|tune)=)(\S+)")


class BuildOrigin(msgspec.Struct, frozen=True):
    """How a build was made."""

    schema: int
    #: The toolchain as found on the host that built.
    toolchain: Toolchain
    #: The host that built.
    host: str
    #: The processor model of that host.
    processor: str
    #: Unix time of the build, s.
    utc: float
    #: Duration of the build, s.
    seconds: float
    #: Number of instruction sets and other properties of the processor that the compiler assumed,
    #: as macros.
    sets: int
    #: CPU time of the compilers, s; None for builds that were interrupted and builds of earlier
    #: versions.
    cpu: float | None = None


class StoredBuild(msgspec.Struct, frozen=True):
    """A build in the user's cache, or in the site's."""

    folder: Path
    origin: BuildOrigin
    #: A digest of the processor that it was made for (``cpu_kind``); None if its flags name one.
    identity: str | None
    #: Whether it was made for this machine's processor, or for a named processor.
    suits: bool
    #: The native units of its kernels; None if it holds all kernels.
    units: frozenset[str] | None = None

    def holds(self, needed: frozenset[str] | None) -> bool:
        """Whether it has these units; None: all."""
        return self.units is None or (needed is not None and needed <= self.units)


def origin_of(toolchain: Toolchain, seconds: float, cpu: float | None) -> BuildOrigin:
    """The origin of a build that this machine has just made. ``seconds``, ``cpu``: as stored."""
    command = [toolchain.cxx or toolchain.mpicxx, *toolchain.flags.split(), "-dM", "-E"]
    macros = ask([*command, "-x", "c++", "-"], toolchain.variables).text
    return BuildOrigin(
        schema=1,
        toolchain=toolchain,
        host=os.uname().nodename,
        processor=processor_name(),
        utc=time.time(),
        seconds=seconds,
        sets=len(re.findall(r"(?m)^#define __\w+__ 1$", macros)),
        cpu=cpu,
    )


def for_processor(toolchain: Toolchain, processor: str) -> Toolchain:
    """The toolchain with flags for a processor, by the compiler's name, instead of "native".

    Raises AssayError if the flags don't say "native", or the compiler doesn't know the
    name.
    """
    if "=native" not in toolchain.flags:
        raise AssayError(
            f"The flags of the toolchain '{toolchain.name}' don't contain 'native': "
            f"{toolchain.flags}",
            where=f"--for {processor}",
            fix="Omit --for: this build suits every processor that the flags allow.",
        )
    flags = toolchain.flags.replace("=native", f"={processor}")
    compiler = toolchain.cxx or toolchain.mpicxx
    known = ask([compiler, *flags.split(), "-E", "-x", "c++", "-"], toolchain.variables)
    if not known.ok:
        raise AssayError(
            f"The compiler '{compiler}' does not compile for '{processor}'.",
            where=f"--for {processor}",
            fix="Use the compiler's name of the processor, such as x86-64-v3, znver4 or "
            "skylake-avx512. Its message follows.",
            detail=known.text,
        )
    return msgspec.structs.replace(toolchain, flags=flags)


def stored_builds(toolchain: Toolchain, entry: ToolchainConfig | None) -> list[StoredBuild]:
    """The intact builds of a toolchain and these sources; builds that suit this processor come
    first.

    ``entry``: its section of the config. Builds with all kernels come first. Among these, builds
    for exactly this processor precede builds for named processors, which are ordered by their
    number of instruction sets, highest first. Ties are broken by the number of kernels, then by
    age, newest first.
    """
    found = []
    sources = source_digest(native_sources())
    for folder, origin, content in _kept():
        ours = (content.get("assay"), content.get("sources")) == (VERSION, sources)
        if not ours or not _same(toolchain, origin.toolchain, entry):
            continue
        native = "native" in origin.toolchain.flags
        made_for, here = str(content.get("cpu")), cpu_identity() if native else os.uname().machine
        if is_intact(folder, EXECUTABLE):
            identity = digest(made_for) if native else None
            units = units_in(content)
            found.append(StoredBuild(folder, origin, identity, made_for == here, units))
    return sorted(
        found,
        key=lambda b: (
            b.suits,
            b.units is None,
            "native" in b.origin.toolchain.flags,
            b.origin.sets,
            len(b.units or ()),
            b.origin.utc,
        ),
        reverse=True,
    )


def adopted(toolchain: Toolchain, entry: ToolchainConfig | None) -> Toolchain:
    """The toolchain with a stored build in place of its compiler, else with a fix for its problem.

    ``toolchain`` has a problem. A build is used only if it starts on this machine.
    """
    try:
        builds = stored_builds(toolchain, entry)
    except AssayError:
        builds = []
    why = []
    for build in builds:
        origin = build.origin
        wrong = _why_not(build) if build.suits else _OTHER.format(origin.processor or "unknown")
        if wrong:
            why.append(f"The build from '{origin.host}' {wrong}.")
            continue
        return msgspec.structs.replace(
            origin.toolchain,
            name=toolchain.name,
            mpirun=toolchain.mpirun or origin.toolchain.mpirun,
            launch_flags=toolchain.launch_flags,
            launcher=toolchain.launcher,
            environment=toolchain.environment,
            loaded=toolchain.loaded,
            wrapper=toolchain.wrapper,
            built=str(build.folder),
        )
    name = f" --toolchain {toolchain.name}" if toolchain.kind == "site" else ""
    other = (
        f"Build for this processor ({processor_name() or os.uname().machine}) where there is a "
        f"compiler: assay kernels --build{name} --for PROCESSOR, with the compiler's name of it "
        "(such as x86-64-v3 or znver4)."
    )
    elsewhere = (
        f"Or build where there is a compiler, with the same cache: assay kernels --build{name}"
    )
    return msgspec.structs.replace(
        toolchain,
        problem=" ".join([toolchain.problem, *why[:1]]),
        fix=other if why else f"{toolchain.fix} {elsewhere}.",
    )


_OTHER = "is for another processor ({})"


def adopted_path_toolchain(mpirun: str | None) -> Toolchain | None:
    """The toolchain "path" if PATH has its launcher but no MPI compiler; else None."""
    for _, origin, _ in _kept():
        stored = origin.toolchain
        if stored.kind == "path" and stored.mpirun and stored.mpirun == mpirun:
            absent = msgspec.structs.replace(stored, problem="There is no MPI compiler on PATH.")
            found = adopted(absent, None)
            return found if found.built else None
    return None


def _kept() -> Iterator[tuple[Path, BuildOrigin, Mapping[str, object]]]:
    """The site's and the user's builds that have an origin, with the content of their key."""
    folders = [folder for folder in (shared_builds(), cache_home() / "builds") if folder]
    for path in (path for folder in folders for path in sorted(folder.glob(f"*/{ORIGIN}"))):
        try:
            origin = msgspec.json.decode(path.read_bytes(), type=BuildOrigin)
            content = msgspec.json.decode((path.parent / CONTENT).read_bytes(), type=dict)
        except (OSError, *UNREADABLE):
            continue
        yield path.parent, origin, content


def _same(here: Toolchain, stored: Toolchain, entry: ToolchainConfig | None) -> bool:
    """Whether a toolchain without a compiler is the same as a stored one, by all known facts."""
    entry = entry or ToolchainConfig()
    facts = ("kind", "mpicxx", "mpi_flavour", "mpi_version", "environment", "modules")
    return (
        all(getattr(here, fact) == getattr(stored, fact) for fact in facts)
        and _same_flags(here.flags, stored.flags)
        and (entry.cxx is None or here.cxx == stored.cxx)
        and (entry.blas is None or here.blas == stored.blas)
    )


def _same_flags(here: str, stored: str) -> bool:
    """Whether flags are equal, where "native" stands for any processor."""
    if here == stored:
        return True
    named = {match[2] for match in _PROCESSOR.finditer(stored)}
    return len(named) == 1 and here.replace("=native", f"={named.pop()}") == stored


def _why_not(build: StoredBuild) -> str:
    """Why a build doesn't start on this machine; empty if it does."""
    executable = build.folder / EXECUTABLE
    environment = {**os.environ, **build.origin.toolchain.variables}
    try:
        done = subprocess.run(
            [executable, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"doesn't start here ({error})"
    if done.returncode == 0:
        return ""
    if done.returncode == _OTHER_PROCESSOR:
        return _OTHER.format(build.origin.toolchain.flags)
    said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return f"doesn't start here ({said.rstrip('.')})"
