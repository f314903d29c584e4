"""The Standard Workload Format, version 2.2 (Chapin et al., 1999; Parallel Workloads Archive).

Header comments, then 18 numbers per job: job, submission, wait, run time, processors, mean CPU
time, used memory (KiB per processor), requested processors, time and memory, status, user, group,
executable, queue, partition, preceding job, think time. -1 is unknown. Some sites append fields of
their own, which are not read.
"""

from __future__ import annotations

import math
import re

import numpy as np

from assay.arrays import Floats
from assay.usage.accounts.model import AccountFormat, Log
from assay.usage.collector import JobCollector
from assay.usage.jobs import NAN, JobRecord, State
from assay.usage.swf_blocks import FIELDS, PlainRows, job_columns, odd_rows, plain_rows

_HEADER = re.compile(r";\s*(\w+):\s*(.*)")
# States of jobs that ran, even if the log lacks their run time.
_RAN = (0, 1)
_STATES = {0: State.FAILED, 1: State.COMPLETED, 5: State.CANCELLED}
# Partial executions of a checkpointed job. The whole job has its own line.
_PARTIAL = (2, 3, 4)
# A first submission as late as this (1985, in s since 1970) is a Unix time: no log covers 15 years.
_UNIX_TIME = 5e8
# Machines have few partitions. A log with as many as this, or with jobs of one processor in as many
# queues, has the jobs that a grid's broker sent to many sites.
_MANY_PARTITIONS, _MANY_QUEUES = 20, 50
# Number of lines of a block that are read one by one. With more such lines, the whole block is read
# line by line.
_MOST_ODD = 200


def takes(head: str) -> bool:
    """Whether the text is comments of a header, or a line of a job."""
    lines = head.splitlines()
    if head.lstrip()[:1] != ";":
        return bool(lines) and _width(lines[0]) > 0
    for line in lines:
        if _HEADER.match(line.lstrip()):
            return True
        if line.strip() and not line.lstrip().startswith(";"):
            return _width(line) > 0
    return True


def read(log: Log, out: JobCollector) -> None:
    """All jobs. If the wait is absent, the job starts when it was submitted, and its wait is
    unknown."""
    reader = _Reader(log, out)
    for first, text in log.blocks():
        rows = plain_rows(text, reader.width)
        if (rows is None or not reader.block(first, rows, text)) and not reader.lines(first, text):
            break
    # Without MaxProcs each node counts as one processor, as in the archive's older logs.
    machine = out.machine
    machine.processors = machine.processors or machine.nodes
    machine.timeouts = False
    machine.calendar = machine.calendar and reader.dated
    machine.sites = max(machine.sites, reader.sites())
    machine.unread_fields += [name for name in reader.more() if name not in machine.unread_fields]


class _Reader:
    """Reads lines and blocks of one file. ``dated``: whether its header says when it begins.
    ``width``: the number of fields of its first job."""

    def __init__(self, log: Log, out: JobCollector) -> None:
        self.dated = False
        self.width = FIELDS
        self._known = False
        self._partitions: set[float] = set()
        self._queues: set[float] = set()
        self._largest = 0.0
        # Comments that may name the fields, by their number of words.
        self._heads: dict[int, list[str]] = {}
        self._origin = 0.0
        self._log = log
        self._out = out

    def lines(self, first: int, text: str) -> bool:
        """Read the lines of a block one by one. Returns False if another format begins at one of
        them."""
        for line, each in self._log.lines_of(first, text):
            if self.line(line, each):
                continue
            if self._log.may_begin(each):
                parts = text.split("\n", line - first + 1)
                rest = parts[-1] if len(parts) == line - first + 2 else ""
                if self._log.hands_over(line, each, rest):
                    return False
            self._out.problem("malformed" if _of_numbers(each) else "other text", line)
        return True

    def line(self, line: int, text: str) -> bool:
        """Read a comment, a job, or a job that is a problem. Returns False for other text."""
        if text.lstrip().startswith(";"):
            self._comment(text.strip())
        elif text.strip():
            if not self._known and (width := _width(text)):
                self.width, self._known = width, True
                self._begin(float(_words(text)[1]))
            numbers = numbers_of(text, self.width)
            if numbers is None:
                return False
            if len(numbers) != FIELDS:
                self._out.problem("malformed", line, f"{len(numbers)} numbers")
            elif numbers[0] != int(numbers[0]):
                self._out.problem("malformed", line)
            else:
                self._sees(np.array([numbers]))
                _job(numbers, self._origin, line, self._out)
        return True

    def block(self, first: int, rows: PlainRows, text: str) -> bool:
        """Read lines of numbers. Returns False if too many of them must be read one by one."""
        if not self._known and len(rows.values):
            self._known = True
            self._begin(float(rows.values[0, 1]))
        odd = np.flatnonzero(odd_rows(rows.values, self._origin))
        if odd.size > _MOST_ODD:
            return False
        lines = text.split("\n") if odd.size else []
        low = 0
        for row in (*odd.tolist(), len(rows.values)):
            if row > low:
                part = rows.values[low:row], rows.lines[low:row] + first
                self._sees(part[0])
                self._out.add_rows(job_columns(*part, self._origin, self._out))
            if row < len(rows.values):
                line = int(rows.lines[row])
                self.line(line + first, lines[line].rstrip("\r"))
            low = row + 1
        return True

    def _comment(self, text: str) -> None:
        words = _words(text.lstrip("; \t"))
        self._heads[len(words)] = words
        header = _HEADER.match(text)
        if header is None:
            return
        machine = self._out.machine
        name, value = header[1], header[2].strip()
        if name == "UnixStartTime" and value.isdigit() and len(value) <= 10:
            self._origin, self.dated = float(value), int(value) > 0
        elif name in ("MaxProcs", "MaxNodes") and value.isdigit() and len(value) <= 9:
            field = "processors" if name == "MaxProcs" else "nodes"
            setattr(machine, field, max(getattr(machine, field), int(value)))
        elif name == "MaxRecords" and value.isdigit() and len(value) <= 18:
            machine.records += int(value)
        elif name == "TimeZoneString":
            machine.zone = value

    def _begin(self, submitted: float) -> None:
        """Decide what times count from, by the first submission."""
        if submitted >= _UNIX_TIME:
            self._origin, self.dated = 0.0, True
            self._out.machine.unix_times = True

    def _sees(self, values: Floats) -> None:
        """Note the places at which jobs, shape (jobs, ``FIELDS``), ran."""
        self._largest = max(self._largest, float(values[:, [4, 7]].max()))
        for seen, most, column in (
            (self._partitions, _MANY_PARTITIONS, 15),
            (self._queues, _MANY_QUEUES, 14),
        ):
            if len(seen) < 1000 * most:
                seen.update(np.unique(values[:, column]).tolist())
                seen.discard(-1.0)

    def sites(self) -> int:
        """Number of sites of a grid; 0 for the log of one machine."""
        if len(self._partitions) >= _MANY_PARTITIONS:
            return len(self._partitions)
        serial = self._largest <= 1.0 and len(self._queues) >= _MANY_QUEUES
        return len(self._queues) if serial else 0

    def more(self) -> list[str]:
        """The fields beyond the format's: as a comment names them, otherwise by their numbers."""
        named = self._heads.get(self.width)
        numbers = [f"field {number}" for number in range(FIELDS + 1, self.width + 1)]
        return named[FIELDS:] if named else numbers


