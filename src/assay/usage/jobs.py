"""Jobs of a log as columns, and the collector that readers of accounts fill.

A job takes about 115 bytes, whatever the format; texts of records are not kept. The columns of a
long log are in temporary files (``columns``).
"""

from __future__ import annotations

import enum
import math
import mmap
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.usage.columns import ColumnTable, TableWriter, ranges
from assay.usage.nodes import NodeCollector, NodeLists
from assay.usage.problems import NAMED, Problems

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NAN = math.nan
# Latest Unix time that is accepted (the year 2120), and the greatest size of a job.
LATEST = 4.74e9
MOST_PROCESSORS = 2**31 - 1
# Records further than this (s) from all others are wrong if they are at most this share of the
# jobs, or a single one.
_DAY, _YEAR, _FEW = 86400.0, 366 * 86400.0, 0.01
# What the fields of starts are called.
_STARTS = ("start", "starttime", "t_run")
# Characters of a value that are shown.
_SHOWN = 40
# Digits of a key that stands for itself: below 2**62.
_LONGEST_NUMBER = 18


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
    number of the job array that it belongs to. ``hosts``: its nodes in bracket notation.
    ``suspended``: time in s between start and end in which it did not use its processors.
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
    hosts: str = ""
    suspended: float = NAN


@dataclass(frozen=True)
class Outage:
    """A node that was down. ``start``, ``end``: Unix time in s, ``end`` infinite if open.
    ``processors``: -1 where unknown.
    """

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
    and ``sizes`` (Unix time, processors from then on) come from node events, as do ``node_counts``
    (Unix time, nodes from then on) where processors are unknown. ``records``: the number of records
    that the log's header states, 0 where it doesn't.
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


# Columns and their types (``array``): the order in which ``JobCollector.add`` appends.
_COLUMNS = {
    "submit": "d", "start": "d", "end": "d", "processors": "i", "nodes": "i", "gpus": "i",
    "requested_time": "f", "requested_memory": "f", "used_memory": "f", "user": "i", "group": "i",
    "queue": "i", "state": "b", "array": "q", "number": "q", "key": "q", "file": "i", "line": "q",
    "hosts": "i", "hosts_at": "q", "suspended": "f", "lost": "b",
}  # fmt: skip
# Rows that are appended at once, and that are sorted at a time.
_BUFFER, _SORTED = 1 << 16, 1 << 22


