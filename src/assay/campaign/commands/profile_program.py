"""Runs a program with the profiling library, and keeps the records of its ranks."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.campaign.commands.preloading import preload_of, runs_without_mpi
from assay.config import Config
from assay.errors import AssayError
from assay.launch.repeated import LaunchStreams, RepeatedStreams
from assay.ownership import why_untrusted
from assay.records.files import cannot_write, pretty_json, write_atomically
from assay.trace.matrix import MATRIX_FILE, matrix_text
from assay.trace.model import RUN_SCHEMA, ProfiledRun, ProgramProfile
from assay.trace.reading import CUT_FILES, RANK_FILES, RUN_FILE, all_ranks, read_profile
from assay.trace.reading_trace import TRACE_FILES, trace_summary
from assay.trace.samples.children import wait_for_children
from assay.trace.samples.files import SAMPLE_FILES
from assay.trace.samples.names_file import NAMES_FILE, find_names, sampled_processes
from assay.trace.samples.rate import sampling_variables
from assay.trace.samples.reading import has_samples, read_samples
from assay.trace.sites.finding import find_places
from assay.units import counted, format_quantity
from assay.version import VERSION

if TYPE_CHECKING:
    from rich.console import Console


# Bytes for the origin of the profile and the names of its places.
_RESERVED = 1 << 18


def profile_program(
    command: Sequence[str],
    folder: Path | None,
    config: Config,
    console: Console,
    *,
    trace: bool = False,
    regions: bool = False,
    sample: float | None = None,
    follow_forks: bool = False,
    counters: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    streams: RepeatedStreams | None = None,
) -> tuple[ProgramProfile | None, Path]:
    """Run the command to its end with the profiling library; returns the profile and its folder.

    The program's input and output are the same as without assay. Signals to assay reach the
    program. ``trace``: also record every call, and print the size of the trace. ``regions``: the
    profile begins when the program switches it on (MPI_Pcontrol). ``sample``: also sample call
    stacks, this many per s of CPU time; a program without MPI then has no profile (None).
    ``follow_forks``: also those of children that it forks. ``counters``: events to count.
    ``variables``: further settings of the library, which launchers pass on. ``streams``: of several
    launches. Raises AssayError if
    the command can't be started, if its MPI isn't known or has no compiler, or if the folder can't
    be written or already has a profile. Raises it with the program's exit status if no process
    wrote a profile.
    """
    require_program(command)
    preload = preload_of(
        command,
        config,
        lambda text: console.print(text, style="dim", markup=False),
        sample=sample is not None,
    )
    kept = new_profile_folder(folder)
    mine = {"ASSAY_PROFILE_DIR": str(kept)}
    mine |= {"ASSAY_PROFILE_TRACE": "1"} if trace else {}
    mine |= {"ASSAY_PROFILE_START": "off"} if regions else {}
    if sample is not None:
        mine |= sampling_variables(sample, os.environ, forks=follow_forks, counters=counters)
    mine |= variables or {}
    environment = {**os.environ, **preload.variables(mine, command, os.environ)}
    with _reserved(kept):
        utc, began = time.time(), time.monotonic()
        words = preload.told(command, list(mine), os.environ)
        with streams.launch() if streams else contextlib.nullcontext(LaunchStreams()) as given:
            status = given.status = _run(words, environment, given)
        wall = time.monotonic() - began
    run = ProfiledRun(
        schema=RUN_SCHEMA,
        assay=VERSION,
        command=list(command),
        folder=str(Path.cwd()),
        utc=utc,
        wall=wall,
        status=status,
        mpi=preload.mpi,
        library=str(preload.libraries[0]),
    )
    keep_run(run, kept)
    if trace:
        console.print(trace_summary(kept), markup=False, soft_wrap=True)
    if follow_forks:
        wait_for_children(kept, lambda text: console.print(text, markup=False, soft_wrap=True))
    if sample is not None:
        console.print(_keep_names(kept), markup=False, soft_wrap=True)
        if has_samples(kept) and not any(kept.glob(RANK_FILES)):
            return None, kept
    profile = _profile_in(kept, run, sampled=sample is not None)
    # Named now, since the program may be recompiled later.
    places = find_places(all_ranks(kept), Path.cwd())
    known = next((one.header.mpi for one in profile.ranks if one.header.mpi), run.mpi)
    keep_run(msgspec.structs.replace(run, places=places, mpi=known), kept)
    matrix = matrix_text(profile)
    if matrix is not None:
        write_atomically(kept / MATRIX_FILE, matrix.encode(), option="--folder FOLDER")
    return read_profile(kept), kept


def _keep_names(folder: Path) -> str:
    """Find the names of all sampled places, and keep them; a line on what was sampled.

    Raises AssayError if a file is damaged or the names can't be written.
    """
    if not has_samples(folder):
        return "samples: no process of the program used enough CPU time for a sample."
    names = find_names(sampled_processes(folder))
    content = msgspec.json.encode(names)
    write_atomically(folder / NAMES_FILE, content, option="--folder FOLDER")
    found = read_samples(folder)
    assert found is not None
    count = sum(len(thread.times) for thread in found.threads)
    ranks = len({(thread.rank, thread.host, thread.process) for thread in found.threads})
    text = (
        f"samples: {count} of {counted(len(found.threads), 'thread')} in "
        f"{counted(ranks, 'process')}, one per {format_quantity(found.period, 's')} of CPU time"
    )
    if found.cost == found.cost and count:
        share = found.cost / (count * found.period)
        text += f"; taking them cost {100 * share:.2g}% of it"
    return " ".join((text + ".", *found.doubts))


def _profile_in(folder: Path, run: ProfiledRun, *, sampled: bool) -> ProgramProfile:
    """The profile. Raises AssayError, with the program's exit status if no rank wrote one."""
    if any(folder.glob(RANK_FILES)):
        return read_profile(folder)
    ended = f"it ended with exit status {run.status}" if run.status else "it ended normally"
    what = f"No process of the program wrote a profile ({ended})."
    fix = (
        "A program can be profiled if it calls MPI_Init, is dynamically linked, and ends by "
        "itself or on SIGTERM. For several hosts, the folder must be on a shared file system."
    )
    if any(folder.glob(TRACE_FILES)):
        what = f"The program was killed before its ranks could write a profile ({ended})."
        fix = (
            f"The traces contain all calls up to their last flush: `assay profile --read {folder}`."
        )
    elif not run.status and runs_without_mpi(run.command):
        what = f"The program isn't linked with MPI, so it ran without a profile ({ended})."
        fix = "Name a program that uses MPI, or add --sample, which works without MPI."
        if sampled:
            what = (
                "The program isn't linked with MPI, and used too little CPU time for a sample "
                f"({ended})."
            )
            fix = (
                "Name a program that uses MPI, or let it compute for longer. "
                "`assay profile --sample=1000` samples more often."
            )
    raise AssayError(what, where=str(folder), fix=fix, status=run.status or 2)


