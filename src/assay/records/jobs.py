"""The jobs of a run: ``jobs.jsonl``, and in ``jobs/`` their scripts, output and end records.

The submitting program, programs that follow the job and the job itself write here, on hosts that
may see each other's changes late. Therefore each job's end is a separate file, written atomically,
and lines are appended under a lock, which makes NFS clients see the current file.
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
from assay.plain_files import plain_folder, read_plain
from assay.records.files import append_line, hold, write_atomically

JOBS = "jobs.jsonl"
FOLDER = "jobs"

# How a job ended. complete: everything is measured; session: its session is measured and others
# follow; time: its time was up; asked: it got a signal to end; warned: it got this signal shortly
# before the walltime, so that the signal may be the scheduler's warning; incomplete: it could not
# measure some cells; failed: an error; refused: another process was working on the run.
How = Literal["complete", "session", "time", "asked", "warned", "incomplete", "failed", "refused"]


class JobAccounting(msgspec.Struct, frozen=True, omit_defaults=True):
    """A scheduler's accounting of an ended job; values that it doesn't report are null."""

    #: The command that reported it.
    source: str
    #: The scheduler's name of the state.
    state: str = ""
    #: Seconds that the job ran; some schedulers exclude ``suspended`` time.
    elapsed: float | None = None
    suspended: float | None = None
    #: CPU seconds of all processes on all nodes that the scheduler observes; ``user`` and
    #: ``system`` are parts of it.
    cpu: float | None = None
    user: float | None = None
    system: float | None = None
    #: Hosts where it ran, such as "n[1-4]".
    hosts: str | None = None


class JobEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of ``jobs.jsonl``: a job was submitted, started, ended, was accounted for, or was
    requeued by the scheduler. After a requeue, its earlier start and end don't count.
    """

    event: Literal["submitted", "started", "ended", "accounted", "requeued"]
    #: Number of the job among the run's jobs, from 1.
    number: int
    utc: float
    #: The scheduler's id, empty if none was returned in time.
    job: str = ""
    #: The job's name in the scheduler.
    name: str = ""
    nodes: int | None = None
    walltime: float | None = None
    #: For a group, the members that the job's tasks measure, in the order of the tasks.
    members: list[int] | None = None
    #: The host where it started.
    host: str | None = None
    #: Processor model of that host. ``identity`` is a digest of the processor; hosts with equal
    #: digests can share a build.
    processor: str | None = None
    identity: str | None = None
    #: How the job ended, as the job itself (``How``) or the scheduler reports it.
    state: str | None = None
    reason: str = ""
    #: Earliest time at which it may start.
    begin: float | None = None
    #: Accounting, which is queried from the scheduler once. Times are in seconds.
    accounting: JobAccounting | None = None


class JobEnd(msgspec.Struct, frozen=True):
    """``jobs/NUMBER.end.json``: how a job ended, written by the job."""

    number: int
    utc: float
    how: How
    #: Number of measurements that it added.
    made: int = 0
    #: Ids of the cells without a result; null if there is no plan.
    missing: list[str] | None = None
    #: The continuing job, which this job submitted. ``where``, ``fix`` (stored as ``mend``) and
    #: ``detail`` belong to the error.
    next: int | None = None
    error: str | None = None
    where: str = ""
    fix: str = msgspec.field(default="", name="mend")
    detail: str = ""
    #: ``host``, ``processor``, ``identity``: as in the event of a start; for tasks of an array,
    #: which have no such event.
    host: str = ""
    processor: str = ""
    identity: str = ""
    #: For a job that ended during the compilation of the kernels, the compiled share; ``objects``
    #: are the files that it added.
    compiled: float | None = None
    objects: int = 0

    @property
    def progress(self) -> bool:
        """Whether it advanced the run, so that another job will also advance it."""
        return self.made > 0 or self.objects > 0

    def problem(self) -> AssayError | None:
        """The error that ended the job; None if there was none."""
        if self.error is None:
            return None
        return AssayError(self.error, where=self.where, fix=self.fix, detail=self.detail)


class TaskEnd(msgspec.Struct, frozen=True):
    """A line of ``jobs/NUMBER.ends.jsonl``: how one task of an array ended."""

    task: int
    end: JobEnd


@dataclass
class JobHistory:
    """All events of one job."""

    number: int
    submitted: JobEvent | None = None
    started: JobEvent | None = None
    ended: JobEvent | None = None
    accounted: JobEvent | None = None
    events: list[JobEvent] = field(default_factory=list)

    @property
    def job(self) -> str:
        """The scheduler's id; empty if unknown."""
        return next((event.job for event in self.events if event.job), "")

    @property
    def name(self) -> str:
        """The name in the scheduler."""
        return next((event.name for event in self.events if event.name), "")

    @property
    def members(self) -> list[int]:
        """For a group: the members that its tasks measure."""
        return next((event.members for event in self.events if event.members), [])


