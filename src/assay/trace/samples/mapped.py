"""Which file contains an address of a process: its lines of ``/proc/PID/maps`` (proc(5))."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

# Code that no file contains: it was compiled at run time.
RUN_TIME_CODE = "[compiled at run time]"


@dataclass(frozen=True)
class MappedAddress:
    """Where an address is: the path of its file and the offset in it. Of code without a file: a
    name in brackets and the offset in the mapping. Of code that was compiled at run time: the
    address, and the process's file of samples."""

    path: str
    offset: int
    process: str = ""


@dataclass(frozen=True)
class CodeMap:
    """Mapped code, in order of address: begins, ends, offsets in the files, and paths."""

    begins: tuple[int, ...]
    ends: tuple[int, ...]
    offsets: tuple[int, ...]
    paths: tuple[str, ...]

    def find(self, address: int) -> MappedAddress | None:
        """The file that contains an address; None if it isn't mapped code."""
        place = bisect_right(self.begins, address) - 1
        if place < 0 or address >= self.ends[place]:
            return None
        path = self.paths[place]
        if path.startswith(("/", "[")):
            return MappedAddress(path, address - self.begins[place] + self.offsets[place])
        return MappedAddress(RUN_TIME_CODE, address)


def read_map(text: str) -> CodeMap:
    """The map from lines "BEGIN-END RIGHTS OFFSET DEVICE INODE PATH"; others are left out."""
    rows = []
    for line in text.splitlines():
        words = line.split(None, 5)
        begin, _, end = words[0].partition("-") if words else ("", "", "")
        try:
            path = words[5] if len(words) > 5 else ""
            rows.append((int(begin, 16), int(end, 16), int(words[2], 16), path))
        except (ValueError, IndexError):
            continue
    rows.sort()
    return CodeMap(
        tuple(row[0] for row in rows),
        tuple(row[1] for row in rows),
        tuple(row[2] for row in rows),
        tuple(row[3].removesuffix(" (deleted)") for row in rows),
    )