def require_program(command: Sequence[str]) -> None:
    """Raises AssayError if the first word isn't a program."""
    if shutil.which(command[0]) is None:
        raise AssayError(
            "There is no such program.", where=command[0], fix="Name a program or its path."
        )


def new_profile_folder(folder: Path | None, kind: str = "profile") -> Path:
    """The folder for a profile, created if necessary.

    With None it is a new folder, named after ``kind`` and the time, with a number if the name
    exists. Raises AssayError if the folder can't be written or already has a profile.
    """
    chosen = folder
    try:
        if chosen is None:
            chosen = _numbered(f"{kind}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
        else:
            chosen.mkdir(parents=True, exist_ok=True)
        why = why_untrusted(chosen)
    except OSError as error:
        raise cannot_write(chosen or Path.cwd(), error, "--folder FOLDER") from None
    if why is not None:
        raise AssayError(
            f"This {why}, so links in it could redirect the program's profile.",
            where=str(chosen),
            fix="Name another folder with --folder FOLDER.",
        )
    if recorded_files(chosen):
        raise AssayError(
            "The folder already contains a profile.",
            where=str(chosen),
            fix="Name another folder, or remove this profile.",
        )
    if not os.access(chosen, os.W_OK):
        raise AssayError(
            "The folder can't be written.", where=str(chosen), fix="Name another folder."
        )
    return chosen.resolve()


def recorded_files(folder: Path) -> list[Path]:
    """The recorded files of a run in the folder of a profile."""
    kinds = (RUN_FILE, RANK_FILES, CUT_FILES, TRACE_FILES, SAMPLE_FILES, NAMES_FILE)
    return [path for kind in kinds for path in folder.glob(kind)]


def _numbered(name: str) -> Path:
    """A new folder with this name, or ``NAME-2`` and so on. Raises OSError."""
    made, taken = Path(name), 1
    while True:
        try:
            made.mkdir()
        except FileExistsError:
            taken += 1
            made = Path(f"{name}-{taken}")
        else:
            return made


@contextlib.contextmanager
def _reserved(folder: Path) -> Iterator[None]:
    """Room on the disk for what assay writes when the program has ended. Records of the program may
    fill the disk, and can then still be read. Raises AssayError if there is no room.
    """
    path = folder / ".reserved"
    try:
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, _RESERVED)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            path.unlink(missing_ok=True)
            raise cannot_write(folder, error, "--folder FOLDER") from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _run(command: Sequence[str], environment: Mapping[str, str], streams: LaunchStreams) -> int:
    """The command's exit status; for signals, the status that a shell reports."""
    try:
        process = subprocess.Popen(
            list(command),
            env=dict(environment),
            stdin=streams.stdin,
            stdout=streams.output,
            stderr=streams.output,
        )
    except OSError as error:
        raise AssayError(
            f"The program can't be started: {error.strerror or error}.", where=command[0]
        ) from None
    with _handed_on(process):
        while True:
            try:
                status = process.wait()
            except KeyboardInterrupt:  # from the terminal, which also sends it to the program
                continue
            return status if status >= 0 else 128 - status


@contextlib.contextmanager
def _handed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Signals that would end assay go to the program.

    Afterwards assay reports the recorded calls.
    """
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {
        number: signal.signal(number, lambda number, _: process.send_signal(number))
        for number in numbers
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: a library set the handler (another tool's MPI in this process); it can't be
            # restored.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def keep_run(run: ProfiledRun, folder: Path) -> None:
    """Write the origin of a profile to its folder. Raises AssayError."""
    write_atomically(folder / RUN_FILE, pretty_json(run), option="--folder FOLDER")
