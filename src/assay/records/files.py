"""Writing files so that a crash, a full disk or a second process never leaves half of one."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from assay.errors import AssayError

# What flock says where a file system has no locks.
_LOCKLESS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
BUSY = "Another assay is working on this run."
_KEPT = "complete data are kept, and `assay run --resume` goes on."


def write_atomically(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write a temporary sibling, fsync, rename: whole or as before. Raises AssayError."""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise cannot_write(path, error) from None


def append_line(path: Path, line: bytes) -> None:
    """Append one line, one write, fsync; a torn last line of a dead writer is closed first."""
    try:
        with path.open("ab+") as stream:
            torn = False
            if stream.tell() > 0:
                stream.seek(-1, os.SEEK_END)
                torn = stream.read(1) != b"\n"
            stream.write((b"\n" if torn else b"") + line + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise cannot_write(path, error) from None


@contextlib.contextmanager
def hold(path: Path, *, patience: float = 0.0) -> Iterator[None]:
    """Hold a lock file, for which others are waited for ``patience`` seconds.

    The kernel drops the lock with the process, however it ends. On NFS, Linux makes of flock a
    lock at the server (NFS(5), since 2.6.12), so that it holds between nodes as well, unless the
    file system is mounted with ``local_lock=flock`` or ``nolock``; Lustre needs the mount option
    ``flock``, and with ``localflock`` each node locks by itself alone. Where a file system has no
    locks at all, none is held: what is written is distinguished by names then, never overwritten.

    Raises AssayError where the file can't be made or another process keeps the lock.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        _lock(descriptor, path, time.monotonic() + patience)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path, until: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise AssayError(
                    BUSY,
                    where=str(path.parent),
                    fix="Wait for it, or start another run.",
                ) from None
            time.sleep(0.05)
        except OSError as error:
            if error.errno in _LOCKLESS:
                return
            raise cannot_write(path, error) from None


def cannot_write(path: Path, error: OSError) -> AssayError:
    """The sentence for a failed write, with the fix that fits its cause."""
    fixes = {
        errno.ENOSPC: f"Free some space; {_KEPT}",
        errno.EDQUOT: f"Free some of your quota; {_KEPT}",
        errno.EROFS: "The file system is read-only: name another place with --runs DIR.",
        errno.EACCES: "You may not write there: name another place with --runs DIR.",
        errno.EPERM: "You may not write there: name another place with --runs DIR.",
    }
    reason = error.strerror or str(error)
    fix = fixes.get(error.errno or 0, "Name another place with --runs DIR.")
    return AssayError(f"Can't write: {reason}.", where=str(path), fix=fix)