class JobBook:
    """The jobs of one run or group, on disk."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.folder = run / FOLDER

    def events(self) -> list[JobEvent]:
        """All complete lines, in the order written."""
        try:
            lines = read_plain(self.run / JOBS).split(b"\n")
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
            job = found.setdefault(event.number, JobHistory(event.number))
            job.events.append(event)
            if event.event == "requeued":
                job.started = job.ended = None
            elif getattr(job, event.event) is None:
                setattr(job, event.event, event)
        return [found[number] for number in sorted(found)]

    def job(self, number: int) -> JobHistory:
        """The history of one job; empty if nothing is recorded."""
        return next((job for job in self.jobs() if job.number == number), JobHistory(number))

    def append(self, event: JobEvent) -> None:
        """Add a line, for events other than "submitted" once per job. Raises AssayError."""
        with hold(self.run / ".jobs.lock", patience=10.0):
            if event.event == "submitted" or getattr(self.job(event.number), event.event) is None:
                append_line(self.run / JOBS, msgspec.json.encode(event))

    @contextlib.contextmanager
    def submitting(self) -> Iterator[None]:
        """Hold the lock for submitting a job for this run, so that only one program submits."""
        with hold(self.run / ".submit.lock", patience=30.0):
            yield

    def end(self, number: int, task: int | None = None) -> JobEnd | None:
        """The end record of a job, or of one task of its array; None if there is none."""
        if task is not None and (found := self.task_ends(number).get(task)) is not None:
            return found
        try:
            content = self._read(self._end_path(number, task))
            return msgspec.json.decode(content, type=JobEnd)
        except (OSError, *UNREADABLE):
            return None

    def ends_path(self, number: int) -> Path:
        """The file with the end records of all tasks of a job; there may be thousands."""
        return self.folder / f"{number:04d}.ends.jsonl"

    def output_path(self, number: int, task: int) -> Path:
        """The output file of a task of a job."""
        return self.folder / f"{number:04d}-{task}.out"

    def task_ends(self, number: int) -> dict[int, JobEnd]:
        """The last end record of each of a job's tasks, by task."""
        try:
            return read_task_ends(self._read(self.ends_path(number)))
        except OSError:
            return {}

    def _read(self, path: Path) -> bytes:
        plain_folder(self.folder)
        return read_plain(path)

    def write_end(self, end: JobEnd, task: int | None = None) -> None:
        """Write a job's end record. Raises AssayError if it can't be written."""
        if task is not None:
            # Thousands of tasks may end in the same second.
            with hold(self.folder / ".ends.lock", patience=120.0):
                append_line(self.ends_path(end.number), msgspec.json.encode(TaskEnd(task, end)))
            return
        content = msgspec.json.format(msgspec.json.encode(end)) + b"\n"
        write_atomically(self._end_path(end.number, task), content)

    def ended(self, number: int, state: str, reason: str = "") -> None:
        """Record that a job has ended."""
        self.append(
            JobEvent("ended", number, time.time(), self.job(number).job, state=state, reason=reason)
        )

    def requeued(self, number: int) -> None:
        """Record that a job will start again, or has: its earlier start and end don't count.

        Raises AssayError if it can't be recorded.
        """
        with hold(self.run / ".jobs.lock", patience=10.0):
            story = self.job(number)
            if story.started is not None or story.ended is not None:
                event = JobEvent("requeued", number, time.time(), story.job)
                append_line(self.run / JOBS, msgspec.json.encode(event))
            with contextlib.suppress(OSError):
                self._end_path(number, None).unlink()

    def account(self, number: int, accounting: JobAccounting) -> None:
        """Record a scheduler's accounting of a job."""
        self.append(
            JobEvent("accounted", number, time.time(), self.job(number).job, accounting=accounting)
        )

    def _end_path(self, number: int, task: int | None) -> Path:
        part = "" if task is None else f"-{task}"
        return self.folder / f"{number:04d}{part}.end.json"


def read_task_ends(content: bytes) -> dict[int, JobEnd]:
    """The last end record of each task in the complete lines of a file of ends."""
    found = {}
    for line in content.split(b"\n"):
        with contextlib.suppress(*UNREADABLE):
            each = msgspec.json.decode(line, type=TaskEnd)
            found[each.task] = each.end
    return found
