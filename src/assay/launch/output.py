"""What programs print, kept in bounds: of what is too much the beginning and the end."""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

from assay.records.files import write_atomically

# Bytes of a program's output on disk, over which its middle is given back while it still runs.
MOST = 64 << 20
# Bytes of each end that are kept.
KEPT = 512 << 10
_PUNCH_HOLE = 0x02
_KEEP_SIZE = 0x01


def curb(path: Path) -> None:
    """Free the middle of a file that a running program writes, where it has become too large.

    The program goes on where it was: what it has yet to write comes behind a hole.
    """
    try:
        status = path.stat()
        if status.st_blocks * 512 <= MOST or status.st_size <= 2 * KEPT:
            return
        if not _punch(path, KEPT, status.st_size - 2 * KEPT):
            os.truncate(path, KEPT)  # the end is what it prints from here on
    except OSError:
        return


def _punch(path: Path, offset: int, length: int) -> bool:
    """fallocate(2): whether the file system could make a hole."""
    with path.open("r+b") as file:
        punch = ctypes.CDLL(None, use_errno=True).fallocate
        punch.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
        status: int = punch(file.fileno(), _PUNCH_HOLE | _KEEP_SIZE, offset, length)
    return status == 0


def cap(path: Path) -> None:
    """Of the output of a program that has ended keep head and tail, where it is more than those."""
    with contextlib.suppress(FileNotFoundError):
        size = path.stat().st_size
        if size <= 4 * KEPT:
            return
        with path.open("rb") as file:
            head = file.read(KEPT)
            file.seek(size - KEPT)
            tail = file.read(KEPT).lstrip(b"\0")
        left_out = size - len(head) - len(tail)
        note = f"\n[assay: {left_out:,} bytes of output are left out here]\n".encode()
        write_atomically(path, head.rstrip(b"\0") + note + tail)
