"""The jobs of a run: ``jobs.jsonl``, and in ``jobs/`` their scripts, what they printed, their ends.

Several write here: who submits, who follows, and the job itself, on machines that may see each
other's writing late. So each job's end is a file of its own that appears whole, and lines are
appended under a lock, by which NFS clients see the file as it is.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from assay.decoding import UNREADABLE
from assay.errors import AssayError
from assay.records.files import append_line, hold, write_atomically

JOBS = "jobs.jsonl"
FOLDER = "jobs"

# How a job's part of a run ended: everything is measured; its session is, and others are to come;
# its time was over; it was asked to end, or so shortly before its end that this may have been its
# scheduler's warning; something is missing that this job could not do; it could not go on; another
# one was at the run.
How = Literal["complete", "session", "time", "asked", "warned", "incomplete", "failed", "refused"]


class JobAccounting(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a scheduler's accounting says of a job that has ended. What it doesn't tell is null.

    ``source``: the command that was asked. ``state``: in the scheduler's own word. ``elapsed``:
    seconds that the job ran, by its scheduler's count, from which some leave out the time that it
    was ``suspended``. ``cpu``: seconds of CPU time of all its processes on all nodes, as far as the
    scheduler sees them; ``user`` and ``system`` are its parts. ``hosts``: where it ran, as in
    "n[1-4]".
    """

    source: str
    state: str = ""
    elapsed: float | None = None
    suspended: float | None = None
    cpu: float | None = None
    user: float | None = None
    system: float | None = None
    hosts: str | None = None


class JobEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of ``jobs.jsonl``: a job was submitted, seen to start, seen to end, accounted for.

    ``number``: the how-many-th of the run, from 1. ``job``: the scheduler's id, empty where it
    gave none in time. ``name``: by which the scheduler knows it. ``members``: of a group, those
    that its tasks measure, in the order of the tasks. ``state``: of the end, as the job itself
    (``How``) or the scheduler says. ``host``: where it was seen to start. ``begin``: before which
    it is not to start. ``accounting``: of the scheduler's, asked for once. Times in seconds.
    """

    event: Literal["submitted", "started", "ended", "accounted"]
    number: int
    utc: float
    job: str = ""
    name: str = ""
    nodes: int | None = None
    walltime: float | None = None
    members: list[int] | None = None
    host: str | None = None
    state: str | None = None
    reason: str = ""
    begin: float | None = None
    accounting: JobAccounting | None = None


class JobEnd(msgspec.Struct, frozen=True):
    """``jobs/NUMBER.end.json``: how a job ended, by its own account.

    ``made``: measurements that it added. ``missing``: cells that have no number yet, by id; null
    where there is no plan. ``next``: the job that goes on, which this one has submitted.
    ``where``, ``fix`` (stored as ``mend``), ``detail``: of the error.
    """

    number: int
    utc: float
    how: How
    made: int = 0
    missing: list[str] | None = None
    next: int | None = None
    error: str | None = None
    where: str = ""
    fix: str = msgspec.field(default="", name="mend")
    detail: str = ""

    def problem(self) -> AssayError | None:
        """What kept it from going on, as it would have been said at the terminal."""
        if self.error is None:
            return None
        return AssayError(self.error, where=self.where, fix=self.fix, detail=self.detail)


@dataclass
class JobHistory:
    """What is known of one job: its lines put together."""

    number: int
    submitted: JobEvent | None = None
    started: JobEvent | None = None
    ended: JobEvent | None = None
    accounted: JobEvent | None = None
    events: list[JobEvent] = field(default_factory=list)

    @property
    def job(self) -> str:
        """The scheduler's id; empty if it isn't known."""
        return next((event.job for event in self.events if event.job), "")

    @property
    def name(self) -> str:
        """The name in the scheduler."""
        return next((event.name for event in self.events if event.name), "")

    @property
    def members(self) -> list[int]:
        """Of a group: those that its tasks measure."""
        return next((event.members for event in self.events if event.members), [])


class JobBook:
    """The jobs of one run or group, on disk."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.folder = run / FOLDER

    def events(self) -> list[JobEvent]:
        """All lines that are whole, in the order written."""
        try:
            lines = (self.run / JOBS).read_bytes().split(b"\n")
        except OSError:
            return []
        events = []
        for line in lines:
            with contextlib.suppress(*UNREADABLE):
                events.append(msgspec.json.decode(line, type=JobEvent))
        return events

    def jobs(self) -> list[JobHistory]:
        """The jobs by number."""
        found: dict[int, JobHistory] = {}
        for event in self.events():
            story = found.setdefault(event.number, JobHistory(event.number))
            story.events.append(event)
            if getattr(story, event.event) is None:
                setattr(story, event.event, event)
        return [found[number] for number in sorted(found)]

    def job(self, number: int) -> JobHistory:
        """One job, known or not."""
        return next((s for s in self.jobs() if s.number == number), JobHistory(number))

    def append(self, event: JobEvent) -> None:
        """Add a line, once for each event of a job. Raises AssayError where it can't be written."""
        with hold(self.run / ".jobs.lock", patience=10.0):
            if event.event == "submitted" or getattr(self.job(event.number), event.event) is None:
                append_line(self.run / JOBS, msgspec.json.encode(event))

    @contextlib.contextmanager
    def submitting(self) -> Iterator[None]:
        """Hold the right to submit a job for this run: deciding and submitting are one step."""
        with hold(self.run / ".submit.lock", patience=30.0):
            yield

    def end(self, number: int, task: int | None = None) -> JobEnd | None:
        """How a job, or one task of its array, ended by its own account; None if it didn't say."""
        try:
            content = self._end_path(number, task).read_bytes()
            return msgspec.json.decode(content, type=JobEnd)
        except (OSError, *UNREADABLE):
            return None

    def write_end(self, end: JobEnd, task: int | None = None) -> None:
        """File a job's end. Raises AssayError where it can't be written."""
        content = msgspec.json.format(msgspec.json.encode(end)) + b"\n"
        write_atomically(self._end_path(end.number, task), content)

    def ended(self, number: int, state: str, reason: str = "") -> None:
        """A job was seen to end."""
        self.append(
            JobEvent("ended", number, time.time(), self.job(number).job, state=state, reason=reason)
        )

    def account(self, number: int, accounting: JobAccounting) -> None:
        """A scheduler's accounting of a job has arrived."""
        self.append(
            JobEvent("accounted", number, time.time(), self.job(number).job, accounting=accounting)
        )

    def _end_path(self, number: int, task: int | None) -> Path:
        part = "" if task is None else f"-{task}"
        return self.folder / f"{number:04d}{part}.end.json"
