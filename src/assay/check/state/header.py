"""The beginning of a node's file: whose it is, counts of its checks, what a decision remembers."""

from __future__ import annotations

import struct
import zlib

import msgspec

MAGIC = b"assaychk"
SCHEMA = 1
#: Bytes of a file, and of the part before its records.
FILE_SIZE, HEADER_SIZE = 4096, 1504
#: Most bytes of what a decision keeps, and of the counters of facts.
MOST_STATE, MOST_COUNTERS = 1000, 256
#: Longest kind of node, in characters. Names of hosts have at most 64 (gethostname(2)).
_LONGEST_KIND = 80
# The same in all schemas: magic, then schema, length and CRC-32 of both and the content.
_HEAD = struct.Struct("<8sHHI")


class NodeHeader(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What a node's file has before its records."""

    host: str
    #: The kind of node, as its baseline names it.
    kind: str = ""
    #: Unix time of the first check that the counts include, s.
    since: float = 0.0
    healthy: int = 0
    unhealthy: int = 0
    undecided: int = 0
    #: The encoded ``NodeState`` of the decision.
    state: bytes = b""
    #: The counters of the last check's facts (``facts/counters.py``).
    counters: bytes = b""

    @property
    def checks(self) -> int:
        """Checks since the header began."""
        return self.healthy + self.unhealthy + self.undecided


class OtherSchemaError(Exception):
    """A header of another version of the format; its argument is the version."""


def pack_header(header: NodeHeader) -> bytes:
    """The header as ``HEADER_SIZE`` bytes; the kind is cut.

    Raises ValueError if it doesn't fit.
    """
    if len(header.state) > MOST_STATE or len(header.counters) > MOST_COUNTERS:
        raise ValueError(
            f"{len(header.state)} bytes of state and {len(header.counters)} of counters don't fit "
            f"into {MOST_STATE} and {MOST_COUNTERS}"
        )
    content = msgspec.msgpack.encode(
        msgspec.structs.replace(header, kind=header.kind[:_LONGEST_KIND])
    )
    room = HEADER_SIZE - _HEAD.size
    if len(content) > room:
        raise ValueError(f"a header of {len(content)} bytes doesn't fit into {room}")
    crc = _crc(SCHEMA, content)
    return (_HEAD.pack(MAGIC, SCHEMA, len(content), crc) + content).ljust(HEADER_SIZE, b"\0")


def unpack_header(area: bytes) -> NodeHeader | None:
    """The header; None if it is damaged. Raises OtherSchemaError if it is intact and of another
    version."""
    if len(area) < _HEAD.size:
        return None
    magic, schema, length, crc = _HEAD.unpack_from(area)
    content = area[_HEAD.size : _HEAD.size + length]
    if magic != MAGIC or len(content) != length or crc != _crc(schema, content):
        return None
    if schema != SCHEMA:
        raise OtherSchemaError(schema)
    try:
        return msgspec.msgpack.decode(content, type=NodeHeader)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _crc(schema: int, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(struct.pack("<HH", schema, len(content))))
