"""One check of a node at a time.

The lock is one of fcntl(2) on the node's file: processes that a check forks don't inherit it, so a
hung one doesn't hold it. Where the file can't be locked, an abstract socket of unix(7) is bound
instead, which needs no file system. Both end with the process.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import struct
import weakref

from assay.errors import AssayError
from assay.locking import LOCKLESS

# struct flock on Linux: type, whence, start, length, process.
_FLOCK = struct.Struct("hhqqi4x")


def exclude_others(descriptor: int | None, host: str) -> socket.socket | None:
    """Hold the lock of this node's check until the descriptor is closed, or the returned socket.

    ``descriptor``: the node's file, opened for writing; None if that failed. Raises AssayError with
    status 3 if another check of this node runs, and OSError.
    """
    if descriptor is not None:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise _busy(host, _holder(descriptor)) from None
            if error.errno not in LOCKLESS:
                raise
        else:
            return None
    return _bound(host)


def _bound(host: str) -> socket.socket:
    found = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        # The host's name separates nodes that share a network namespace, as containers may.
        found.bind(b"\0assay-check-" + os.fsencode(host)[:64] + b"-%d" % os.geteuid())
    except OSError as error:
        found.close()
        if error.errno == errno.EADDRINUSE:
            raise _busy(host, None) from None
        raise
    # A forked process that hangs would otherwise keep the name.
    held = weakref.ref(found)
    os.register_at_fork(after_in_child=lambda: _closed(held()))
    return found


def _closed(found: socket.socket | None) -> None:
    if found is not None:
        with contextlib.suppress(OSError):
            found.close()


def _holder(descriptor: int) -> int | None:
    """The process that holds the lock; None if it is unknown, as on another node."""
    asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        kind, _, _, _, pid = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    except (OSError, struct.error):
        return None
    return pid if kind != fcntl.F_UNLCK and pid > 0 else None


def _busy(host: str, pid: int | None) -> AssayError:
    who = f" (process {pid})" if pid else ""
    return AssayError(
        f"Another check of this node is running{who}.",
        where=host,
        fix="Wait until it has ended.",
        status=3,
    )
