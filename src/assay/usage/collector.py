"""The collector of a log's jobs, which readers of accounts fill."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.arrays import Ints
from assay.errors import AssayError
from assay.usage.columns import ColumnTable, TableWriter, ranges
from assay.usage.dropped import parts_of, repeated, stray_jobs
from assay.usage.jobs import (
    LATEST,
    MOST_PROCESSORS,
    NAN,
    JobRecord,
    Jobs,
    MachineFacts,
    State,
)
from assay.usage.nodes import NodeCollector, node_name
from assay.usage.problems import NAMED, Problems

# Names of the fields of starts.
_STARTS = ("start", "starttime", "t_run")
# Number of characters of a value that are shown.
_SHOWN = 40
# Most digits of a key that represents itself: below 2**62.
_LONGEST_NUMBER = 18
# Columns and their types (``array``): the order in which ``JobCollector.add`` appends.
_COLUMNS = {
    "submit": "d", "start": "d", "end": "d", "processors": "i", "nodes": "i", "gpus": "i",
    "requested_time": "f", "requested_memory": "f", "used_memory": "f", "processor_time": "d",
    "energy": "f", "user": "i", "group": "i", "queue": "i", "cluster": "h", "state": "b",
    "array": "q", "number": "q", "key": "q", "file": "i", "line": "q", "hosts": "i",
    "hosts_at": "q", "suspended": "f", "lost": "b",
}  # fmt: skip
KINDS_OF_NAMES = ("user", "group", "queue", "cluster")
_MOST_CLUSTERS = 1000
# Ids of jobs are smaller than 2 to this number, nearly always.
_CLUSTER_SHIFT = 48
# Number of rows that are appended at once.
_BUFFER = 1 << 16


class JobCollector:
    """Takes the records of all files of a log and adds to ``machine`` and ``problems``.

    ``started``: records of jobs that began and have not ended yet, by key; they become running
    jobs at the end. Formats that write a record for each event use it across rotated files.
    ``watch`` is called from time to time. For the present file, ``unread`` is the first time that
    can't be read (column, text, line), ``records`` the number of jobs, and ``dated`` the number of
    jobs with a time.
    """

    def __init__(self) -> None:
        self.machine = MachineFacts()
        self.problems = Problems()
        self.started: dict[str, tuple[JobRecord, int, int]] = {}
        self.files: list[str] = []
        # Lines of jobs whose start can't be read, until these jobs are added.
        self._lost: set[int] = set()
        self.unread: tuple[str, str, int] | tuple[()] = ()
        self.records = self.dated = 0
        self.watch: Callable[[], None] | None = None
        self._columns: dict[str, array[Any]] = {}
        self._empty()
        self._table = TableWriter(_COLUMNS)
        self._nodes = NodeCollector()
        self._names: dict[str, dict[str, int]] = {kind: {} for kind in KINDS_OF_NAMES}

    def _empty(self) -> None:
        self._columns = {name: array(kind) for name, kind in _COLUMNS.items()}

    def begin(self, file: str) -> None:
        """The records that follow come from this file."""
        self.files.append(file)
        self.unread = ()
        self.records = self.dated = 0
        self._lost.clear()

    def problem(self, kind: str, line: int, value: str = "") -> None:
        """Add a problem in a line of the present file. ``value``: the wrong value."""
        self.problems.add(kind, (len(self.files) - 1, line), value)

    def unreadable(self, column: str, text: str, line: int, *, time: bool = False) -> None:
        """Add a value of the present file that can't be read. ``time``: whether it is a date."""
        found = f"{column} {shortened(text)}"
        self.problem("unreadable time" if time else "unreadable value", line, found)
        if time and column.lower().removeprefix("time.") in _STARTS:
            self._lost.add(line)
        if time and not self.unread:
            self.unread = (column, shortened(text), line)

    def add(self, job: JobRecord, line: int, file: int | None = None) -> None:
        """Add a record from a line of the present file. An impossible record becomes a problem."""
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
            self.name("cluster", job.cluster),
        )
        found = self._nodes.ranges(job.hosts, job.cluster) if job.hosts else ()
        hosts = len(found), self._nodes.add(found) if found else -1
        row = (
            job.submit, job.start, job.end, job.processors, job.nodes, job.gpus,
            job.requested_time, job.requested_memory, job.used_memory, job.processor_time,
            job.energy, *names,
            job.state, job.array, job.number, self._key(job, names[-1]), where, line, *hosts,
            job.suspended, lost,
        )  # fmt: skip
        for column, value in zip(self._columns.values(), row, strict=True):
            column.append(value)
        if len(self._columns["line"]) >= _BUFFER:
            self._flush()

    def add_rows(self, columns: Mapping[str, NDArray[np.generic]]) -> None:
        """Add valid records, by column as in ``Jobs``. Absent columns are unknown.

        ``key`` holds numbers from ``hashed``; names are numbers from ``name``.
        """
        self._flush()
        length = len(columns["key"])
        self.records += length
        self.dated += length
        cluster = self.name("cluster", "")
        unknown: dict[str, float] = {
            "d": np.nan, "f": np.nan, "b": State.UNKNOWN, "hosts": 0, "cluster": cluster,
        }  # fmt: skip
        keys = columns["key"].astype(np.int64) ^ (cluster << _CLUSTER_SHIFT)
        columns = {**columns, "key": keys}
        block = {
            name: columns[name]
            if name in columns
            else np.full(length, unknown.get(name, unknown.get(kind, -1)), dtype=kind)
            for name, kind in _COLUMNS.items()
        }
        self._table.append(block)

    @staticmethod
    def _key(job: JobRecord, cluster: int) -> int:
        """The number of a record's key; clusters count their jobs independently."""
        return hashed(job.key) ^ cluster << _CLUSTER_SHIFT

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
        """All jobs. Jobs that began and did not end are running; identical records count once."""
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
        names = {kind: list(self._names[kind]) for kind in KINDS_OF_NAMES}
        nodes = self._nodes.lists()
        if self._nodes.several:
            self.machine.outages = [
                replace(each, node=node_name(each.cluster, each.node))
                for each in self.machine.outages
            ]
        jobs = Jobs(
            columns=table.columns,
            users=names["user"],
            groups=names["group"],
            queues=names["queue"],
            clusters=names["cluster"],
            files=self.files,
            nodes=nodes if len(nodes.table) else None,
            maps=table.maps,
        )
        return self._once(jobs)

    def _running(self, table: ColumnTable) -> list[tuple[JobRecord, int, int]]:
        """Records of jobs that began and have no record of their end."""
        begun = {
            (self._key(each[0], self.name("cluster", each[0].cluster)), each[0].start): each
            for each in self.started.values()
        }
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
        """The jobs without repeated, superseded and stray records, which become problems."""
        kept = np.ones(len(jobs), dtype=bool)
        found = [repeated(jobs, part, parts_of(jobs)) for part in range(parts_of(jobs))]
        for kind, dropped in (("duplicate", True), ("superseded", True), ("reused", False)):
            places = np.sort(np.concatenate([each[kind] for each in found]))
            self._name_all(kind, places, jobs)
            kept[places] &= not dropped
        stray = np.flatnonzero(kept & stray_jobs(jobs))
        self._name_all("stray", stray, jobs)
        kept[stray] = False
        return jobs if kept.all() else jobs.where(kept)

    def _name_all(self, kind: str, places: Ints, jobs: Jobs) -> None:
        first = [jobs.place(int(index)) for index in places[:NAMED]]
        self.problems.add_many(kind, int(places.size), first)

    def node_count(self, text: str) -> int:
        """Number of nodes of a list in bracket notation; 0 for other text."""
        return sum(last - first + 1 for first, last in self._nodes.ranges(text))

    def name(self, kind: str, name: str) -> int:
        """The number that represents a name. ``kind``: what it is a name of (``KINDS_OF_NAMES``).
        Raises AssayError for too many clusters."""
        names = self._names[kind]
        if kind == "cluster" and name not in names and len(names) >= _MOST_CLUSTERS:
            raise AssayError(
                f"The log names more than {_MOST_CLUSTERS:,} clusters.",
                where=self.files[-1],
                fix="Check the column Cluster; leave it out if it doesn't name clusters.",
            )
        return names.setdefault(name, len(names))


def _wrong(job: JobRecord) -> str:
    """The kind of problem of a record; "" if there is none."""
    times = (job.submit, job.start, job.end)
    if any(time < 0.0 for time in times) or job.requested_time < 0.0:
        return "negative"
    if any(time > LATEST for time in times) or math.inf in (
        job.requested_time,
        job.requested_memory,
        job.used_memory,
        job.processor_time,
        job.energy,
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
    """A text in quotes, shortened if it is long, without control characters for a terminal."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in text[:_SHOWN])
    return f"'{clean}{'…' if len(text) > _SHOWN else ''}'"


def hashed(key: str) -> int:
    """A 63-bit number for a key, the same in every process. A number represents itself."""
    if len(key) <= _LONGEST_NUMBER and key.isascii() and key.isdigit() and key[0] != "0":
        return int(key)
    digest = blake2b(key.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2 | 1 << 62
