"""Opens the files of a run without following links, which may lead anywhere.

Runs are stored in folders that others may write to, and are copied from other users. assay
therefore never reads or writes through a link in a run. It opens only regular files, since a named
pipe could wait forever. Links in the path of a run are the user's choice and are followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import string
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

_LETTERS = string.ascii_lowercase + string.digits + "_"


def open_plain(path: Path, flags: int, mode: int = 0o666) -> int:
    """A descriptor of a file. Raises OSError, with ELOOP for a link."""
    try:
        found = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno == errno.ELOOP or (error.errno == errno.EEXIST and path.is_symlink()):
            raise _link(path) from None
        raise
    kind = os.fstat(found).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISCHR(kind)):  # /dev/null never blocks
        os.close(found)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return found


def reading(path: Path) -> BufferedReader:
    """A regular file, opened for reading. Raises OSError."""
    return os.fdopen(open_plain(path, os.O_RDONLY), "rb")


def read_plain(path: Path) -> bytes:
    """The content of a regular file. Raises OSError."""
    with reading(path) as file:
        return file.read()


def writing(path: Path) -> BinaryIO:
    """A regular file, new or emptied, opened for writing. Raises OSError."""
    return os.fdopen(open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb")


def appending(path: Path) -> BinaryIO:
    """A regular file, opened for appending and created if it is missing. Raises OSError."""
    return os.fdopen(open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab")


def ensure_file(path: Path) -> None:
    """Create an empty file if it is missing. Raises OSError."""
    os.close(open_plain(path, os.O_WRONLY | os.O_CREAT))


def plain_folder(path: Path) -> Path:
    """The folder, which need not exist. Raises OSError with ELOOP if it is a link."""
    if path.is_symlink():
        raise _link(path)
    return path


def is_plain(path: Path) -> bool:
    """Whether the path is a regular file and not a link."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def new_sibling(prefix: str, folder: Path, mode: int = 0o666) -> tuple[int, Path]:
    """A new file with a random name in the folder, to be renamed.

    Unlike files from tempfile, its permissions are ``mode`` without the bits in the umask. Raises
    OSError.
    """
    while True:
        path = folder / (prefix + _random())
        with contextlib.suppress(FileExistsError):
            return open_plain(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode), path


def new_folder(prefix: str, folder: Path) -> Path:
    """A new folder with a random name in the folder, with permissions by the umask.

    Raises OSError.
    """
    while True:
        path = folder / (prefix + _random())
        with contextlib.suppress(FileExistsError):
            path.mkdir()
            return path


def _random() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(8))


def _link(path: Path) -> OSError:
    return OSError(errno.ELOOP, "it is a link, and assay doesn't follow links in a run", str(path))
