"""Opening the files of a run without following links, which may lead anywhere.

Runs lie in folders that others may write to, and are copied from other users. So a link in a run is
neither read nor written through, and nothing but a regular file is opened: a named pipe would wait
for ever. Links on the way to a run are its user's choice and are followed.
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
    """A descriptor of a file. Raises OSError, for a link with ELOOP."""
    try:
        found = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno == errno.ELOOP or (error.errno == errno.EEXIST and path.is_symlink()):
            raise _link(path) from None
        raise
    kind = os.fstat(found).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISCHR(kind)):  # /dev/null is nothing to wait for
        os.close(found)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return found


def reading(path: Path) -> BufferedReader:
    """A regular file, opened to be read. Raises OSError."""
    return os.fdopen(open_plain(path, os.O_RDONLY), "rb")


def read_plain(path: Path) -> bytes:
    """The content of a regular file. Raises OSError."""
    with reading(path) as file:
        return file.read()


def writing(path: Path) -> BinaryIO:
    """A regular file, new or emptied, opened to be written. Raises OSError."""
    return os.fdopen(open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb")


def appending(path: Path) -> BinaryIO:
    """A regular file, opened to be appended to; created if there is none. Raises OSError."""
    return os.fdopen(open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab")


def ensure_file(path: Path) -> None:
    """Create an empty file if there is none. Raises OSError."""
    os.close(open_plain(path, os.O_WRONLY | os.O_CREAT))


def plain_folder(path: Path) -> Path:
    """The folder. Raises OSError with ELOOP if a link is in its place; it may not exist."""
    if path.is_symlink():
        raise _link(path)
    return path


def is_plain(path: Path) -> bool:
    """Whether it is a regular file and no link."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def new_sibling(prefix: str, folder: Path, mode: int = 0o666) -> tuple[int, Path]:
    """A new file in the folder, with a random name, to be renamed. Raises OSError.

    Unlike tempfile's its permissions are what the umask leaves of ``mode``.
    """
    while True:
        path = folder / (prefix + _random())
        with contextlib.suppress(FileExistsError):
            return open_plain(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode), path


def new_folder(prefix: str, folder: Path) -> Path:
    """A new folder in the folder, with a random name; permissions as the umask says.

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
    return OSError(errno.ELOOP, "it is a link, and assay follows no links in a run", str(path))
