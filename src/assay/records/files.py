"""Writing files so that a crash, a full disk or a second process never leaves half of one."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import shutil
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
        descriptor, temporary = tempfile.mkstemp(
            prefix=temporary_prefix(path.name), dir=path.parent
        )
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


# A process that was killed leaves what it was writing. A name tells host and process; what earlier
# versions wrote, or another host's process, is left alone for so many seconds.
_STALE = 24 * 3600.0
_TEMPORARY = re.compile(r"\..+\.([0-9a-f]{8})-(\d{1,9})\.[a-z0-9_]{8}", re.ASCII)
_EARLIER = re.compile(
    r"\.(?:[a-z-]+\.(?:json|jsonl|html|md|parquet)|\d{8}T\d{6}Z-.+)\.[a-z0-9_]{8}", re.ASCII
)


def temporary_prefix(name: str) -> str:
    """How the name of a temporary file or folder begins that this process will rename to one."""
    return f".{name}.{_host_digest()}-{os.getpid()}."


def _host_digest() -> str:
    return hashlib.sha256(os.uname().nodename.encode("utf-8", "replace")).hexdigest()[:8]


def clear_leftovers(folder: Path) -> None:
    """Remove what killed processes have left half written in a folder; best effort."""
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            if path.name.startswith(".") and _left_over(path):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    with contextlib.suppress(OSError):
                        path.unlink()


def _left_over(path: Path) -> bool:
    made = _TEMPORARY.fullmatch(path.name)
    if made is not None and made[1] == _host_digest():
        return not Path(f"/proc/{made[2]}").exists()
    if made is None and _EARLIER.fullmatch(path.name) is None:
        return False
    with contextlib.suppress(OSError):
        return time.time() - path.lstat().st_mtime > _STALE
    return False


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
