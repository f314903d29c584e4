"""Columns of numbers that grow row by row, in temporary files once they are long.

The files have no name, so that nothing remains of them however the process ends. A finished column
is an array mapped from its file: rows are read when they are used, and ``release`` returns the
memory of rows already read to the system.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError

Columns = dict[str, NDArray[np.generic]]
# Number of rows that are held in memory, and that are processed at a time.
ROWS = 1 << 19


@dataclass(frozen=True)
class ColumnTable:
    """Columns of equal length."""

    columns: Columns
    #: Their mapped files; none if the columns are in memory.
    maps: list[mmap.mmap] = field(default_factory=list)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def release(self) -> None:
        """Return the memory of rows that were read from files. They can be read again."""
        for each in self.maps:
            each.madvise(mmap.MADV_DONTNEED)


def ranges(length: int) -> Iterator[slice]:
    """Consecutive ranges of at most ``ROWS`` rows that cover this many rows; one empty range for 0
    rows."""
    for low in range(0, max(length, 1), ROWS):
        yield slice(low, min(low + ROWS, length))


def unnamed_file() -> IO[bytes]:
    """A temporary file without a name. Raises AssayError if no folder can hold one."""
    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise unwritable(error) from None


class TableWriter:
    """Collects rows in blocks. ``kinds``: the type of each column by name."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._types = {name: np.dtype(kind) for name, kind in kinds.items()}
        self._blocks: list[Columns] = []
        self._held = 0
        self._files: dict[str, IO[bytes]] = {}
        self._written = 0

    def __len__(self) -> int:
        return self._written + self._held

    def append(self, block: Mapping[str, NDArray[np.generic]]) -> None:
        """Add rows; the arrays must not change afterwards. Raises AssayError if a disk is full."""
        length = len(next(iter(block.values())))
        if not length:
            return
        self._blocks.append(
            {
                name: np.ascontiguousarray(block[name], dtype=kind)
                for name, kind in self._types.items()
            }
        )
        self._held += length
        if self._held > ROWS:
            self._write()

    def _write(self) -> None:
        try:
            if not self._files:
                self._files = {name: unnamed_file() for name in self._types}
            for name, file in self._files.items():
                for block in self._blocks:
                    file.write(block[name].data)
        except OSError as error:
            raise unwritable(error) from None
        self._written += self._held
        self._blocks, self._held = [], 0

    def finish(self) -> ColumnTable:
        """The finished table. Nothing can be added afterwards."""
        if not self._files:
            if len(self._blocks) == 1:
                return ColumnTable(self._blocks[0])
            return ColumnTable(
                {
                    name: np.concatenate([np.empty(0, kind), *(b[name] for b in self._blocks)])
                    for name, kind in self._types.items()
                }
            )
        self._write()
        columns: dict[str, NDArray[Any]] = {}
        maps = []
        for name, file in self._files.items():
            try:
                file.flush()
            except OSError as error:
                raise unwritable(error) from None
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            maps.append(mapped)
            columns[name] = np.frombuffer(mapped, dtype=self._types[name])
            file.close()
        return ColumnTable(columns, maps)


def unwritable(error: OSError) -> AssayError:
    """The error for a temporary file that can't be written."""
    return AssayError(
        f"Temporary files can't be written: {error.strerror or error}.",
        where=tempfile.gettempdir(),
        fix="Set TMPDIR to a folder whose free space is about three times the size of the log.",
    )
