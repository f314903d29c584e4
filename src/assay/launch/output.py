"""Limits on the output of programs: if it is excessive, only its beginning and end are kept."""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

from assay.plain_files import open_plain, reading
from assay.records.files import write_atomically

# Bytes of a program's output on disk above which its middle is freed while the program runs.
MOST = 64 << 20
# Bytes of each end that are kept.
KEPT = 512 << 10
_PUNCH_HOLE = 0x02
_KEEP_SIZE = 0x01


def curb(path: Path) -> None:
    """Free the middle of a file that a running program writes, if it has become too large.

    The program's file offset doesn't change: its further output follows a hole.
    """
    try:
        status = path.lstat()
        if status.st_blocks * 512 <= MOST or status.st_size <= 2 * KEPT:
            return
        if not _punch(path, KEPT, status.st_size - 2 * KEPT):
            os.truncate(path, KEPT)  # only the output from here on is kept as the end
    except OSError:
        return


def _punch(path: Path, offset: int, length: int) -> bool:
    """fallocate(2): returns whether the file system could punch the hole."""
    with os.fdopen(open_plain(path, os.O_RDWR), "r+b") as file:
        punch = ctypes.CDLL(None, use_errno=True).fallocate
        punch.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
        status: int = punch(file.fileno(), _PUNCH_HOLE | _KEEP_SIZE, offset, length)
    return status == 0


def cap(path: Path) -> None:
    """Shorten a long output of a program that has ended to its beginning and end."""
    with contextlib.suppress(FileNotFoundError):
        size = path.lstat().st_size
        if size <= 4 * KEPT:
            return
        with reading(path) as file:
            head = file.read(KEPT)
            file.seek(size - KEPT)
            tail = file.read(KEPT).lstrip(b"\0")
        left_out = size - len(head) - len(tail)
        note = f"\n[assay: {left_out:,} bytes of output are left out here]\n".encode()
        write_atomically(path, head.rstrip(b"\0") + note + tail)
