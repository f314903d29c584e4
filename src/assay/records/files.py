"""Atomic writes, appends and locks, so that crashes and full disks leave no incomplete files."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay.conditions import condition_of
from assay.errors import AssayError
from assay.locking import take_lock
from assay.plain_files import new_sibling, open_plain, plain_folder

BUSY = "Another assay is working on this run."
# The options that name the folder of runs, and the file of an output.
RUNS = "--runs DIR"
OUTPUT = "--output FILE"
OUT = "--out FILE"
_APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND
_KEPT = "complete data are kept, and `assay run --resume` continues the run."


def write_atomically(path: Path, content: bytes, *, mode: int = 0o666, option: str = RUNS) -> None:
    """Write a temporary sibling, fsync it, rename it: the file is either new or unchanged.

    Raises AssayError. ``mode``: its permissions, minus the umask. ``option``: as for
    ``cannot_write``.
    """
    try:
        descriptor, temporary = new_sibling(temporary_prefix(path.name), path.parent, mode)
    except OSError as error:
        raise cannot_write(path, error, option) from None
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise cannot_write(path, error, option) from None


# Killed processes leave temporary files, whose names contain host and process. Files of other hosts
# and of earlier versions are removed only after this many seconds.
_STALE = 24 * 3600.0
_TEMPORARY = re.compile(r"\..+\.([0-9a-f]{8})-(\d{1,9})\.[a-z0-9_]{8}", re.ASCII)
_EARLIER = re.compile(
    r"\.(?:[a-z-]+\.(?:json|jsonl|html|md|parquet)|\d{8}T\d{6}Z-.+)\.[a-z0-9_]{8}", re.ASCII
)


def temporary_prefix(name: str) -> str:
    """The prefix of this process's temporary file or folder that is later renamed to ``name``."""
    return f".{name}.{_host_digest()}-{os.getpid()}."


def _host_digest() -> str:
    return hashlib.sha256(os.uname().nodename.encode("utf-8", "replace")).hexdigest()[:8]


def clear_leftovers(folder: Path) -> None:
    """Remove this user's incomplete files that killed processes left in a folder.

    Errors are ignored. A link in place of the folder isn't followed.
    """
    with contextlib.suppress(OSError):
        for path in list(plain_folder(folder).iterdir()):
            if path.name.startswith(".") and _left_over(path):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    with contextlib.suppress(OSError):
                        path.unlink()


def _left_over(path: Path) -> bool:
    with contextlib.suppress(OSError):
        if path.lstat().st_uid != os.geteuid():
            return False
    named = _TEMPORARY.fullmatch(path.name)
    if named is not None and named[1] == _host_digest():
        return not Path(f"/proc/{named[2]}").exists()
    if named is None and _EARLIER.fullmatch(path.name) is None:
        return False
    with contextlib.suppress(OSError):
        return time.time() - path.lstat().st_mtime > _STALE
    return False


def append_line(path: Path, line: bytes, *, option: str = RUNS) -> None:
    """Append one line in one write, then fsync; an incomplete last line is terminated first.

    Raises AssayError. ``option``: as for ``cannot_write``.
    """
    try:
        with os.fdopen(open_plain(path, _APPENDING), "ab+") as stream:
            torn = False
            if stream.tell() > 0:
                stream.seek(-1, os.SEEK_END)
                torn = stream.read(1) != b"\n"
            stream.write((b"\n" if torn else b"") + line + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise cannot_write(path, error, option) from None


@contextlib.contextmanager
def hold(path: Path, *, patience: float = 0.0) -> Iterator[None]:
    """Hold a lock file (``locking.py``); waits up to ``patience`` seconds for other processes.

    On a file system without locks no lock is held; processes then write files with different names
    and overwrite none. Raises AssayError if the file can't be created or another process keeps the
    lock.
    """
    try:
        descriptor = open_plain(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        _lock(descriptor, path, patience)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path, patience: float) -> None:
    try:
        locked = take_lock(descriptor, patience)
    except OSError as error:
        raise cannot_write(path, error) from None
    if not locked:
        raise AssayError(
            BUSY,
            where=str(path.parent),
            fix="Wait for it, or start another run.",
        )


def cannot_read(path: Path, error: OSError) -> AssayError:
    """The error for a failed read."""
    return AssayError(f"Can't read: {error.strerror}.", where=str(path))


def cannot_write(path: Path, error: OSError, option: str = RUNS) -> AssayError:
    """The error for a failed write, with a fix for its cause.

    ``option``: the command's option for the location of the file.
    """
    elsewhere = f"name another place with {option}."
    kept = f"; {_KEPT}" if option == RUNS else f", or {elsewhere}"
    fixes = {
        errno.ENOSPC: f"Free some space{kept}",
        errno.EDQUOT: f"Free some of your quota{kept}",
        errno.EROFS: f"The file system is read-only: {elsewhere}",
        errno.EACCES: f"You may not write there: {elsewhere}",
        errno.EPERM: f"You may not write there: {elsewhere}",
        errno.ELOOP: "Remove the link if you know who created it, or start a new run elsewhere.",
    }
    reason = error.strerror or str(error)
    known = condition_of(error.errno or 0, elsewhere=elsewhere.removesuffix("."))
    fix = fixes.get(error.errno or 0, known.fix if known else f"N{elsewhere[1:]}")
    return AssayError(f"Can't write: {reason}.", where=str(path), fix=fix)


def pretty_json(struct: msgspec.Struct) -> bytes:
    """The structure as indented JSON. U+FFFD replaces bytes of names that are not UTF-8."""
    try:
        encoded = msgspec.json.encode(struct)
    except UnicodeEncodeError:
        encoded = msgspec.json.encode(_encodable(msgspec.to_builtins(struct)))
    return msgspec.json.format(encoded)


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, list):
        return [_encodable(each) for each in value]
    if isinstance(value, dict):
        return {_encodable(name): _encodable(each) for name, each in value.items()}
    return value
