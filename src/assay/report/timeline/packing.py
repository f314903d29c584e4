"""Packs arrays as bytes: variable-length integers, sections of one compressed stream, base64.

Integers are little-endian base 128 (LEB128): 7 bits per byte, the highest bit set in all bytes but
the last. Signed integers are mapped to unsigned ones by zigzag: 0, -1, 1, -2, … → 0, 1, 2, 3, ….
All sections form one zlib stream (RFC 1950), which browsers read as "deflate" with
DecompressionStream.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

_LEVEL = 7  # zlib's level: level 9 takes three times as long for 1% fewer bytes


def varints(values: npt.ArrayLike) -> bytes:
    """Encode non-negative integers below 2^63 in base 128."""
    rest = np.asarray(values, np.uint64)
    lengths = np.ones(len(rest), np.int64)
    for bits in range(7, 63, 7):
        lengths += rest >= np.uint64(1 << bits)
    starts = np.cumsum(lengths) - lengths
    out = np.zeros(int(lengths.sum()), np.uint8)
    which = np.arange(len(rest))
    position = 0
    while len(which):
        part = rest[which]
        more = lengths[which] > position + 1
        out[starts[which] + position] = (part >> np.uint64(7 * position)).astype(np.uint8) & 127 | (
            more.astype(np.uint8) << 7
        )
        which = which[more]
        position += 1
    return out.tobytes()


def zigzag(values: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    """Map signed integers to unsigned integers; small absolute values stay small."""
    signed = np.asarray(values, np.int64)
    return ((signed << 1) ^ (signed >> 63)).astype(np.uint64)


@dataclass
class Packed:
    """Sections of data in the order in which the page reads them."""

    sections: list[dict[str, object]] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)

    def unsigned(self, name: str, values: npt.ArrayLike) -> None:
        """Append non-negative integers."""
        array = np.asarray(values)
        self._add(name, "unsigned", len(array), varints(array))

    def signed(self, name: str, values: npt.ArrayLike) -> None:
        """Append signed integers."""
        array = zigzag(values)
        self._add(name, "signed", len(array), varints(array))

    def octets(self, name: str, values: npt.NDArray[np.uint8]) -> None:
        """Append unchanged bytes."""
        self._add(name, "bytes", values.size, values.tobytes())

    def _add(self, name: str, kind: str, count: int, content: bytes) -> None:
        self.sections.append({"name": name, "kind": kind, "count": count, "bytes": len(content)})
        self.parts.append(content)

    def compressed(self) -> bytes:
        """The zlib stream of all sections."""
        return zlib.compress(b"".join(self.parts), _LEVEL)


def base64_text(content: bytes) -> str:
    """Base 64 of RFC 4648, section 4."""
    return base64.b64encode(content).decode()
