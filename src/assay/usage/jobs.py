"""Jobs of a log: a record of one, and all of them as columns.

A job takes about 115 bytes, whatever the format; texts of records are not kept. The columns of a
long log are in temporary files (``columns``).
"""

from __future__ import annotations

import enum
import math
import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from assay.arrays import Floats, Ints
from assay.usage.columns import ColumnTable, TableWriter, ranges
from assay.usage.nodes import NodeLists

NAN = math.nan
# Latest Unix time that is accepted (the year 2120), and the greatest size of a job.
LATEST = 4.74e9
MOST_PROCESSORS = 2**31 - 1


class State(enum.IntEnum):
    """How a job ended, or that it has not."""

    UNKNOWN = 0
    COMPLETED = 1
    FAILED = 2
    CANCELLED = 3
    TIMEOUT = 4
    OUT_OF_MEMORY = 5
    NODE_FAILURE = 6
    PREEMPTED = 7
    RUNNING = 8
    PENDING = 9


@dataclass
class JobRecord:
    """One job of a log. Times are Unix times in s; NaN, -1 and "" where unknown.

    ``key`` distinguishes records;
    """

    key: str
    #: The job's number in the scheduler's sequence, -1 where its ids are not consecutive.
    number: int = -1
    submit: float = NAN
    start: float = NAN
    end: float = NAN
    #: Allocated. ``requested_time`` in s, ``requested_memory`` and ``used_memory`` in bytes, all
    #: processors together.
    processors: int = -1
    nodes: int = -1
    gpus: int = -1
    requested_time: float = NAN
    requested_memory: float = NAN
    used_memory: float = NAN
    user: str = ""
    group: str = ""
    queue: str = ""
    state: State = State.UNKNOWN
    #: The number of the job array that it belongs to.
    array: int = -1
    #: Its nodes in bracket notation.
    hosts: str = ""
    #: Time in s between start and end in which it did not use its processors.
    suspended: float = NAN


@dataclass(frozen=True)
class Outage:
    """A node that was down."""

    node: str
    #: ``start``, ``end``: Unix time in s, ``end`` infinite if open.
    start: float
    end: float
    #: -1 where unknown.
    processors: int


@dataclass
class MachineFacts:
    """What a log says of its machine."""

    #: ``processors``, ``nodes``: 0 where it doesn't.
    processors: int = 0
    nodes: int = 0
    #: The IANA name of its time zone.
    zone: str = ""
    #: Whether times are dates; False where they count from an unknown day.
    calendar: bool = True
    #: Whether times are local ones, written as Unix times as if they were UTC.
    local: bool = False
    #: Whether its states tell timeouts from failures.
    timeouts: bool = True
    #: Whether records are written when jobs end, otherwise the log is ordered by submission.
    at_ends: bool = False
    outages: list[Outage] = field(default_factory=list)
    #: Whether records are also written when jobs start. ``outages`` and ``sizes`` (Unix time,
    #: processors from then on) come from node events, as do ``node_counts`` (Unix time, nodes from
    #: then on) where processors are unknown.
    starts: bool = False
    sizes: list[tuple[float, int]] = field(default_factory=list)
    #: The number of records that the log's header states, 0 where it doesn't.
    records: int = 0
    node_counts: list[tuple[float, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Jobs:
    """Jobs by column, all of the same length; meanings and units as in ``JobRecord``.

    ``user``, ``group``, ``queue``: indices into ``users``, ``groups``, ``queues``; the name ""
    stands for unknown. ``file``: index into ``files``; ``line``: from 1. ``hosts``: the number of
    ranges of nodes, from ``hosts_at`` on in ``nodes``; 0 where the nodes are unknown. ``lost``: 1
    where the log has a start that can't be read. Columns of
    long logs are mapped from temporary files (``maps``) and read where they are used.
    """

    columns: dict[str, NDArray[np.generic]]
    users: list[str]
    groups: list[str]
    queues: list[str]
    files: list[str]
    nodes: NodeLists | None = None
    maps: list[mmap.mmap] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.columns["submit"])

    def number(self, name: str) -> Floats:
        """A column of numbers as floats: NaN where it is unknown."""
        column = self.columns[name]
        values: Floats = column.astype(np.float64)
        if column.dtype.kind == "i":
            values[values < 0] = np.nan
        return values

    def code(self, name: str) -> Ints:
        """A column of indices, states or lines."""
        codes: Ints = self.columns[name].astype(np.int64)
        return codes

    def where(self, kept: NDArray[np.bool_]) -> Jobs:
        """The jobs for which ``kept`` is true."""
        writer = TableWriter({name: column.dtype.str for name, column in self.columns.items()})
        for rows in ranges(len(self)):
            writer.append({name: each[rows][kept[rows]] for name, each in self.columns.items()})
            self.release()
        table = writer.finish()
        return replace(self, columns=table.columns, maps=table.maps)

    def chunks(self) -> Iterator[tuple[slice, Jobs]]:
        """Consecutive jobs, at most ``columns.ROWS`` at a time, with their rows."""
        for rows in ranges(len(self)):
            columns = {name: column[rows] for name, column in self.columns.items()}
            yield rows, replace(self, columns=columns, maps=[])
            self.release()

    def release(self) -> None:
        """Give back the memory of rows that were read from files; they can be read again."""
        ColumnTable(self.columns, self.maps).release()

    def place(self, index: int) -> tuple[int, int]:
        """The index of a job's file, and its line."""
        return int(self.columns["file"][index]), int(self.columns["line"][index])

    def has(self, name: str) -> bool:
        """Whether a column of numbers is known of any job."""
        return any(bool((~np.isnan(each.number(name))).any()) for _, each in self.chunks())
