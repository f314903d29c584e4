"""Waiting for children that outlive the command of a profile."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from assay.units import counted_verb, format_duration

#: Longest wait, s: daemons run for days.
LONGEST_WAIT = 10.0
_STEP = 0.2


def wait_for_children(
    folder: Path,
    progress: Callable[[str], None],
    *,
    longest: float = LONGEST_WAIT,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[int]:
    """Wait until all processes of the command on this host have ended, but at most ``longest`` s.

    ``progress`` receives a sentence before the wait. Returns the processes that still run.
    """
    begin, told = clock(), False
    while True:
        running = running_in(folder)
        if not running or clock() - begin >= longest:
            return running
        if not told:
            told = True
            still = counted_verb(len(running), "process", "run")
            progress(
                f"The command has ended, but {still} on; assay waits for at most "
                f"{format_duration(longest)}."
            )
        sleep(_STEP)


def running_in(folder: Path) -> list[int]:
    """The processes of this host whose samples are kept in the folder, by their environment."""
    wanted = os.fsencode(f"ASSAY_PROFILE_DIR={folder.resolve()}")
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        # A process that has ended, and waits for its parent, has no environment.
        with contextlib.suppress(OSError):
            if wanted in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return sorted(found)
