"""Jobs of a log: a record of one job, and all jobs as columns.

A job takes about 130 bytes, whatever the format; texts of records are not kept. The columns of a
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
# Latest accepted Unix time (the year 2120), and the greatest accepted size of a job.
LATEST = 4.74e9
MOST_PROCESSORS = 2**31 - 1


class State(enum.IntEnum):
    """How a job ended, or that it hasn't ended."""

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
    """One job of a log. Times are Unix times in s. NaN, -1 and "" mean unknown.

    ``key`` distinguishes records of a cluster.
    """

    key: str
    #: The job's number in the scheduler's sequence; -1 if its ids are not consecutive.
    number: int = -1
    submit: float = NAN
    start: float = NAN
    end: float = NAN
    #: Allocated processors. ``requested_time`` in s; ``requested_memory`` and ``used_memory`` in
    #: bytes, for all processors together.
    processors: int = -1
    nodes: int = -1
    gpus: int = -1
    requested_time: float = NAN
    requested_memory: float = NAN
    used_memory: float = NAN
    #: ``processor_time``: s that processors computed for the job. ``energy`` in J.
    processor_time: float = NAN
    energy: float = NAN
    user: str = ""
    group: str = ""
    queue: str = ""
    #: The cluster, if the log names it.
    cluster: str = ""
    state: State = State.UNKNOWN
    #: Number of the job array that the job belongs to.
    array: int = -1
    #: Nodes of the job in bracket notation.
    hosts: str = ""
    #: Time between start and end in which the job did not use its processors, s.
    suspended: float = NAN


@dataclass(frozen=True)
class Outage:
    """A time at which a node was down."""

    node: str
    #: ``start``, ``end``: Unix times in s; ``end`` is infinite for an open outage.
    start: float
    end: float
    #: Number of the node's processors; -1 if unknown.
    processors: int
    #: The cluster, if the log names it.
    cluster: str = ""
    #: State and reason as the log prints them.
    state: str = ""
    reason: str = ""


@dataclass(frozen=True)
class SizeEvent:
    """A time from which a cluster has a size."""

    #: Unix time in s.
    start: float
    #: ``processors``, ``nodes``: -1 if unknown.
    processors: int
    nodes: int = -1
    #: The cluster, if the log names it.
    cluster: str = ""


@dataclass(frozen=True)
class FairShare:
    """The share of the machine that the site intends for an account or a user."""

    account: str
    #: "" for the account as a whole.
    user: str
    #: Share of the whole machine.
    target: float
    #: The account above it.
    parent: str


@dataclass
class MachineFacts:
    """What a log says about its machine."""

    #: ``processors``, ``nodes``: 0 if the log states none.
    processors: int = 0
    nodes: int = 0
    #: IANA name of the machine's time zone.
    zone: str = ""
    #: Whether times are dates. False: times count from an unknown day.
    calendar: bool = True
    #: Whether times are local times, written like Unix times as if they were UTC.
    local: bool = False
    #: Whether the log's states distinguish timeouts from failures.
    timeouts: bool = True
    #: Whether records are written when jobs end. Otherwise the log is ordered by submission.
    at_ends: bool = False
    outages: list[Outage] = field(default_factory=list)
    #: Whether records are also written when jobs start. ``outages`` and ``sizes`` come from node
    #: events.
    starts: bool = False
    sizes: list[SizeEvent] = field(default_factory=list)
    #: Number of records that the log's header states; 0 if it states none.
    records: int = 0
    fair_shares: list[FairShare] = field(default_factory=list)
    #: Whether times were recognised as Unix times, although the log states no begin.
    unix_times: bool = False
    #: Number of sites whose jobs the log has a part of; 0 for the log of one machine.
    sites: int = 0
    #: Names of fields that the log has in addition to those of its format.
    unread_fields: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Jobs:
    """Jobs by column, all of the same length; meanings and units as in ``JobRecord``.

    ``user``, ``group``, ``queue``, ``cluster``: indices into ``users``, ``groups``, ``queues``,
    ``clusters``; the name "" means unknown. ``file``: index into ``files``; ``line``: from 1.
    ``hosts``: the number of ranges of nodes, which begin at ``hosts_at`` in ``nodes``; 0 if the
    nodes are unknown. ``lost``: 1 if the log has a start that can't be read. Columns of long logs
    are mapped from temporary files
    (``maps``) and read when they are used.
    """

    columns: dict[str, NDArray[np.generic]]
    users: list[str]
    groups: list[str]
    queues: list[str]
    clusters: list[str]
    files: list[str]
    nodes: NodeLists | None = None
    maps: list[mmap.mmap] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.columns["submit"])

    def number(self, name: str) -> Floats:
        """A column of numbers as floats; NaN if unknown."""
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
        """Consecutive jobs with their rows, at most ``columns.ROWS`` at a time."""
        for rows in ranges(len(self)):
            columns = {name: column[rows] for name, column in self.columns.items()}
            yield rows, replace(self, columns=columns, maps=[])
            self.release()

    def release(self) -> None:
        """Return the memory of rows that were read from files. They can be read again."""
        ColumnTable(self.columns, self.maps).release()

    def place(self, index: int) -> tuple[int, int]:
        """The index of a job's file, and its line."""
        return int(self.columns["file"][index]), int(self.columns["line"][index])

    def has(self, name: str) -> bool:
        """Whether a column of numbers is known for any job."""
        return any(bool((~np.isnan(each.number(name))).any()) for _, each in self.chunks())