class JobCollector:
    """Takes the records of all files of a log; ``machine`` and ``problems`` grow with them.

    ``started``: records of jobs that began and have not ended yet, by key; they become running
    jobs at the end. Formats that write a record for each event use it across rotated files.
    ``watch`` is called from time to time. Of the present file: ``unread`` is the first time that
    can't be read (column, text, line), ``records`` the number of jobs, ``dated`` of those with a
    time.
    """

    def __init__(self) -> None:
        self.machine = MachineFacts()
        self.problems = Problems()
        self.started: dict[str, tuple[JobRecord, int, int]] = {}
        self.files: list[str] = []
        # Lines of jobs whose start can't be read, until these are added.
        self._lost: set[int] = set()
        self.unread: tuple[str, str, int] | tuple[()] = ()
        self.records = self.dated = 0
        self.watch: Callable[[], None] | None = None
        self._columns: dict[str, array[Any]] = {}
        self._empty()
        self._table = TableWriter(_COLUMNS)
        self._nodes = NodeCollector()
        self._names: dict[str, dict[str, int]] = {"user": {}, "group": {}, "queue": {}}

    def _empty(self) -> None:
        self._columns = {name: array(kind) for name, kind in _COLUMNS.items()}

    def begin(self, file: str) -> None:
        """Records from now on are of this file."""
        self.files.append(file)
        self.unread = ()
        self.records = self.dated = 0
        self._lost.clear()

    def problem(self, kind: str, line: int, value: str = "") -> None:
        """A problem in a line of the present file. ``value``: what is wrong there."""
        self.problems.add(kind, (len(self.files) - 1, line), value)

    def unreadable(self, column: str, text: str, line: int, *, time: bool = False) -> None:
        """A value of the present file that can't be read; ``time``: of a date."""
        found = f"{column} {shortened(text)}"
        self.problem("unreadable time" if time else "unreadable value", line, found)
        if time and column.lower().removeprefix("time.") in _STARTS:
            self._lost.add(line)
        if time and not self.unread:
            self.unread = (column, shortened(text), line)

    def add(self, job: JobRecord, line: int, file: int | None = None) -> None:
        """A record from a line of the present file; an impossible one becomes a problem."""
        wrong = _wrong(job)
        where = len(self.files) - 1 if file is None else file
        if wrong:
            self.problems.add(wrong, (where, line))
            if wrong != "early":
                return
            job.submit = NAN
        self.records += 1
        lost = line in self._lost
        self._lost.discard(line)
        # A number equals itself, NaN doesn't.
        if job.start == job.start or job.end == job.end or job.submit == job.submit:
            self.dated += 1
        names = (
            self.name("user", job.user),
            self.name("group", job.group),
            self.name("queue", job.queue),
        )
        found = self._nodes.ranges(job.hosts) if job.hosts else ()
        hosts = len(found), self._nodes.add(found) if found else -1
        row = (
            job.submit, job.start, job.end, job.processors, job.nodes, job.gpus,
            job.requested_time, job.requested_memory, job.used_memory, *names,
            job.state, job.array, job.number, hashed(job.key), where, line, *hosts,
            job.suspended, lost,
        )  # fmt: skip
        for column, value in zip(self._columns.values(), row, strict=True):
            column.append(value)
        if len(self._columns["line"]) >= _BUFFER:
            self._flush()

    def add_rows(self, columns: Mapping[str, NDArray[np.generic]]) -> None:
        """Records that are right, by column as in ``Jobs``; those not named are unknown.

        ``key`` is a number as of ``hashed``; names are numbers as of ``name``.
        """
        self._flush()
        length = len(columns["key"])
        self.records += length
        self.dated += length
        unknown = {"d": np.nan, "f": np.nan, "b": State.UNKNOWN, "hosts": 0}
        block = {
            name: columns[name]
            if name in columns
            else np.full(length, unknown.get(name, unknown.get(kind, -1)), dtype=kind)
            for name, kind in _COLUMNS.items()
        }
        self._table.append(block)

    def _flush(self) -> None:
        if self.watch is not None:
            self.watch()
        if len(self._columns["line"]):
            self._table.append(
                {
                    name: np.frombuffer(values, dtype=values.typecode)
                    for name, values in self._columns.items()
                }
            )
            self._empty()

    def jobs(self) -> Jobs:
        """All jobs, those that began and did not end as running; identical records once."""
        self._flush()
        table = self._table.finish()
        running = self._running(table)
        if running:
            again = TableWriter(_COLUMNS)
            for rows in ranges(len(table)):
                again.append({name: each[rows] for name, each in table.columns.items()})
                table.release()
            self._table = again
            for job, file, line in running:
                self.add(job, line, file)
            self._flush()
            table = again.finish()
        users, groups, queues = (list(self._names[name]) for name in ("user", "group", "queue"))
        nodes = self._nodes.lists()
        jobs = Jobs(
            columns=table.columns,
            users=users,
            groups=groups,
            queues=queues,
            files=self.files,
            nodes=nodes if len(nodes.table) else None,
            maps=table.maps,
        )
        return self._once(jobs)

    def _running(self, table: ColumnTable) -> list[tuple[JobRecord, int, int]]:
        """Records of jobs that began, and of whose run no record tells the end."""
        begun = {(hashed(each[0].key), each[0].start): each for each in self.started.values()}
        self.started.clear()
        keys = np.array([key for key, _ in begun], dtype=np.int64)
        for rows in ranges(len(table)) if begun else ():
            mine = np.isin(table.columns["key"][rows], keys)
            pairs = (table.columns[name][rows][mine].tolist() for name in ("key", "start"))
            for pair in zip(*pairs, strict=True):
                begun.pop(pair, None)
            table.release()
        return list(begun.values())

    def _once(self, jobs: Jobs) -> Jobs:
        """Without repeated, superseded and stray records, which become problems."""
        kept = np.ones(len(jobs), dtype=bool)
        found = [_repeated(jobs, part, _parts(jobs)) for part in range(_parts(jobs))]
        for kind, dropped in (("duplicate", True), ("superseded", True), ("reused", False)):
            places = np.sort(np.concatenate([each[kind] for each in found]))
            self._name_all(kind, places, jobs)
            kept[places] &= not dropped
        stray = np.flatnonzero(kept & _stray(jobs))
        self._name_all("stray", stray, jobs)
        kept[stray] = False
        return jobs if kept.all() else jobs.where(kept)

    def _name_all(self, kind: str, places: Ints, jobs: Jobs) -> None:
        first = [jobs.place(int(index)) for index in places[:NAMED]]
        self.problems.add_many(kind, int(places.size), first)

    def node_count(self, text: str) -> int:
        """How many nodes a list in bracket notation has, 0 if it is none."""
        return sum(last - first + 1 for first, last in self._nodes.ranges(text))

    def name(self, kind: str, name: str) -> int:
        """The number of a user, group or queue; ``kind``: which of these."""
        names = self._names[kind]
        return names.setdefault(name, len(names))


