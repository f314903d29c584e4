"""The text of a file: its compression, its encoding and its line ends."""

from __future__ import annotations

import codecs
import io
from pathlib import Path
from typing import IO, TextIO, cast

from assay.decoding import damage_errors, decompressed, encoding_of
from assay.errors import AssayError

# Bytes at the beginning of a file by which its text is recognised.
_HEAD = 1 << 16
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


class Unpacked(io.BufferedIOBase):
    """The uncompressed bytes of a file, up to the first damage.

    ``damaged``: whether damage was found.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._stream = stream
        self.damaged = False

    def readable(self) -> bool:
        """It is."""
        return True

    def read1(self, size: int = -1) -> bytes:
        """Some of the next bytes; none at the end or at damage."""
        if self.damaged:
            return b""
        try:
            return cast("io.BufferedIOBase", self._stream).read1(size)
        except damage_errors():
            pass
        except OSError as error:
            if error.errno is not None:
                raise
        self.damaged = True
        return b""

    def rewind(self) -> None:
        """Go to the beginning."""
        self._stream.seek(0)
        self.damaged = False


def text_of(raw: IO[bytes], path: Path) -> tuple[TextIO, Unpacked]:
    """The text of a file, positioned at its beginning. Raises AssayError for a file that must be
    unpacked first."""
    stream = _unpacked(raw, path)
    head = b""
    while len(head) < _HEAD and (more := stream.read1(_HEAD)):
        head += more
    if head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        raise AssayError("It is a tar archive.", where=str(path), fix="Unpack it (tar -xf) first.")
    stream.rewind()
    encoding = encoding_of(head)
    # Names in older encodings than UTF-8 stay distinct.
    codecs.register_error("assay-windows", _as_windows)
    # Only a line feed ends a line, because names may contain other separators. If the text has no
    # line feed, the other separators end lines.
    text = head.decode(encoding, "replace")
    newline = None if "\r" in text and "\n" not in text else "\n"
    reader = cast("IO[bytes]", stream)
    return io.TextIOWrapper(reader, encoding, errors="assay-windows", newline=newline), stream


def _unpacked(raw: IO[bytes], path: Path) -> Unpacked:
    begin = raw.read(8)
    raw.seek(0)
    content = decompressed(raw, begin)
    if content is not None:
        return Unpacked(content)
    for magic, what, command in _OTHERS:
        if begin.startswith(magic):
            raise AssayError(
                f"It is {what}.", where=str(path), fix=f"Unpack it first: `{command} {path.name}`."
            )
    return Unpacked(raw)


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    """Decodes bytes that aren't UTF-8 in the western encoding that preceded it."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end
