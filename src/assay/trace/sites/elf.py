"""The functions of an ELF file, from its symbol tables (elf(5)).

The table ``.symtab`` includes static functions, which ``.dynsym`` and therefore the dynamic linker
lack.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

_MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_HEADER = struct.Struct("<16xHHI QQQ IHHHHHH")
_PROGRAM = struct.Struct("<II QQQQQQ")
_SECTION = struct.Struct("<II QQQQ II QQ")
_SYMBOL = np.dtype([("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"),
                    ("value", "<u8"), ("size", "<u8")])  # fmt: skip
_PT_LOAD, _SHT_SYMTAB, _SHT_DYNSYM = 1, 2, 11
_STT_FUNC, _STT_GNU_IFUNC = 2, 10
_PAGE = 4096
# Sections with debugging information, also compressed, and with the name of the file that has it.
_DEBUGGING = {".debug_info", ".zdebug_info", ".gnu_debuglink"}


@dataclass(frozen=True)
class ElfFunctions:
    """The functions of an ELF file, by address."""

    #: Memory address of the file's first byte in the file's own addresses; not 0 for executables
    #: with a fixed address.
    base: int
    #: ``starts``, ``ends``: addresses of the functions, sorted by start.
    starts: npt.NDArray[np.uint64]
    ends: npt.NDArray[np.uint64]
    names: list[str]
    #: Parts of the file that are loaded: offset in the file, bytes, address.
    segments: tuple[tuple[int, int, int], ...] = ()
    #: Whether the file has debugging information, or names the file that has it.
    has_lines: bool = False

    def at(self, address: int) -> str:
        """The linkage name of the function that holds an address; "" if none does."""
        place = int(np.searchsorted(self.starts, np.uint64(address), side="right")) - 1
        if place < 0 or address >= int(self.ends[place]):
            return ""
        return self.names[place]

    def address_of(self, offset: int) -> int:
        """The address at which an offset in the file is loaded; -1: it isn't loaded."""
        for begin, size, address in self.segments:
            if begin // _PAGE * _PAGE <= offset < begin + size:
                return offset - begin + address
        return -1


def read_functions(path: Path) -> ElfFunctions | None:
    """The functions of a file; None if it can't be read or isn't 64-bit little-endian ELF."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
            return _read(data) if data[: len(_MAGIC)] == _MAGIC else None
    except (OSError, ValueError, struct.error):  # includes empty and truncated files
        return None


def _read(data: mmap.mmap) -> ElfFunctions:
    (_, _, _, _, programs, sections, _, _, p_size, p_count, s_size, s_count, _) = (
        _HEADER.unpack_from(data)
    )
    loads = [_PROGRAM.unpack_from(data, programs + p_size * number) for number in range(p_count)]
    first = min((one[3] for one in loads if one[0] == _PT_LOAD), default=0)
    tables = [_SECTION.unpack_from(data, sections + s_size * number) for number in range(s_count)]
    # A function that both tables have has the same name in both.
    parts = []
    for kind in (_SHT_DYNSYM, _SHT_SYMTAB):
        for one in tables:
            if one[1] == kind and one[6] < len(tables):
                strings = tables[one[6]]
                parts.append(_functions(data, one[4], one[5], strings[4], strings[5]))
    starts = np.concatenate([np.empty(0, np.uint64), *(part[0] for part in parts)])
    ends = np.concatenate([np.empty(0, np.uint64), *(part[1] for part in parts)])
    names = [name for part in parts for name in part[2]]
    # Of several names for an address, the last one would be found: a part of another function.
    order = np.lexsort((-ends.astype(np.int64), starts))
    _sort_names(order, starts, ends, names)
    return ElfFunctions(
        base=first // _PAGE * _PAGE,
        starts=starts[order],
        ends=ends[order],
        names=[names[place] for place in order],
        segments=tuple((one[2], one[5], one[3]) for one in loads if one[0] == _PT_LOAD),
        has_lines=bool(_DEBUGGING & _section_names(data, tables, _HEADER.unpack_from(data)[-1])),
    )


def _sort_names(
    order: npt.NDArray[np.intp],
    starts: npt.NDArray[np.uint64],
    ends: npt.NDArray[np.uint64],
    names: Sequence[str],
) -> None:
    """Of names of one function the public one comes last: ``read`` after ``__GI___read``."""
    same = (np.diff(starts[order]) == 0) & (np.diff(ends[order]) == 0)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    for first, last in edges.reshape(-1, 2).tolist():
        order[first : last + 1] = sorted(
            order[first : last + 1].tolist(), key=lambda place: _privacy(names[place]), reverse=True
        )


def _privacy(name: str) -> tuple[int, int, str]:
    return len(name) - len(name.lstrip("_")), len(name), name


def _section_names(data: mmap.mmap, tables: Sequence[tuple[int, ...]], strings: int) -> set[str]:
    if strings >= len(tables):
        return set()
    at, size = tables[strings][4:6]
    text = bytes(data[at : at + size])
    return {_text(text, one[0]) for one in tables}


def _functions(
    data: mmap.mmap, begin: int, size: int, strings: int, length: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], list[str]]:
    """Starts, ends and names of the functions of one table."""
    count = min(size, max(len(data) - begin, 0)) // _SYMBOL.itemsize
    table = np.frombuffer(bytes(data[begin : begin + count * _SYMBOL.itemsize]), dtype=_SYMBOL)
    kind = table["info"] & 0xF
    table = table[((kind == _STT_FUNC) | (kind == _STT_GNU_IFUNC)) & (table["section"] != 0)]
    text = bytes(data[strings : strings + length])
    names = [_text(text, int(place)) for place in table["name"]]
    # Some functions written in assembler have no size; at least one instruction is certain.
    ends = table["value"] + np.maximum(table["size"], np.uint64(1))
    return table["value"].astype(np.uint64), ends.astype(np.uint64), names


def _text(strings: bytes, place: int) -> str:
    end = strings.find(b"\0", place)
    return strings[place : end if end >= 0 else None].decode("utf-8", "replace")
