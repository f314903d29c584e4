"""Memory modules, as the firmware describes them (SMBIOS type 17, "Memory Device").

Layout of structures: DMTF DSP0134, 6.1.2 and 7.18. Only root may read the table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from assay.check.model import Fact
from assay.system.files import Tree

_TABLE = "/sys/firmware/dmi/tables/DMI"
_ENTRIES = "/sys/firmware/dmi/entries"
_MOST_BYTES = 1 << 20
_MEMORY_DEVICE, _END = 17, 127
_UNKNOWN_SIZE, _EXTENDED = 0xFFFF, 0x7FFF


class MemoryModule(NamedTuple):
    """One slot for a memory module."""

    #: As the firmware names it: ``P0 CHANNEL A/DIMM 0``.
    slot: str
    #: Bytes; 0 for an empty slot, None if the firmware doesn't know.
    size: int | None
    #: Transfers per second at which it runs; None if unknown.
    speed: int | None


def facts(tree: Tree) -> Iterator[Fact]:
    """Size of each slot's module, number of modules, and the lowest transfer rate."""
    structures = _structures(tree)
    if structures is None:
        if tree.exists(_TABLE) or tree.exists(_ENTRIES):
            yield Fact(name="dimm.*", value=None)
        return
    modules = [m for m in map(memory_module, structures) if m is not None]
    filled = [module for module in modules if module.size]
    if not filled:
        # Virtual machines and old firmware state no sizes.
        return
    yield Fact(name="dimm.count", value=len(filled), rule="not below", look_at="check DIMMs")
    if speeds := [module.speed for module in filled if module.speed]:
        yield Fact(
            name="dimm.speed",
            value=min(speeds),
            unit="T/s",
            rule="not below",
            look_at="check DIMMs, BIOS",
        )
    seen: set[str] = set()
    for number, module in enumerate(modules):
        slot = module.slot if module.slot and module.slot not in seen else f"slot {number}"
        seen.add(slot)
        if module.size is not None:
            yield Fact(name=f"dimm.{slot}.size", value=module.size, unit="B", look_at="check DIMMs")


def _structures(tree: Tree) -> list[bytes] | None:
    """The structures of the firmware's table; None if they can't be read."""
    table = _bytes(tree, _TABLE)
    if table is not None:
        return list(split(table))
    found = []
    for name in tree.names(_ENTRIES):
        if name.startswith(f"{_MEMORY_DEVICE}-"):
            raw = _bytes(tree, f"{_ENTRIES}/{name}/raw")
            if raw is None:
                return None
            found += list(split(raw))[:1]
    return found or None


def _bytes(tree: Tree, name: str) -> bytes | None:
    try:
        file = os.open(tree.path(name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        pieces: list[bytes] = []
        while (piece := os.read(file, 1 << 16)) and sum(map(len, pieces)) < _MOST_BYTES:
            pieces.append(piece)
        return b"".join(pieces)
    except OSError:
        return None
    finally:
        os.close(file)


def split(table: bytes) -> Iterator[bytes]:
    """The structures of a table: each a formatted part, then strings, then two zero bytes."""
    start = 0
    while start + 4 <= len(table):
        kind, length = table[start], table[start + 1]
        if length < 4:
            return
        end = table.find(b"\0\0", start + length)
        if end < 0:
            return
        yield table[start : end + 2]
        if kind == _END:
            return
        start = end + 2


def memory_module(structure: bytes) -> MemoryModule | None:
    """The module of a structure of type 17; None for other types and for damaged ones."""
    if len(structure) < 4 or structure[0] != _MEMORY_DEVICE:
        return None
    length = structure[1]
    if not 0x15 <= length <= len(structure):
        return None
    strings = structure[length:].split(b"\0")

    def number(offset: int, size: int) -> int | None:
        if offset + size > length:
            return None
        return int.from_bytes(structure[offset : offset + size], "little")

    def text(offset: int) -> str:
        index = structure[offset] if offset < length else 0
        raw = strings[index - 1] if 0 < index <= len(strings) else b""
        return " ".join(re.sub(rb"[^ -~]", b" ", raw).decode("ascii").split())

    size = number(0x0C, 2)
    if size == _EXTENDED:
        extended = number(0x1C, 4)
        size_bytes = None if extended is None else (extended & 0x7FFFFFFF) << 20
    elif size is None or size == _UNKNOWN_SIZE:
        size_bytes = None
    else:
        # Bit 15: the unit is KiB and not MiB.
        size_bytes = (size & 0x7FFF) << (10 if size & 0x8000 else 20)
    speed = number(0x20, 2) or number(0x15, 2)
    if speed == _UNKNOWN_SIZE:
        speed = number(0x58, 4) or None
    slot = "/".join(part for part in (text(0x11), text(0x10)) if part)
    return MemoryModule(slot, size_bytes, speed * 10**6 if speed else None)
