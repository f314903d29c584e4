"""The folder for the heartbeats of a program's processes: create, check, remove leftovers."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from assay.errors import AssayError

# Name of the folder in which the program's processes create their rings.
FOLDER_VARIABLE = "ASSAY_HEARTBEAT"


def lives(pid: int) -> bool:
    """Whether the process exists; zombies count."""
    return Path(f"/proc/{pid}").exists()


def make_folder() -> Path:
    """A new folder for heartbeats, in memory if this machine has /dev/shm.

    Its name has the process id of its owner, so that leftovers of a killed one can be removed.

    Raises:
        AssayError: no folder can be created.
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
    """Remove the folder, unless its owner or a process that writes to it still exists."""
    rings = list(folder.glob("*.heartbeat"))
    writers = [ring.name.rpartition("-")[2].split(".")[0] for ring in rings]
    if not any(pid.isdigit() and lives(int(pid)) for pid in (owner, *writers)):
        with contextlib.suppress(OSError):
            for ring in rings:
                ring.unlink()
            folder.rmdir()


def check_folder(folder: Path) -> Path:
    """The given folder, created if missing.

    Raises:
        AssayError: it can't be created, or holds heartbeats already.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        left = sum(1 for _ in folder.glob("*.heartbeat"))
    except OSError as error:
        raise AssayError(
            f"The folder can't be created: {error.strerror}.", where=str(folder)
        ) from None
    if left:
        raise AssayError(
            "The folder holds heartbeats already.",
            where=str(folder),
            fix="Use a separate folder for each watched program, or empty this one.",
        )
    return folder.resolve()
