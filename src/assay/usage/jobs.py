"""Jobs of a log as columns, and the collector that readers of accounts fill.

A job takes about 90 bytes, whatever the format; texts of records are not kept.
"""

from __future__ import annotations

import enum
import math
from array import array
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.usage.problems import Problems

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NAN = math.nan
# Latest Unix time that is accepted (the year 2120), and the greatest size of a job.
_LATEST = 4.74e9
_MOST_PROCESSORS = 2**31 - 1
# Records further than this (s) from all others are wrong if they are at most this share of the
# jobs, or a single one.
_YEAR, _FEW = 366 * 86400.0, 0.01


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

    ``key`` distinguishes records; ``number``: the job's number in the scheduler's sequence, -1
    where its ids are not consecutive. ``processors``: allocated. ``requested_time`` in s,
    ``requested_memory`` and ``used_memory`` in bytes, all processors together. ``array``: the
    number of the job array that it belongs to.
    """

    key: str
    number: int = -1
    submit: float = NAN
    start: float = NAN
    end: float = NAN
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
    array: int = -1


@dataclass(frozen=True)
class Outage:
    """A node that was down. ``start``, ``end``: Unix time in s, ``end`` infinite if open."""

    node: str
    start: float
    end: float
    processors: int


@dataclass
class MachineFacts:
    """What a log says of its machine. ``processors``, ``nodes``: 0 where it doesn't.

    ``zone``: the IANA name of its time zone. ``calendar``: whether times are dates; False where
    they count from an unknown day. ``local``: whether times are local ones, written as Unix times
    as if they were UTC. ``timeouts``: whether its states tell timeouts from failures.
    ``at_ends``: whether records are written when jobs end, otherwise the log is ordered by
    submission. ``starts``: whether records are also written when jobs start. ``outages``
    and ``sizes`` (Unix time, processors from then on) come from node events. ``records``: the
    number of records that the log's header states, 0 where it doesn't.
    """

    processors: int = 0
    nodes: int = 0
    zone: str = ""
    calendar: bool = True
    local: bool = False
    timeouts: bool = True
    at_ends: bool = False
    outages: list[Outage] = field(default_factory=list)
    starts: bool = False
    sizes: list[tuple[float, int]] = field(default_factory=list)
    records: int = 0


@dataclass(frozen=True)
class Jobs:
    """Jobs by column, all of the same length; meanings and units as in ``JobRecord``.

    ``user``, ``group``, ``queue``: indices into ``users``, ``groups``, ``queues``; the name ""
    stands for unknown. ``file``: index into ``files``; ``line``: from 1.
    """

    columns: dict[str, NDArray[np.generic]]
    users: list[str]
    groups: list[str]
    queues: list[str]
    files: list[str]

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
        columns = {name: column[kept] for name, column in self.columns.items()}
        return Jobs(columns, self.users, self.groups, self.queues, self.files)

    def place(self, index: int) -> tuple[int, int]:
        """The index of a job's file, and its line."""
        return int(self.columns["file"][index]), int(self.columns["line"][index])


# Columns and their types (``array``): the order in which ``JobCollector.add`` appends.
_COLUMNS = {
    "submit": "d", "start": "d", "end": "d", "processors": "i", "nodes": "i", "gpus": "i",
    "requested_time": "f", "requested_memory": "f", "used_memory": "f", "user": "i", "group": "i",
    "queue": "i", "state": "b", "array": "q", "number": "q", "key": "q", "file": "i", "line": "q",
}  # fmt: skip


