"""Reads plain or compressed files as numbered lines of clean text, in bounded memory.

Compression (gzip, bzip2, xz), UTF-16 and UTF-32 are recognised by the first bytes. A byte order
mark doesn't belong to a line.

Text that terminals and launchers add to a tool's lines is removed: control sequences, carriage
returns, and the rank labels of ``srun --label``, ``mpirun --tag-output`` and Intel MPI's
``-prepend-rank``.
"""

from __future__ import annotations

import hashlib
import io
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import msgspec

from assay.decoding import LONGEST_MAGIC, damage_errors, decompressed, encoding_of
from assay.errors import AssayError

# Maximum bytes of a line; longer lines are skipped and reported.
LONGEST_LINE = 1 << 20
STDIN = "-"

# Number of first bytes from which the encoding is recognised.
_HEAD = 1024
_MARK = "\ufeff"  # the byte order mark; concatenated files also have one in the middle


class _Buffered(Protocol):
    """A binary file that supports peeking."""

    def peek(self, size: int, /) -> bytes: ...
    def readline(self, size: int = ..., /) -> bytes: ...


# ECMA-48 control sequences and operating system commands (such as a window's title).
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")

# Digits of other scripts, which patterns and int() would accept as numbers.
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")


class RawLine(msgspec.Struct, frozen=True, gc=False):
    """A line of a file."""

    #: Line number, from 1.
    number: int
    #: Text of the line; None if the line is too long (``LONGEST_LINE``).
    text: str | None
    #: Whether it ends with a newline.
    whole: bool


class SourceFile:
    """A file that is read once. ``digest`` and ``size`` (bytes as stored) are valid afterwards."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.size = 0
        self.lines = 0
        self.problem: str | None = None
        self._sum = hashlib.sha256()

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes read."""
        return self._sum.hexdigest()

    def read(self) -> Iterator[RawLine]:
        """Yield the lines. Raises AssayError for a file that can't be read.

        Afterwards ``problem`` is set if compressed data ended early or were damaged.
        """
        try:
            if self.name == STDIN:
                yield from self._read(sys.stdin.buffer)
            else:
                if Path(self.name).is_dir():
                    raise AssayError("This is a folder.", where=self.name, fix="Name its files.")
                with Path(self.name).open("rb") as file:
                    yield from self._read(file)
        except OSError as error:
            reason = error.strerror or str(error)
            raise AssayError(f"Can't read: {reason}.", where=self.name) from None

    def _read(self, file: BinaryIO) -> Iterator[RawLine]:
        counted = io.BufferedReader(_Counting(file, self._take), 1 << 16)
        content = decompressed(counted, counted.peek(LONGEST_MAGIC))
        if content is None:
            yield from self._decoded(counted)
            return
        try:
            yield from self._decoded(cast("_Buffered", content))
        except damage_errors():
            self.problem = "The compressed data end early or are damaged."
        except OSError as error:
            if error.errno is not None:
                raise
            self.problem = "The compressed data are damaged."  # as bz2 reports it

    def _decoded(self, file: _Buffered) -> Iterator[RawLine]:
        encoding = encoding_of(file.peek(_HEAD)[:_HEAD])
        if encoding == "utf-8-sig":
            yield from self._lines(file.readline)
            return
        bytes_ = cast(BinaryIO, file)
        text = io.TextIOWrapper(bytes_, encoding=encoding, errors="replace", newline="\n")
        yield from self._lines(lambda most: text.readline(most).encode("utf-8", "replace"))

    def _take(self, content: bytes) -> None:
        self._sum.update(content)
        self.size += len(content)

    def _lines(self, readline: Callable[[int], bytes]) -> Iterator[RawLine]:
        while content := readline(LONGEST_LINE):
            self.lines += 1
            whole = content.endswith(b"\n")
            long = False
            while not whole and len(content) == LONGEST_LINE:
                long = True
                content = readline(LONGEST_LINE)
                whole = content.endswith(b"\n")
            text = None if long else clean(content.decode("utf-8", "replace"))
            yield RawLine(self.lines, text, whole)


class _Counting(io.RawIOBase):
    """A raw stream that also passes the bytes that it reads to ``see``."""

    def __init__(self, file: BinaryIO, see: Callable[[bytes], None]) -> None:
        self._file = file
        self._see = see

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: object) -> int:
        """Read into the buffer; returns the number of bytes."""
        assert isinstance(buffer, memoryview)
        content = self._file.read(len(buffer))
        self._see(content)
        buffer[: len(content)] = content
        return len(content)


def clean(text: str) -> str:
    """A line without newline, control sequences, and text overwritten by a carriage return."""
    text = text.rstrip("\r\n").lstrip(_MARK)
    if "\x1b" in text:
        text = _CONTROL.sub("", text)
    if "\r" in text:
        text = text.rpartition("\r")[2]
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text if text.isascii() else _OTHER_DIGIT.sub("\ufffd", text)


class Labels:
    """Removes rank labels from lines. ``unlabelled``: patterns of lines without labels."""

    def __init__(self, unlabelled: list[str]) -> None:
        plain = "".join(f"(?!{pattern})" for pattern in unlabelled)
        self._label = re.compile(
            rf"{plain}(?:[ ]{{0,7}}(\d{{1,7}}): ?|\[\d{{1,9}},(\d{{1,9}})\]<std(?:out|err)>: ?"
            r"|\[(\d{1,7})\] )"
        )

    def split(self, text: str) -> tuple[str, str]:
        """The label ("" if there is none) and the rest of the line."""
        # For speed: most lines are ruled out by their first character.
        if not text or text[0] not in " [0123456789":
            return "", text
        match = self._label.match(text)
        if match is None:
            return "", text
        return match[1] or match[2] or match[3], text[match.end() :]