def _parts(jobs: Jobs) -> int:
    return max(-(-len(jobs) // _SORTED), 1)


def _repeated(jobs: Jobs, part: int, parts: int) -> dict[str, Ints]:
    """Rows of records whose key another one has, by kind of problem; of the keys ≡ ``part``."""
    rows_found, keys_found = [], []
    for rows, each in jobs.chunks():
        keys = each.code("key")
        mine = np.flatnonzero(keys % parts == part)
        rows_found.append(mine + rows.start)
        keys_found.append(keys[mine])
    index, keys = np.concatenate(rows_found), np.concatenate(keys_found)
    ordered = np.sort(keys)
    again = np.isin(keys, ordered[1:][ordered[1:] == ordered[:-1]])
    index, keys = index[again], keys[again]
    start, end, state = (jobs.columns[name][index] for name in ("start", "end", "state"))
    jobs.release()
    start, end = (np.nan_to_num(times.astype(np.float64), nan=-1.0) for times in (start, end))
    order = np.lexsort((index, end, start, keys))
    same_id = keys[order][1:] == keys[order][:-1]
    same = same_id & (start[order][1:] == start[order][:-1])
    same &= end[order][1:] == end[order][:-1]
    # A job that a log shows twice, first while it waits or runs: the earlier record is dropped.
    state = state.astype(np.int64)[order][:-1]
    earlier = (state == State.RUNNING) & (start[order][1:] == start[order][:-1])
    earlier = (earlier | (state == State.PENDING)) & same_id & ~same
    index = index[order]
    return {
        "duplicate": index[1:][same],
        "superseded": index[:-1][earlier],
        "reused": index[1:][same_id & ~same & ~earlier],
    }


def _stray(jobs: Jobs) -> NDArray[np.bool_]:
    """Jobs more than a year away from nearly all others, as by a wrong date."""
    days = int(LATEST // _DAY) + 2
    # Of each day: the number of times, the first and the last; of begins and of ends.
    counts = np.zeros((2, days), dtype=np.int64)
    first, last = np.full((2, days), np.inf), np.full((2, days), -np.inf)
    for _, each in jobs.chunks():
        for kind, times in enumerate(_begins_and_ends(each)):
            known = times[~np.isnan(times)]
            day = (known // _DAY).astype(np.int64)
            counts[kind] += np.bincount(day, minlength=days)
            np.minimum.at(first[kind], day, known)
            np.maximum.at(last[kind], day, known)
    limits = [_most(*each) for each in zip(counts, first, last, strict=True)]
    stray = np.zeros(len(jobs), dtype=bool)
    if any(limit is not None for limit in limits):
        for rows, each in jobs.chunks():
            for limit, times in zip(limits, _begins_and_ends(each), strict=True):
                if limit is not None:
                    stray[rows] |= (times < limit[0]) | (times > limit[1])
    return stray


def _begins_and_ends(jobs: Jobs) -> tuple[Floats, Floats]:
    return np.fmin(jobs.number("submit"), jobs.number("start")), jobs.number("end")


def _most(counts: Ints, first: Floats, last: Floats) -> tuple[float, float] | None:
    """The times between which nearly all are, where few others are more than a year away."""
    used = np.flatnonzero(counts)
    if not used.size:
        return None
    begins = np.flatnonzero(first[used][1:] - last[used][:-1] > _YEAR) + 1
    begins = np.concatenate(([0], begins))
    sizes = np.add.reduceat(counts[used], begins)
    piece = int(np.argmax(sizes))
    others = int(sizes.sum() - sizes[piece])
    if not others or sizes[piece] <= 1 or others > max(1.0, _FEW * float(sizes.sum())):
        return None
    ends = np.concatenate((begins[1:], [used.size])) - 1
    return float(first[used[begins[piece]]]), float(last[used[ends[piece]]])


def _wrong(job: JobRecord) -> str:
    """The kind of problem of a record, "" for none."""
    times = (job.submit, job.start, job.end)
    if any(time < 0.0 for time in times) or job.requested_time < 0.0:
        return "negative"
    if any(time > LATEST for time in times) or math.inf in (
        job.requested_time,
        job.requested_memory,
        job.used_memory,
    ):
        return "range"
    if job.suspended < 0.0:
        return "negative"
    sizes = (job.processors, job.nodes, job.gpus)
    if max(sizes) > MOST_PROCESSORS or max(job.number, job.array) >= 2**62:
        return "range"
    if min(sizes) < -1:
        return "negative"
    if job.end < job.start:
        return "backwards"
    return "early" if job.start < job.submit else ""


def shortened(text: str) -> str:
    """A text in quotes, the beginning of a long one, without what a terminal would obey."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in text[:_SHOWN])
    return f"'{clean}{'…' if len(text) > _SHOWN else ''}'"


def hashed(key: str) -> int:
    """A number of 63 bits for a key, the same in every process; for a number itself."""
    if len(key) <= _LONGEST_NUMBER and key.isascii() and key.isdigit() and key[0] != "0":
        return int(key)
    digest = blake2b(key.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2 | 1 << 62
