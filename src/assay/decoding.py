"""Bytes from files of others: their compression, the encoding of their text, damage."""

from __future__ import annotations

import codecs
from typing import IO, cast

import msgspec

# What decoders raise for damaged or foreign input: invalid JSON or JSON of another schema, text
# that is not UTF-8, excessive nesting.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
# Bytes by which a compression is recognised.
LONGEST_MAGIC = 6
# Share of zeros among every second byte that is UTF-16's, of mostly ASCII letters.
_OF_UTF_16 = 0.7


def decompressed(file: IO[bytes], begin: bytes) -> IO[bytes] | None:
    """The content of a file that gzip, bzip2 or xz compressed; None of another file.

    ``begin``: its first ``LONGEST_MAGIC`` bytes or more. Closing the content leaves the file open.
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
    """What readers of damaged compressed data raise."""
    import gzip
    import lzma
    import zlib

    return (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


def encoding_of(head: bytes) -> str:
    """The encoding of a text that begins like this: by its byte order mark, or by many zeros.

    UTF-8 without either.
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
