"""Records of checks as bytes: a few dozen of them fit into the file of a node.

A record begins at a multiple of ``GRAIN`` bytes with the length of its content, the CRC-32 of
sequence number and content, and the sequence number. A reader that finds a damaged record goes on
at the next multiple, so that damage costs the records that it touches and no others.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from assay.check.components import COMPONENTS
from assay.check.model import CheckRecord, Outcome

GRAIN = 16
#: Longest texts that are stored, in characters.
LONGEST_REASON, LONGEST_PARTNER, LONGEST_DIGEST = 100, 64, 12
_HEAD = struct.Struct("<HII")  # length, CRC-32, sequence number
_FIXED = struct.Struct("<dfBHH")  # end, duration, outcome, slow components, measured components
_OUTCOMES: tuple[Outcome, ...] = ("healthy", "unhealthy", "undecided")
# A component's bit is its place in COMPONENTS, so their order is part of the format.
_NAMES = tuple(component.name for component in COMPONENTS)


def pack_records(records: Sequence[tuple[int, CheckRecord]], room: int) -> bytes:
    """The newest records that fit into ``room`` bytes, each with its sequence number."""
    packed: list[bytes] = []
    used = 0
    for sequence, record in reversed(records):
        slot = _slot(sequence, record)
        if used + len(slot) > room:
            break
        packed.append(slot)
        used += len(slot)
    return b"".join(reversed(packed)).ljust(room, b"\0")


def unpack_records(area: bytes) -> tuple[list[tuple[int, CheckRecord]], int]:
    """The readable records by sequence number, and the number of damaged places."""
    found: dict[int, CheckRecord] = {}
    damaged = place = 0
    sound = True
    while place + _HEAD.size <= len(area):
        length, crc, sequence = _HEAD.unpack_from(area, place)
        begin = place + _HEAD.size
        content = area[begin : begin + length]
        record = None
        if length and len(content) == length and crc == _crc(sequence, content):
            record = _decoded(content)
        if record is not None:
            found[sequence] = record
            place += -(-(_HEAD.size + length) // GRAIN) * GRAIN
            sound = True
            continue
        # Beyond the last record there are zeros. Everything else is damage, which is counted once
        # for each row of places.
        if any(area[place : place + GRAIN]):
            damaged += sound
            sound = False
        place += GRAIN
    return sorted(found.items(), key=lambda item: item[0]), damaged


def _slot(sequence: int, record: CheckRecord) -> bytes:
    content = _encoded(record)
    whole = _HEAD.pack(len(content), _crc(sequence, content), sequence) + content
    return whole.ljust(-(-len(whole) // GRAIN) * GRAIN, b"\0")


def _crc(sequence: int, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(sequence.to_bytes(4, "little")))


def _encoded(record: CheckRecord) -> bytes:
    slow = sum(1 << i for i, name in enumerate(_NAMES) if name in record.slow)
    measured = [name for name in _NAMES if name in record.values]
    bits = sum(1 << _NAMES.index(name) for name in measured)
    texts = (
        _text(record.baseline, LONGEST_DIGEST),
        _text(record.partner, LONGEST_PARTNER),
        _text(record.reason, LONGEST_REASON),
    )
    outcome = _OUTCOMES.index(record.outcome)
    return b"".join(
        (
            _FIXED.pack(record.utc, record.seconds, outcome, slow, bits),
            # Six digits are a hundred times finer than the steadiest measurement.
            struct.pack(f"<{len(measured)}f", *(record.values[name] for name in measured)),
            *(bytes((len(text),)) + text for text in texts),
        )
    )


def _text(text: str, most: int) -> bytes:
    return text.encode("ascii", "replace")[:most]


def _decoded(content: bytes) -> CheckRecord | None:
    """None for content that passes the CRC and isn't a record, as another program may write."""
    try:
        utc, seconds, outcome, slow, bits = _FIXED.unpack_from(content)
        place = _FIXED.size
        measured = [name for i, name in enumerate(_NAMES) if bits >> i & 1]
        values = struct.unpack_from(f"<{len(measured)}f", content, place)
        place += 4 * len(measured)
        texts = []
        for _ in range(3):
            length = content[place]
            texts.append(content[place + 1 : place + 1 + length].decode("ascii"))
            place += 1 + length
        return CheckRecord(
            utc=utc,
            outcome=_OUTCOMES[outcome],
            seconds=seconds,
            baseline=texts[0],
            values=dict(zip(measured, values, strict=True)),
            slow=[name for i, name in enumerate(_NAMES) if slow >> i & 1],
            partner=texts[1],
            reason=texts[2],
        )
    except (struct.error, IndexError, UnicodeDecodeError):
        return None
