"""Locks on files, between processes and between nodes.

The operating system releases a lock when its process ends. On NFS, Linux turns flock into a lock at
the server (nfs(5), since 2.6.12). This lock is valid between nodes, unless the file system is
mounted with ``local_lock=flock`` or ``nolock``. Lustre needs the mount option ``flock``; with
``localflock``, the lock is valid only within a node.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

#: Errors of flock and fcntl on file systems without locks.
LOCKLESS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
# Seconds to the second try, and growth factor of this pause.
_PAUSE, _GROWTH = 0.05, 1.3


def take_lock(
    descriptor: int,
    patience: float,
    *,
    slowest: float = _PAUSE,
    waiting: Callable[[], None] | None = None,
) -> bool:
    """Lock an open file exclusively.

    Returns whether it has the lock after ``patience`` seconds. On a file system without locks, it
    returns True immediately. ``slowest``: the longest pause (s) between two tries; each try is a
    request to the file system's server. ``waiting`` is called when another process has the lock.
    Raises OSError for other errors.
    """
    until, pause = time.monotonic() + patience, _PAUSE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
        except OSError as error:
            if error.errno in LOCKLESS:
                return True
            raise
        else:
            return True
        if waiting:
            waiting()
        time.sleep(pause)
        pause = min(pause * _GROWTH, slowest)


def excludes_others(descriptor: int, path: Path, mounts: Path = Path("/proc/self/mounts")) -> bool:
    """Whether a lock from ``take_lock`` excludes processes on all nodes that see the file.

    False on file systems without locks, and if mount options keep locks within a node.
    """
    try:
        fcntl.flock(
            descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB
        )  # locks again, which has no effect on the holder
    except OSError:
        return False
    kind, options = _mount(os.path.realpath(path), mounts)
    if kind.startswith("nfs"):
        return not {"nolock", "local_lock=all", "local_lock=flock"} & options
    if kind == "lustre":
        return "flock" in options
    # BeeGFS keeps locks within a node by default, and many file systems in user space have no
    # locks.
    return not kind.startswith(("beegfs", "fuse", "9p"))


def _mount(path: str, mounts: Path) -> tuple[str, set[str]]:
    """The type and the options of a path's file system; empty if unknown."""
    best, found = "", ("", set[str]())
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return found
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 4:
            continue
        point = fields[1].replace("\\040", " ")
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, found = point, (fields[2], set(fields[3].split(",")))
    return found
