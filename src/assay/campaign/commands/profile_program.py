"""Runs a program with the profiling library, and keeps what its ranks recorded."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay import __version__
from assay.config import Config
from assay.errors import AssayError
from assay.kernels.builds.toolchain import Flavour, Toolchain
from assay.kernels.builds.trace import build_trace
from assay.kernels.program_mpi import LAUNCHERS, ProgramRefused, is_static_mpi, parallel_of
from assay.kernels.toolchains import detect_toolchains, mpi_of_launcher
from assay.records.files import cannot_write, pretty_json, write_atomically
from assay.trace.call_sites import find_places
from assay.trace.matrix import MATRIX_FILE, matrix_text
from assay.trace.model import RUN_SCHEMA, ProfiledRun, ProgramProfile
from assay.trace.reading import CUT_FILES, RANK_FILES, RUN_FILE, all_ranks, read_profile
from assay.trace.reading_trace import TRACE_FILES, trace_summary

if TYPE_CHECKING:
    from rich.console import Console

_ELF = b"\x7fELF"
_FLAVOURS = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI"}


@dataclass(frozen=True)
class ProgramMpi:
    """The MPI of a program: its launcher and version ("" if unknown)."""

    flavour: Flavour
    launcher: str
    version: str = ""


def profile_program(
    command: Sequence[str],
    folder: Path | None,
    config: Config,
    console: Console,
    *,
    trace: bool = False,
    regions: bool = False,
) -> tuple[ProgramProfile, Path]:
    """Run the command to its end with the profiling library; the profile, and its folder.

    The program's input and output are as without assay; signals to assay reach it. ``trace``:
    every call is recorded, too, and a sentence on the console says how much that is. ``regions``:
    the profile begins when the program switches it on (MPI_Pcontrol).

    Raises AssayError if the command can't be started, its MPI isn't known or has no compiler, the
    folder can't be written or holds a profile, or no process of the program wrote one; the latter
    has the program's exit status.
    """
    program = shutil.which(command[0])
    if program is None:
        raise AssayError(
            "There is no such program.", where=command[0], fix="Name a program or its path."
        )
    library, mpi = program_library(command, config, console)
    kept = new_profile_folder(folder)
    utc, began = time.time(), time.monotonic()
    status = _run(command, _variables(library, kept, mpi, os.environ, trace=trace, regions=regions))
    wall = time.monotonic() - began
    run = ProfiledRun(
        schema=RUN_SCHEMA,
        assay=__version__,
        command=list(command),
        folder=str(Path.cwd()),
        utc=utc,
        wall=wall,
        status=status,
        mpi=" ".join(filter(None, (_FLAVOURS.get(mpi.flavour, "MPI"), mpi.version))),
        library=str(library),
    )
    keep_run(run, kept)
    if trace:
        console.print(trace_summary(kept), markup=False, soft_wrap=True)
    profile = _profile_in(kept, run)
    # Named at once: later the program may have been compiled anew.
    keep_run(msgspec.structs.replace(run, places=find_places(all_ranks(kept), Path.cwd())), kept)
    matrix = matrix_text(profile)
    if matrix is not None:
        write_atomically(kept / MATRIX_FILE, matrix.encode(), option="--folder FOLDER")
    return read_profile(kept), kept


def _profile_in(folder: Path, run: ProfiledRun) -> ProgramProfile:
    """The profile. Raises AssayError, with the program's exit status if no rank wrote one."""
    if any(folder.glob(RANK_FILES)):
        return read_profile(folder)
    ended = f"it ended with exit status {run.status}" if run.status else "it ended normally"
    what = f"No process of the program wrote a profile ({ended})."
    fix = (
        "A profile needs a program that calls MPI_Init, is dynamically linked, and ends by itself "
        "or on SIGTERM; on several hosts the folder has to be on a file system that they share."
    )
    if any(folder.glob(TRACE_FILES)):
        what = f"The program was killed before its ranks could write a profile ({ended})."
        fix = f"The traces are kept up to their last flush: `assay profile --read {folder}`."
    elif _is_without_mpi(run.command):
        what = f"The program isn't linked with MPI: it ran as without assay ({ended})."
        fix = "There is nothing to profile; name a program that uses MPI."
    raise AssayError(what, where=str(folder), fix=fix, status=run.status or 2)


