"""Finds the executables of NPB, HPL, HPCG, STREAM and OSU in a folder, by name and content."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.errors import AssayError
from assay.kernels.builds.toolchain import Flavour
from assay.kernels.program_mpi import Parallel, ProgramRefused, parallel_of

Tool = Literal["npb", "hpl", "hpcg", "stream", "osu"]

# Maximum levels of folders below the named folder, and total number of files, that are searched.
_DEEPEST = 5
_MOST_FILES = 20_000

_NPB = re.compile(r"(ep|cg|mg|ft|is|lu|bt|sp)\.([SWABCDEF])\.(x|\d{1,6})")
_NAMES: tuple[tuple[Tool, re.Pattern[str]], ...] = (
    ("npb", _NPB),
    ("hpl", re.compile(r"xhpl[\w.-]*")),
    ("hpcg", re.compile(r"xhpcg[\w.-]*")),
    ("stream", re.compile(r"stream(?:[_.-][\w.-]+)?", re.I)),
    ("osu", re.compile(r"osu_(\w+)")),
)
# What an executable of each tool contains in addition to its name.
_CONTENTS: dict[Tool, re.Pattern[bytes]] = {
    "npb": re.compile(rb"Parallel Benchmark"),
    "hpl": re.compile(rb"HPLinpack|HPL_|High-Performance Linpack"),
    "hpcg": re.compile(rb"HPCG result is|HPCG-Benchmark"),
    "stream": re.compile(rb"STREAM [vV]ersion|Best Rate MB/s|Rate \(MB/s\)"),
    "osu": re.compile(rb"OSU |OMB"),
}
_VERSIONS: dict[Tool, re.Pattern[bytes]] = {
    "npb": re.compile(rb"NPB(\d\.\d(?:\.\d)?)|Benchmarks \(?(?:NPB)?(\d\.\d(?:\.\d)?)"),
    "hpl": re.compile(rb"HPLinpack (\d[\d.]*)"),
    "hpcg": re.compile(rb"HPCG-Benchmark[_ ](\d[\d.]*\d)"),
    "stream": re.compile(rb"STREAM [vV]ersion \$?(?:Revision: )?(\d[\d.]*)"),
    "osu": re.compile(rb"v(\d\.\d(?:\.\d)?)\b"),
}
# Options in the help of OSU's programs. All versions list the one of warm-up calls; the one of the
# message size is listed only if the program takes it (point to point: not in 5.3).
_OSU_HELP = re.compile(rb"[\0\n][ \t]+-x\b")
_OSU_SIZE = re.compile(rb"[\0\n][ \t]+-m\b")


@dataclass(frozen=True)
class SiteProgram:
    """An executable of a benchmark."""

    path: Path
    tool: Tool
    #: Benchmark of the tool, such as ``cg`` or ``latency``.
    benchmark: str
    #: Class of an NPB executable.
    size: str
    #: Number of ranks that it was compiled for, None for any.
    ranks: int | None
    parallel: Parallel
    sha256: str
    #: Version in the executable, empty if it has none.
    version: str = ""
    #: ``mpi``, ``mpirun``: the MPI that it is linked with and this MPI's launcher, empty without
    #: MPI.
    mpi: Flavour | Literal[""] = ""
    mpirun: str = ""
    #: Whether ``-m`` limits it to one message size; else it measures all sizes.
    takes_size: bool = True

    @property
    def title(self) -> str:
        """``cg.A.x (NPB 3.4)``."""
        return f"{self.path.name} ({' '.join(filter(None, (self.tool.upper(), self.version)))})"


def find_programs(folder: Path) -> tuple[list[SiteProgram], list[str]]:
    """The programs in a folder and the folders below it, and a sentence on each refused program.

    Raises AssayError if the folder can't be read or has no program of these tools.
    """
    where, fix = str(folder), "Name the folder of your NPB, HPL, HPCG, STREAM or OSU executables."
    try:
        with os.scandir(folder):
            pass
    except FileNotFoundError:
        raise AssayError("There is no such folder.", where=where, fix=fix) from None
    except NotADirectoryError:
        raise AssayError("This is not a folder.", where=where, fix=fix) from None
    except OSError as error:
        raise AssayError(f"Can't be read: {error.strerror}.", where=where, fix=fix) from None
    found: dict[tuple[str, ...], SiteProgram] = {}
    refused: list[str] = []
    for path, tool in _named(folder):
        try:
            program = _examined(path, tool)
        except ProgramRefused as why:
            refused.append(f"{path.name} {why}")
            continue
        key = (tool, program.benchmark, program.size, str(program.ranks))
        first = found.setdefault(key, program)
        if first.sha256 != program.sha256:
            refused.append(f"{path} is left out: {first.path} is the same benchmark.")
    if not found:
        raise AssayError(
            " ".join(
                ["No executable of NPB, HPL, HPCG, STREAM or OSU can be measured.", *refused[:1]]
            )
            if refused
            else "There is no executable of NPB, HPL, HPCG, STREAM or OSU (cg.A.x, xhpl, xhpcg, "
            "stream, osu_latency).",
            where=where,
            fix=fix,
        )
    return list(found.values()), refused


def _named(folder: Path) -> Iterator[tuple[Path, Tool]]:
    """Executable files with the name of a tool; files of upper folders come first."""
    level, seen = [folder], 0
    for _ in range(_DEEPEST + 1):
        below: list[Path] = []
        for each in level:
            try:
                entries = sorted(os.scandir(each), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                seen += 1
                if seen > _MOST_FILES:
                    return
                if entry.is_dir(follow_symlinks=False):
                    below.append(Path(entry.path))
                    continue
                tool = next((tool for tool, name in _NAMES if name.fullmatch(entry.name)), None)
                path = Path(entry.path)
                if tool and os.access(path, os.X_OK) and path.is_file():
                    yield path, tool
        level = below


def _examined(path: Path, tool: Tool) -> SiteProgram:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ProgramRefused(f"can't be read: {error.strerror}.") from None
    if not _CONTENTS[tool].search(content):
        raise ProgramRefused(f"is left out: it does not look like {tool.upper()}.")
    if content.startswith(b"#!") and b"libtool" in content:
        raise ProgramRefused(
            "is left out: it is a script of libtool; name the folder it is installed to."
        )
    version = _VERSIONS[tool].search(content)
    shown = next(filter(None, version.groups()), b"") if version else b""
    npb = _NPB.fullmatch(path.name)
    named = path.name.removeprefix("osu_") if tool == "osu" else tool
    parallel, mpi, mpirun = parallel_of(path, content)
    return SiteProgram(
        path=path.absolute(),
        tool=tool,
        benchmark=npb[1] if npb else named,
        size=npb[2] if npb else "",
        ranks=int(npb[3]) if npb and npb[3] != "x" else None,
        parallel=parallel,
        sha256=hashlib.sha256(content).hexdigest(),
        version=shown.decode(),
        mpi=mpi,
        mpirun=mpirun,
        takes_size=not _OSU_HELP.search(content) or _OSU_SIZE.search(content) is not None,
    )