def _words(text: str) -> list[str]:
    words = text.split()
    return text.replace(";", ",").split(",") if len(words) == 1 else words


def _width(text: str) -> int:
    """The number of fields of a line that may be a job; 0 for another line.

    If there are more fields than in the format, the format's own ones must have possible values.
    """
    width = len(_words(text))
    numbers = numbers_of(text, width) or []
    if len(numbers) != FIELDS:
        return 0
    possible = min(numbers) >= -1 and numbers[10] in (-1, *_RAN, *_PARTIAL, *_STATES)
    return width if width == FIELDS or possible else 0


def numbers_of(text: str, width: int = FIELDS) -> list[float] | None:
    """The numbers of a line, between blanks, commas or semicolons; None if it has other words or no
    numbers.

    ``width``: the number of fields of a job's line, of which the format's are returned.
    """
    words = _words(text)
    if len(words) == width > FIELDS:
        words = words[:FIELDS]
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return None
    return numbers if numbers and all(map(math.isfinite, numbers)) else None


def _of_numbers(text: str) -> bool:
    """Whether a line begins like a job. It is then a damaged job, not other text."""
    words = text.split()
    return (len(words) > 1 and any(map(str.isdigit, words[0]))) or len(words) >= FIELDS


def _job(numbers: list[float], origin: float, line: int, out: JobCollector) -> None:
    job, submitted, wait, run, processors = numbers[:5]
    mean, used, asked_processors, asked_time, asked_memory, status = numbers[5:11]
    user, group, queue = numbers[11], numbers[12], numbers[14]
    if int(status) in _PARTIAL:
        out.problem("partial", line)
        return
    if submitted < 0 or any(value < 0 and value != -1 for value in (wait, run, processors)):
        out.problem("negative", line)
        return
    if max(map(abs, numbers)) >= 2**62:
        out.problem("range", line)
        return
    size = int(processors) if processors > 0 else int(asked_processors)
    submit = start = origin + submitted
    if wait < 0:
        submit = NAN
    else:
        start = submit + wait
    ran = run >= 0 and not (status == 5 and run == 0)
    memory = 1024.0 * max(size, 1)
    out.add(
        JobRecord(
            # Jobs without a number are distinguished by their lines.
            key=str(int(job)) if job >= 0 else f"line {len(out.files)}:{line}",
            number=int(job) if job >= 0 else -1,
            submit=submit,
            start=start if ran or (status in _RAN and wait >= 0) else NAN,
            end=start + run if ran else NAN,
            processors=size if size > 0 else -1,
            requested_time=asked_time if asked_time > 0 else NAN,
            requested_memory=asked_memory * memory if asked_memory > 0 else NAN,
            used_memory=used * memory if used > 0 else NAN,
            processor_time=abs(mean) * max(size, 1) if mean >= 0 else NAN,
            user=_name(user),
            group=_name(group),
            queue=_name(queue),
            state=_STATES.get(int(status), State.UNKNOWN),
        ),
        line,
    )


def _name(number: float) -> str:
    return str(int(number)) if number >= 0 else ""


FORMAT = AccountFormat(
    "Standard Workload Format", takes, read, memory="KiB per processor, as the format defines"
)
