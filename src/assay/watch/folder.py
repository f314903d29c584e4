"""The folder that the heartbeats of a program's processes are in: made, checked, cleared away."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from assay.errors import AssayError


def lives(pid: int) -> bool:
    """Whether there is such a process, be it one that has ended and wasn't waited for."""
    return Path(f"/proc/{pid}").exists()


def make_folder() -> Path:
    """Where heartbeats go: in memory, if this machine has a folder there.

    The name tells whose it is, so that what a killed one left is cleared away by the next.

    Raises:
        AssayError: there is none that can be written.
    """
    ours = f"assay-heartbeat-{Path('/proc/self/ns/pid').stat().st_ino}-"
    for parent in ("/dev/shm", tempfile.gettempdir()):
        with contextlib.suppress(OSError):
            for left in Path(parent).glob(f"{ours}*"):
                _clear(left, left.name.removeprefix(ours).split("-")[0])
            return Path(tempfile.mkdtemp(prefix=f"{ours}{os.getpid()}-", dir=parent))
    raise AssayError(
        "There is no folder to write heartbeats to.", fix="Name one that can be written: --folder."
    )


def _clear(folder: Path, owner: str) -> None:
    """Remove the folder, unless its owner or a program that writes to it lives."""
    rings = list(folder.glob("*.heartbeat"))
    writers = [ring.name.rpartition("-")[2].split(".")[0] for ring in rings]
    if not any(pid.isdigit() and lives(int(pid)) for pid in (owner, *writers)):
        with contextlib.suppress(OSError):
            for ring in rings:
                ring.unlink()
            folder.rmdir()


def check_folder(folder: Path) -> Path:
    """The folder that was named, made where there is none.

    Raises:
        AssayError: it can't be made, or holds heartbeats already.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        left = sum(1 for _ in folder.glob("*.heartbeat"))
    except OSError as error:
        raise AssayError(
            f"The folder can't be made: {error.strerror}.", where=str(folder)
        ) from None
    if left:
        raise AssayError(
            "The folder holds heartbeats already.",
            where=str(folder),
            fix="Use a separate folder for each watched program, or empty this one.",
        )
    return folder.resolve()
