"""The text of a file: what it is compressed with, its encoding and its line ends."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from pathlib import Path
from typing import IO, TextIO, cast

from assay.errors import AssayError

# Bytes at the beginning of a file by which its text is recognised.
_HEAD = 1 << 16
# What readers of a damaged file raise (that of bzip2 also an OSError without a number).
_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
# Compressed files that can't be read, and the command that unpacks them.
_OTHERS = (
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "zstd -d"),
    (b"PK\x03\x04", "a zip archive (or a spreadsheet)", "unzip"),
    (b"\x1f\x9d", "compressed with compress", "uncompress"),
    (b"\x04\x22\x4d\x18", "compressed with lz4", "lz4 -d"),
    (b"7z\xbc\xaf", "a 7z archive", "7z x"),
    (b"PAR1", "a Parquet file", "duckdb, writing CSV with the names of sacct, reads"),
)
_TAR_AT, _TAR = 257, b"ustar"
# Share of zeros among every second byte that is UTF-16's, of mostly ASCII letters.
_OF_UTF_16 = 0.7


class Unpacked(io.BufferedIOBase):
    """The bytes of a file without its compression; those before the damage of a damaged one.

    ``damaged``: whether damage was met.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._stream = stream
        self.damaged = False

    def readable(self) -> bool:
        """It is."""
        return True

    def read1(self, size: int = -1) -> bytes:
        """Some of the next bytes, none at the end or at damage."""
        if self.damaged:
            return b""
        try:
            return cast("io.BufferedIOBase", self._stream).read1(size)
        except _DAMAGE:
            pass
        except OSError as error:
            if error.errno is not None:
                raise
        self.damaged = True
        return b""

    def rewind(self) -> None:
        """Go to the begin."""
        self._stream.seek(0)
        self.damaged = False


def text_of(raw: IO[bytes], path: Path) -> tuple[TextIO, Unpacked]:
    """The text of a file, at its beginning. Raises AssayError for what has to be unpacked first."""
    stream = _unpacked(raw, path)
    head = b""
    while len(head) < _HEAD and (more := stream.read1(_HEAD)):
        head += more
    if head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        raise AssayError("It is a tar archive.", where=str(path), fix="Unpack it (tar -xf) first.")
    stream.rewind()
    encoding = _encoding(head)
    # Names of before UTF-8 stay apart.
    codecs.register_error("assay-windows", _as_windows)
    # Only a line feed ends a line, as names may hold other separators; unless there is none.
    text = head.decode(encoding, "replace")
    newline = None if "\r" in text and "\n" not in text else "\n"
    reader = cast("IO[bytes]", stream)
    return io.TextIOWrapper(reader, encoding, errors="assay-windows", newline=newline), stream


def _unpacked(raw: IO[bytes], path: Path) -> Unpacked:
    begin = raw.read(8)
    raw.seek(0)
    # Each reads from ``raw``, which who opened it closes.
    if begin.startswith(b"\x1f\x8b"):
        return Unpacked(cast("IO[bytes]", gzip.GzipFile(fileobj=raw)))
    if begin.startswith(b"\xfd7zXZ\0"):
        return Unpacked(cast("IO[bytes]", lzma.LZMAFile(raw)))
    if begin.startswith(b"BZh"):
        return Unpacked(cast("IO[bytes]", bz2.BZ2File(raw)))
    for magic, what, command in _OTHERS:
        if begin.startswith(magic):
            raise AssayError(
                f"It is {what}.", where=str(path), fix=f"Unpack it first: `{command} {path.name}`."
            )
    return Unpacked(raw)


def _encoding(head: bytes) -> str:
    """UTF-8, or what a byte order mark or many zeros say."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    begin = head[:1024]
    even, odd = begin[0::2], begin[1::2]
    if odd.count(0) > _OF_UTF_16 * len(odd) > 0 and even.count(0) < len(even) / 10:
        return "utf-16-le"
    if even.count(0) > _OF_UTF_16 * len(even) > 0 and odd.count(0) < len(odd) / 10:
        return "utf-16-be"
    return "utf-8-sig"


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are no UTF-8, in the encoding of western languages before it."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end
