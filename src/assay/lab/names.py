"""Names that tell who owns a virtual cluster, so that what dead owners left is recognised."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

_NAME = re.compile(r"assay-lab-(?P<pid>\d+)-(?P<start>\d+)-\d+(?:-\w+)?", re.ASCII)
_serial = itertools.count(1)


def new_name() -> str:
    """``assay-lab-PID-START-SERIAL``: unique on this machine, today and after the owner's death.

    START tells a later process with the same id from the owner: the clock ticks from boot to its
    start.
    """
    pid = os.getpid()
    return f"assay-lab-{pid}-{_started(pid)}-{next(_serial)}"


def is_orphaned(name: str) -> bool:
    """Whether this is a name of ours, or of a part of it, whose owner no longer runs."""
    match = _NAME.fullmatch(name)
    return match is not None and _started(int(match["pid"])) != int(match["start"])


def _started(pid: int) -> int | None:
    """Clock ticks from boot to the process's start; None if there is none, or a zombie is left."""
    try:
        # "pid (name) state parent …", where the name may hold anything; the start is field 22.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in b"ZX" else int(fields[19])
