"""The compressed stream of an archive, with bounds on what it may unpack to.

gzip (RFC 1952) with a fixed header: no name, no time. Nothing may follow. Different deflate streams
can have the same content. So an archive's digest covers the unpacked content, and a change of the
compressed bytes either is found or has no effect on it.
"""

from __future__ import annotations

import zlib
from typing import BinaryIO

from assay.acceptance.archive.entries import DamagedArchive
from assay.errors import AssayError

_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_LEVEL = 6
_TRAILER = 8
_CHUNK = 1 << 18
# Bounds of an archive: bytes in total, and bytes per compressed byte after the first 64 MiB.
MOST_BYTES = 64 << 30
_MOST_RATIO, _FREE = 300, 64 << 20


class Deflater:
    """Writes a compressed stream into an open file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._check = 0
        self._size = 0
        file.write(_HEADER)

    def write(self, content: bytes) -> None:
        """Add bytes. Raises OSError."""
        self._check = zlib.crc32(content, self._check)
        self._size += len(content)
        self._file.write(self._deflate.compress(content))

    def finish(self) -> None:
        """End the stream. Raises OSError."""
        trailer = (self._check, self._size & 0xFFFFFFFF)
        self._file.write(self._deflate.flush())
        self._file.write(b"".join(each.to_bytes(4, "little") for each in trailer))


class Inflater:
    """Reads the compressed stream of an open file.

    Raises AssayError if it doesn't begin as an archive, and DamagedArchive wherever it isn't as
    ``Deflater`` writes it.
    """

    def __init__(self, file: BinaryIO, where: str) -> None:
        self._file = file
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        self._held = b""
        self._check = 0
        self._size = 0
        self._taken = 0
        if file.read(len(_HEADER)) != _HEADER:
            raise AssayError(
                "This isn't an archive of assay accept.",
                where=where,
                fix="Name a file that 'assay accept --bundle' wrote.",
            )

    def read(self, size: int) -> bytes:
        """Exactly this number of bytes."""
        parts = []
        while size:
            if not self._held:
                self._fill()
            part, self._held = self._held[:size], self._held[size:]
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def finish(self) -> None:
        """Check that the stream ends here, with the right checksum and nothing after it."""
        while not self._inflate.eof:
            self._inflated()
            if self._held:
                raise DamagedArchive("The archive has bytes after its end.")
        if self._held:
            raise DamagedArchive("The archive has bytes after its end.")
        rest = self._inflate.unused_data
        rest += self._file.read(_TRAILER + 1)
        expected = (self._check, self._size & 0xFFFFFFFF)
        if rest != b"".join(each.to_bytes(4, "little") for each in expected):
            raise DamagedArchive("The archive's checksum is wrong, or bytes follow its end.")

    def _fill(self) -> None:
        while not self._held:
            if self._inflate.eof:
                raise DamagedArchive("The archive ends too early.")
            self._inflated()

    def _inflated(self) -> None:
        """Unpack a bounded number of bytes."""
        pending = self._inflate.unconsumed_tail
        if not pending:
            pending = self._file.read(_CHUNK)
            self._taken += len(pending)
            if not pending:
                raise DamagedArchive("The archive ends too early.")
        try:
            self._held = self._inflate.decompress(pending, _CHUNK)
        except zlib.error:
            raise DamagedArchive("The archive can't be unpacked.") from None
        self._check = zlib.crc32(self._held, self._check)
        self._size += len(self._held)
        if self._size > min(MOST_BYTES, _FREE + _MOST_RATIO * self._taken):
            raise DamagedArchive("The archive unpacks to more than its size permits.")
