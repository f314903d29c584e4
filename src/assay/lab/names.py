"""Names of virtual clusters that identify the owner, to detect clusters whose owner has ended."""

from __future__ import annotations

import re
from pathlib import Path

# assay-lab-PID-START-SERIAL, and the name of a part. START: clock ticks from boot to the start of
# the owner. They distinguish the owner from a later process with the same id.
_NAME = re.compile(r"assay-lab-(?P<pid>\d+)-(?P<start>\d+)-\d+(?:-\w+)?", re.ASCII)


def is_orphaned(name: str) -> bool:
    """Whether this is the name of a virtual cluster, or a part of one, whose owner has ended."""
    match = _NAME.fullmatch(name)
    return match is not None and process_start(int(match["pid"])) != int(match["start"])


def process_start(pid: int) -> int | None:
    """Clock ticks from boot to the process's start; None for a missing process or a zombie."""
    try:
        # "pid (name) state parent …", where the name may hold anything; the start is field 22.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in b"ZX" else int(fields[19])