class JobCollector:
    """Takes the records of all files of a log; ``machine`` and ``problems`` grow with them.

    ``started``: records of jobs that began and have not ended yet, by key; they become running
    jobs at the end. Formats that write a record for each event use it across rotated files.
    """

    def __init__(self) -> None:
        self.machine = MachineFacts()
        self.problems = Problems()
        self.started: dict[str, tuple[JobRecord, int, int]] = {}
        self.files: list[str] = []
        self._columns: dict[str, array[Any]] = {
            name: array(kind) for name, kind in _COLUMNS.items()
        }
        self._names: dict[str, dict[str, int]] = {"user": {}, "group": {}, "queue": {}}

    def begin(self, file: str) -> None:
        """Records from now on are of this file."""
        self.files.append(file)

    def problem(self, kind: str, line: int) -> None:
        """A problem in a line of the present file."""
        self.problems.add(kind, (len(self.files) - 1, line))

    def add(self, job: JobRecord, line: int, file: int | None = None) -> None:
        """A record from a line of the present file; an impossible one becomes a problem."""
        wrong = _wrong(job)
        where = len(self.files) - 1 if file is None else file
        if wrong:
            self.problems.add(wrong, (where, line))
            if wrong != "early":
                return
            job.submit = NAN
        names = (
            self._name("user", job.user),
            self._name("group", job.group),
            self._name("queue", job.queue),
        )
        row = (
            job.submit, job.start, job.end, job.processors, job.nodes, job.gpus,
            job.requested_time, job.requested_memory, job.used_memory, *names,
            job.state, job.array, job.number, _hashed(job.key), where, line,
        )  # fmt: skip
        for column, value in zip(self._columns.values(), row, strict=True):
            column.append(value)

    def jobs(self) -> Jobs:
        """All jobs, those that began and did not end as running; identical records once."""
        if self.started:
            keys = np.frombuffer(self._columns["key"], dtype=np.int64)
            starts = np.frombuffer(self._columns["start"], dtype=np.float64)
            ended = set(zip(keys.tolist(), starts.tolist(), strict=True))
            del keys, starts
            for job, file, line in self.started.values():
                if (_hashed(job.key), job.start) not in ended:
                    self.add(job, line, file)
            self.started.clear()
        columns = {
            name: np.frombuffer(values, dtype=values.typecode)
            if len(values)
            else np.empty(0, dtype=values.typecode)
            for name, values in self._columns.items()
        }
        users, groups, queues = (list(self._names[name]) for name in ("user", "group", "queue"))
        return self._once(Jobs(columns, users, groups, queues, self.files))

    def _once(self, jobs: Jobs) -> Jobs:
        keys = jobs.code("key")
        start, end = (np.nan_to_num(jobs.number(name), nan=-1.0) for name in ("start", "end"))
        order = np.lexsort((np.arange(len(jobs)), end, start, keys))
        same_id = keys[order][1:] == keys[order][:-1]
        same = same_id & (start[order][1:] == start[order][:-1])
        same &= end[order][1:] == end[order][:-1]
        # A job that a log shows twice, first while it waits or runs: the earlier record is dropped.
        state = jobs.code("state")[order][:-1]
        earlier = (state == State.RUNNING) & (start[order][1:] == start[order][:-1])
        earlier = (earlier | (state == State.PENDING)) & same_id & ~same
        kept = np.ones(len(jobs), dtype=bool)
        for kind, places, dropped in (
            ("duplicate", order[1:][same], True),
            ("superseded", order[:-1][earlier], True),
            ("reused", order[1:][same_id & ~same & ~earlier], False),
        ):
            for index in np.sort(places):
                self.problems.add(kind, jobs.place(int(index)))
            kept[places] &= not dropped
        for index in np.flatnonzero(kept & _stray(jobs)):
            self.problems.add("stray", jobs.place(int(index)))
            kept[index] = False
        return jobs.where(kept)

    def _name(self, kind: str, name: str) -> int:
        names = self._names[kind]
        return names.setdefault(name, len(names))


def _stray(jobs: Jobs) -> NDArray[np.bool_]:
    """Jobs more than a year away from nearly all others, as by a wrong date."""
    stray = np.zeros(len(jobs), dtype=bool)
    begin = np.fmin(jobs.number("submit"), jobs.number("start"))
    for times in (begin, jobs.number("end")):
        known = np.flatnonzero(~np.isnan(times))
        order = known[np.argsort(times[known], kind="stable")]
        pieces = np.split(order, np.flatnonzero(np.diff(times[order]) > _YEAR) + 1)
        most = max(pieces, key=len)
        if most.size > 1 and order.size - most.size <= max(1.0, _FEW * order.size):
            stray[np.setdiff1d(order, most)] = True
    return stray


def _wrong(job: JobRecord) -> str:
    """The kind of problem of a record, "" for none."""
    times = (job.submit, job.start, job.end)
    if any(time < 0.0 for time in times) or job.requested_time < 0.0:
        return "negative"
    if any(time > _LATEST for time in times) or math.inf in (
        job.requested_time,
        job.requested_memory,
        job.used_memory,
    ):
        return "range"
    sizes = (job.processors, job.nodes, job.gpus)
    if max(sizes) > _MOST_PROCESSORS or max(job.number, job.array) >= 2**62:
        return "range"
    if min(sizes) < -1:
        return "negative"
    if job.end < job.start:
        return "backwards"
    return "early" if job.start < job.submit else ""


def _hashed(key: str) -> int:
    """A number of 63 bits for a key: the same in every process."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") >> 1
