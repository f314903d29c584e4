"""Decodes bytes from foreign files: their compression, the encoding of their text, damage."""

from __future__ import annotations

import codecs
from typing import IO, cast

import msgspec

# Errors that decoders raise for damaged or foreign input: invalid JSON, JSON with another schema,
# text that is not UTF-8, excessive nesting.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
# Bytes that identify a compression.
LONGEST_MAGIC = 6
# Minimum share of zeros among every second byte of UTF-16 text, for mostly ASCII letters.
_OF_UTF_16 = 0.7


def decompressed(file: IO[bytes], begin: bytes) -> IO[bytes] | None:
    """The content of a file compressed by gzip, bzip2 or xz; None for other files.

    ``begin``: at least its first ``LONGEST_MAGIC`` bytes. Closing the content leaves the file open.
    Reading it raises ``damage_errors``, and for bzip2 also an OSError without a number.
    """
    import bz2
    import gzip
    import lzma

    if begin.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    if begin.startswith(b"\xfd7zXZ\0"):
        return cast("IO[bytes]", lzma.LZMAFile(file))
    if begin.startswith(b"BZh"):
        return cast("IO[bytes]", bz2.BZ2File(file))
    return None


def damage_errors() -> tuple[type[Exception], ...]:
    """Errors that readers of damaged compressed data raise."""
    import gzip
    import lzma
    import zlib

    return (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


def encoding_of(head: bytes) -> str:
    """The encoding of a text with this beginning, from its byte order mark or from many zeros;
    otherwise UTF-8.
    """
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
