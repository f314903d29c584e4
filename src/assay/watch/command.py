"""Implementation of ``assay watch``, from its options to its exit status."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.stats.changes.step_change import Settings
from assay.units import parse_duration
from assay.watch.follow import Options, watch_program
from assay.watch.heartbeat import library
from assay.watch.words import print_summary

if TYPE_CHECKING:
    from rich.console import Console


def run_watch(
    command: Sequence[str],
    *,
    step: str | None,
    pty: bool,
    folder: Path | None,
    patience: str | None,
    log: Path | None,
    quiet: bool,
    fail_on_alarm: bool,
    json: bool,
    console: Console,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Follow the command to its end, print the summary, and return the exit status.

    ``environment``: further variables of the program.
    """
    if step is not None and folder is not None:
        raise AssayError(
            "Steps are followed by lines or by heartbeats, not by both.",
            where=f"--folder {folder}",
            fix="Leave out --step or --folder.",
        )
    settings = Settings()
    if patience is not None:
        seconds = parse_duration(patience, where="--patience")
        if not 0.0 < seconds < 1e7:
            raise AssayError(
                f"'{patience}' is not a valid time.",
                where="--patience",
                fix="Give 1 s or more.",
            )
        # The requested time applies, whatever the usual length of a step.
        settings = Settings(patience=seconds, hang=0.0)
    options = Options(
        pattern=step,
        folder=folder,
        use_pty=pty,
        terminal=console.is_terminal and not quiet,
        quiet=quiet,
        log=log,
        settings=settings,
        environment=environment or {},
    )
    found = watch_program(command, options)
    if not quiet or found.alarms:
        print_summary(found, console)
    if json:
        import msgspec

        # One line, after the program's output.
        sys.stdout.buffer.write(msgspec.json.encode(found) + b"\n")
        sys.stdout.buffer.flush()
    if found.exit == 0 and fail_on_alarm and found.alarms:
        return 1
    return found.exit


def report_heartbeat(console: Console, *, json: bool) -> int:
    """Print where the files that mark steps are, and how to use them."""
    folder = library()
    files = {
        "c": folder / "heartbeat.c",
        "header": folder / "heartbeat.h",
        "fortran": folder / "heartbeat.f90",
        "python": folder / "assay_heartbeat.py",
    }
    if json:
        import msgspec

        paths = {name: str(path) for name, path in files.items()}
        sys.stdout.buffer.write(msgspec.json.encode(paths) + b"\n")
        return 0
    lines = [
        f"The files are in {folder}. assay_heartbeat() marks the end of a step; without assay "
        "watch a call costs a nanosecond or two.",
        "",
        'C, C++:   #include "heartbeat.h", and in the loop: assay_heartbeat();',
        f"          cc -O2 -I{folder} program.c {files['c']}",
        "",
        "Fortran:  use assay, and in the loop: call assay_heartbeat()",
        f"          cc -O2 -c {files['c']}",
        f"          gfortran -O2 {files['fortran']} heartbeat.o program.f90",
        "",
        "Python:   from assay_heartbeat import heartbeat, and in the loop: heartbeat()",
        f"          PYTHONPATH={folder} python program.py, or a copy next to it",
        "",
        "Then:     assay watch -- mpirun -n 4 ./program",
        "MPI:      every rank marks its steps. Those of other hosts are followed with --folder on",
        "          a shared file system; Open MPI passes the variable on with -x ASSAY_HEARTBEAT.",
    ]
    for line in lines:
        console.print(line, soft_wrap=True, markup=False)
    return 0
