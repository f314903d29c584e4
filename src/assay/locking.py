"""Locks on files, between processes and between nodes.

The operating system releases a lock when its process ends. On NFS, Linux turns flock into a lock at
the server (nfs(5), since 2.6.12), which holds between nodes, unless the file system is mounted with
``local_lock=flock`` or ``nolock``. Lustre needs the mount option ``flock``; with ``localflock`` the
lock holds within a node only.
"""

from __future__ import annotations

import errno
import fcntl
import time
from collections.abc import Callable

# Errors of flock on file systems without locks.
_LOCKLESS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
# Seconds to the second try, growth of this pause.
_PAUSE, _GROWTH = 0.05, 1.3


def take_lock(
    descriptor: int,
    patience: float,
    *,
    slowest: float = _PAUSE,
    waiting: Callable[[], None] | None = None,
) -> bool:
    """Lock an open file exclusively; returns whether it has the lock after ``patience`` seconds.

    On a file system without locks it returns True at once. ``slowest``: the longest pause between
    two tries, s, each of which is a request to the server of a file system. ``waiting`` is called
    when another process has the lock. Raises OSError for other errors.
    """
    until, pause = time.monotonic() + patience, _PAUSE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
        except OSError as error:
            if error.errno in _LOCKLESS:
                return True
            raise
        else:
            return True
        if waiting:
            waiting()
        time.sleep(pause)
        pause = min(pause * _GROWTH, slowest)