def _is_without_mpi(command: Sequence[str]) -> bool:
    """Whether executables are named, and none of them is linked with MPI."""
    found = False
    for word in command:
        path = shutil.which(word)
        if path is None or Path(path).name in LAUNCHERS:
            continue
        with contextlib.suppress(OSError, ProgramRefused):
            content = Path(path).read_bytes()
            if not content.startswith(_ELF) or parallel_of(Path(path), content)[0] == "mpi":
                return False  # a script may start anything
            found = True
    return found


def program_library(
    command: Sequence[str], config: Config, console: Console
) -> tuple[Path, ProgramMpi]:
    """The library to preload into a program, and the program's MPI. Raises AssayError."""
    mpi = _mpi_of(command)
    toolchain = _toolchain_of(mpi, config)
    library = build_trace(
        toolchain.mpicxx,
        toolchain.wrapper_environment,
        lambda text: console.print(text, style="dim", markup=False),
    )
    return library, replace(mpi, version=toolchain.mpi_version or "")


def _mpi_of(command: Sequence[str]) -> ProgramMpi:
    """By the first executable that is linked with MPI; otherwise, of a script, by its launcher."""
    for word in command:
        path = shutil.which(word)
        if path is None or Path(path).name in LAUNCHERS:
            continue
        try:
            with Path(path).open("rb") as file:
                content = file.read() if file.read(4) == _ELF else b""
        except OSError:
            continue
        if not content:
            continue
        content = _ELF + content
        if is_static_mpi(content):
            raise AssayError(
                "The program is statically linked: nothing can be preloaded into it, so its MPI "
                "calls can't be seen. It was not run.",
                where=word,
                fix="Link it dynamically (without -static).",
            )
        try:
            parallel, flavour, launcher = parallel_of(Path(path), content)
        except ProgramRefused as why:
            raise AssayError(
                f"{Path(path).name} {why}",
                where=word,
                fix="Load the modules that it needs, so that its MPI's launcher is on PATH.",
            ) from None
        if parallel != "mpi" or not flavour:
            continue
        return ProgramMpi(flavour, launcher)
    launcher = next((word for word in command if Path(word).name in LAUNCHERS), "")
    path = shutil.which(launcher) if launcher else None
    flavour, _ = mpi_of_launcher(path)
    return ProgramMpi(flavour, path or "")


def _toolchain_of(mpi: ProgramMpi, config: Config) -> Toolchain:
    """One with the program's launcher, else one with its MPI, else the first usable one."""
    usable = [one for one in detect_toolchains(config) if one.mpicxx]
    same = [one for one in usable if mpi.launcher and _is_beside(one, mpi.launcher)]
    alike = [one for one in usable if one.mpi_flavour == mpi.flavour]
    beside = _compiler_beside(mpi.launcher)
    if same:
        return same[0]
    if beside and usable:
        return msgspec.structs.replace(
            usable[0], mpicxx=beside, mpi_flavour=mpi.flavour,
            mpi_version=mpi_of_launcher(mpi.launcher)[1], environment={},
        )  # fmt: skip
    if alike or (usable and mpi.flavour == "other"):
        return (alike or usable)[0]
    name = _FLAVOURS.get(mpi.flavour, "the program's MPI")
    raise AssayError(
        f"The profiling library can't be built: there is no mpicxx of {name}.",
        where=mpi.launcher,
        fix="Install the MPI's development files, or name its mpicxx in assay.toml (toolchains).",
    )


def _is_beside(toolchain: Toolchain, launcher: str) -> bool:
    with contextlib.suppress(OSError):
        return toolchain.mpirun is not None and Path(toolchain.mpirun).samefile(launcher)
    return False


