"""Standard streams of a program that is launched several times, as if it were launched once.

Each launch reads the same input. The output of the first launch is the user's; that of a later one
is shown only if the launch fails.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from assay.errors import AssayError
from assay.plain_files import writing
from assay.records.files import cannot_write

# Bytes of a later launch's output that are kept, its end.
_KEPT = 64 << 10
# Seconds after a launch for the rest of its output: processes that it left may hold the pipe.
_PATIENCE = 2.0
# Bytes that are read at a time.
_PART = 64 << 10


@dataclass
class LaunchStreams:
    """Streams of a launch, as `subprocess` takes them; None: those of assay."""

    stdin: int | IO[bytes] | None = None
    output: int | IO[bytes] | None = None
    #: The launch's exit status, from the caller.
    status: int = 0


class RepeatedStreams:
    """The streams of launches one after the other."""

    def __init__(self) -> None:
        self._launches = 0
        self._offset = _offset_of_file()
        self._copies = self._offset is None and _is_stream()
        self._copy: IO[bytes] | None = None
        self._whole = True

    @contextlib.contextmanager
    def launch(self) -> Iterator[LaunchStreams]:
        """The streams of the next launch. Raises AssayError if the input can't be repeated."""
        self._launches += 1
        with self._input() as stdin:
            if self._launches == 1:
                yield LaunchStreams(stdin)
                return
            with _shown_if_failed() as streams:
                streams.stdin = stdin
                yield streams

    @contextlib.contextmanager
    def _input(self) -> Iterator[int | IO[bytes] | None]:
        if self._offset is not None:
            os.lseek(0, self._offset, os.SEEK_SET)
            yield None
        elif not self._copies:
            yield None
        elif self._launches == 1:
            with self._copied() as stdin:
                yield stdin
        else:
            if self._copy is None or not self._whole:
                raise AssayError(
                    "Another launch has no input to read again: there was no room for a copy.",
                    where="temporary files",
                    fix="Give the input as a file (< FILE), or set TMPDIR to a folder with room.",
                )
            self._copy.seek(0)
            yield self._copy

    @contextlib.contextmanager
    def _copied(self) -> Iterator[int]:
        """A pipe that hands assay's input on while it is copied."""
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):
                self._copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
            stdin, target = os.pipe()
            stack.callback(os.close, stdin)
            os.set_blocking(target, False)
            ended, end = os.pipe()
            copier = threading.Thread(target=self._hand_on, args=(target, ended), daemon=True)
            copier.start()
            stack.callback(os.close, ended)
            stack.callback(copier.join)
            stack.callback(os.close, end)
            yield stdin

    def _hand_on(self, target: int, ended: int) -> None:
        """Copy assay's input to a pipe and to the file, until either ends or ``ended`` is closed.

        Neither reading nor writing may block: the input may never end, and the program may not
        read it.
        """
        with open(target, "wb", buffering=0) as pipe, contextlib.suppress(OSError):
            while _is_ready(0, select.POLLIN, ended) and (part := os.read(0, _PART)):
                self._keep(part)
                while part:
                    if not _is_ready(target, select.POLLOUT, ended):
                        return
                    part = part[pipe.write(part) or 0 :]

    def _keep(self, part: bytes) -> None:
        try:
            if self._copy is not None and self._whole:
                self._copy.write(part)
                self._copy.flush()
        except OSError:
            self._whole = False


def _is_ready(descriptor: int, event: int, ended: int) -> bool:
    """Wait for a descriptor; False if ``ended`` was closed before."""
    waiting = select.poll()
    waiting.register(descriptor, event)
    waiting.register(ended, 0)  # the other end is closed
    return all(ready != ended for ready, _ in waiting.poll())


def copied_input(path: Path) -> Path | None:
    """A copy of assay's input for a program that runs elsewhere; None if the input isn't a file.

    A pipe isn't copied: it may never end. Raises AssayError.
    """
    if _offset_of_file() is None:
        return None
    try:
        with open(0, "rb", closefd=False) as source, writing(path) as copy:
            shutil.copyfileobj(source, copy)
    except OSError as error:
        raise cannot_write(path, error, "--folder FOLDER") from None
    return path


def _offset_of_file() -> int | None:
    """The position in a file that is the input; None if the input isn't a file."""
    return os.lseek(0, 0, os.SEEK_CUR) if stat.S_ISREG(_mode_of_input()) else None


def _is_stream() -> bool:
    """Whether the input is a pipe or a socket, whose content can be read once."""
    mode = _mode_of_input()
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _mode_of_input() -> int:
    """The type of the input's file; 0 without an input, whose descriptor other files may have."""
    return 0 if sys.stdin is None else os.fstat(0).st_mode


@contextlib.contextmanager
def _shown_if_failed() -> Iterator[LaunchStreams]:
    """Streams whose output is written to the standard error if the launch fails."""
    kept = bytearray()
    source, target = os.pipe()

    def read() -> None:
        with open(source, "rb", buffering=0) as pipe:  # noqa: PTH123 - a descriptor
            while part := pipe.read(_KEPT):
                kept.extend(part)
                del kept[:-_KEPT]

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    streams = LaunchStreams(output=target)
    failed = True
    try:
        yield streams
        failed = streams.status != 0
    finally:
        os.close(target)
        reader.join(_PATIENCE)
        if failed:
            with contextlib.suppress(OSError), open(2, "wb", closefd=False) as errors:
                errors.write(bytes(kept))  # the reader may go on