def _compiler_beside(launcher: str) -> str | None:
    """The wrapper of the same installation; with Debian's suffix if the launcher has one."""
    if not launcher:
        return None
    path = Path(launcher)
    names = [f"mpicxx{path.suffix}"] if path.suffix in (".openmpi", ".mpich") else ["mpicxx"]
    return next((found for name in names if (found := shutil.which(name, path=path.parent))), None)


def new_profile_folder(folder: Path | None) -> Path:
    """The folder for a profile, made if necessary. Raises AssayError, also if it holds one.

    None: a new one, named after the time, and numbered if there is one of that second.
    """
    chosen = folder
    try:
        if chosen is None:
            chosen = _numbered(f"profile-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
        else:
            chosen.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(chosen or Path.cwd(), error, "--folder FOLDER") from None
    if recorded_files(chosen):
        raise AssayError(
            "The folder holds a profile already.",
            where=str(chosen),
            fix="Name another, or remove it.",
        )
    if not os.access(chosen, os.W_OK):
        raise AssayError("The folder can't be written.", where=str(chosen), fix="Name another.")
    return chosen.resolve()


def recorded_files(folder: Path) -> list[Path]:
    """What was recorded of a run in the folder of a profile."""
    kinds = (RUN_FILE, RANK_FILES, CUT_FILES, TRACE_FILES)
    return [path for kind in kinds for path in folder.glob(kind)]


def _numbered(name: str) -> Path:
    """A new folder of this name, or ``NAME-2`` and so on. Raises OSError."""
    made, taken = Path(name), 1
    while True:
        try:
            made.mkdir()
        except FileExistsError:
            taken += 1
            made = Path(f"{name}-{taken}")
        else:
            return made


def _variables(
    library: Path,
    folder: Path,
    mpi: ProgramMpi,
    inherited: Mapping[str, str],
    *,
    trace: bool = False,
    regions: bool = False,
) -> dict[str, str]:
    """The environment that preloads the library into all ranks.

    Launchers hand it on by themselves, Open MPI's to other hosts only what it names.
    """
    mine = {"ASSAY_PROFILE_DIR": str(folder)}
    mine |= {"ASSAY_PROFILE_TRACE": "1"} if trace else {}
    mine |= {"ASSAY_PROFILE_START": "off"} if regions else {}
    return {**inherited, **variables_of(mine, library, mpi, inherited)}


def variables_of(
    mine: Mapping[str, str], library: Path, mpi: ProgramMpi, inherited: Mapping[str, str]
) -> dict[str, str]:
    """Variables for the library, and those that preload it into all ranks."""
    preloaded = " ".join(filter(None, (str(library), inherited.get("LD_PRELOAD", ""))))
    found = {"LD_PRELOAD": preloaded, **mine}
    if mpi.flavour == "openmpi":
        name = "OMPI_MCA_mca_base_env_list"
        settings = [f"{key}={value}" for key, value in found.items()]
        found[name] = ";".join(filter(None, (inherited.get(name, ""), *settings)))
    return found


def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Its exit status, as a shell's for signals."""
    try:
        process = subprocess.Popen(list(command), env=dict(environment))
    except OSError as error:
        raise AssayError(
            f"The program can't be started: {error.strerror or error}.", where=command[0]
        ) from None
    with _handed_on(process):
        while True:
            try:
                status = process.wait()
            except KeyboardInterrupt:  # of the terminal: the program gets it, too
                continue
            return status if status >= 0 else 128 - status


@contextlib.contextmanager
def _handed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Signals that would end assay go to the program; then assay reports what it recorded."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {
        number: signal.signal(number, lambda number, _: process.send_signal(number))
        for number in numbers
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: set by a library (another tool's MPI in this process), which can't be restored.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def keep_run(run: ProfiledRun, folder: Path) -> None:
    """Write how a profile was made to its folder. Raises AssayError."""
    write_atomically(folder / RUN_FILE, pretty_json(run), option="--folder FOLDER")
