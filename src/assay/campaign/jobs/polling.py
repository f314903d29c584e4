"""Polls the scheduler for a job's state: rarely, through outages, and with the reason for a wait.

An outage of the scheduler never means the end of a job. An unreadable answer is first treated like
an outage, but not permanently, since the same query would get the same answer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.schedulers.model import (
    BatchScheduler,
    JobStatus,
    Prospect,
    SchedulerSilent,
    SchedulerUnreadable,
)
from assay.units import format_duration

if TYPE_CHECKING:
    from rich.console import Console

# Seconds between checks of the run's files, which may be in a shared file system.
LOOK = 1.0
# Seconds to the first poll of the scheduler, growth factor of the interval, and its maximum. The
# load stays low even if thousands of users of a site do the same.
FIRST_POLL, POLL_GROWTH, SLOWEST_POLL = 2.0, 1.5, 30.0
# Seconds to wait, after a job has ended, for its files to be visible here and for the scheduler to
# report how it ended.
LATE = 90.0
# Seconds during which unreadable answers are tolerated. A command may print half an answer while
# its server is restarted.
UNREADABLE = 120.0
# Reasons of jobs that wait for their turn. They alternate, so each is printed once per job.
_TURN = re.compile(
    r"|none|priority|resources|begintime|jobarraytasklimit|waitingforscheduling"
    r"|new job is waiting for scheduling.*"
)
_PROSPECTS: dict[Prospect, str] = {
    "": "",
    "held": " It is held, and starts only after it is released.",
    "limited": " It starts only if the limit or the job is changed.",
    "never": " The scheduler reports that the job will never start.",
}


@dataclass
class Poll:
    """When to poll the scheduler next."""

    wait: float = field(default_factory=lambda: FIRST_POLL)
    due: float = field(default_factory=lambda: time.monotonic() + FIRST_POLL)

    def next(self) -> None:
        """Note that the scheduler was polled now."""
        self.wait = min(self.wait * POLL_GROWTH, SLOWEST_POLL)
        self.due = time.monotonic() + self.wait


def printing(console: Console) -> Callable[[str], None]:
    """Prints sentences that are not results: dim, and not wrapped."""

    def say(sentence: str) -> None:
        console.print(sentence, style="dim", markup=False, soft_wrap=True)

    return say


class StillQueued(AssayError):
    """A job has not started within the time that the user wants to wait."""


class JobPoll:
    """Polls the scheduler for one job after another, and prints what a user must know.

    ``say`` prints a sentence. ``named``: prefix of the names of this run's jobs, empty if unknown;
    needed since schedulers reuse ids. ``patience``: seconds that a job may wait for its start.
    ``quiet``: whether a display shows the reasons of jobs that wait for their turn.
    """

    def __init__(
        self,
        scheduler: BatchScheduler,
        say: Callable[[str], None],
        *,
        named: str = "",
        patience: float = float("inf"),
        quiet: bool = False,
    ) -> None:
        self._scheduler = scheduler
        self._say = say
        self._named = named
        self._patience = patience
        self._quiet = quiet
        self.silent_since: float | None = None
        self._outage = 0.0  # length of the last outage, s
        self._unreadable_since: float | None = None
        self.begin("")

    def begin(self, job: str, due: float | None = None, *, fresh: bool = False) -> None:
        """Begin with a job. ``due``: the earliest start of the job, Unix time. ``fresh``: whether
        the job was submitted just now, so that its number can't belong to another job.
        """
        self.job = job
        self._fresh = fresh
        self.state: JobStatus | None = None
        self.since = time.monotonic()
        self._due = due
        self._poll = Poll()
        self._reasons: set[str] = set()
        self._reason = ""
        self._outage = 0.0
        self._requeued = False

    def soon(self) -> None:
        """Poll at short intervals again, since something has happened."""
        self._poll = Poll()

    @property
    def ended(self) -> bool:
        """Whether the job is known to have ended, or the scheduler has forgotten it."""
        return self.state is not None and (self.state.ended or self.state.state == "unknown")

    @property
    def queued(self) -> bool:
        """Whether the job is known to wait for its start."""
        return self.state is not None and self.state.state == "queued"

    def ask(self, *, begun: bool = False, ends: float | None = None) -> bool:
        """Poll if a poll is due.

        Returns whether the job is known to have ended. ``begun``: whether the job's own files show
        that it runs; ``ends``: the end of its time, Unix time. Raises StillQueued when the job has
        waited too long, and SchedulerUnreadable if neither the answers nor the job's own files can
        show its end.
        """
        if not begun:
            self._check_patience()
        if time.monotonic() < self._poll.due or not self.job:
            return self.ended
        self._poll.next()
        try:
            status = self._ask()
        except SchedulerUnreadable as error:
            self._unread(error, begun=begun, ends=ends)
            return False
        except SchedulerSilent as silent:
            if self.silent_since is None:
                self.silent_since = time.monotonic()
                self._say(f"The scheduler does not answer; assay asks again. ({silent.what})")
            return False
        self._unreadable_since = None
        if self.silent_since is not None:
            self._outage = time.monotonic() - self.silent_since
            gone = format_duration(self._outage)
            self._say(f"The scheduler answers again, after {gone}.")
            self.silent_since = None
        self._take(status)
        return self.ended

    def lost(self, begun: bool) -> str:
        """A sentence on why the scheduler does not know the job."""
        why = (self.state.reason if self.state else "") or "it does not know the job"
        if self._outage:
            gone = format_duration(self._outage)
            return (
                f"Job {self.job} is lost: the scheduler gave no answer for {gone}, and no longer "
                f"knows the job ({why}). Its controller seems to have lost its state."
            )
        if begun:
            return (
                f"Job {self.job} has left no record of its end, and the scheduler no longer knows "
                f"it ({why}). It was killed, or the scheduler has lost its state."
            )
        return (
            f"Job {self.job} has not started, and the scheduler no longer knows it ({why}). It "
            "was removed, or the scheduler has lost its state."
        )

    def _ask(self) -> JobStatus:
        status = self._scheduler.status([self.job]).get(self.job, JobStatus("unknown"))
        known = self.state.state if self.state else None
        if not self._named or status.state not in ("queued", "running") or status.state == known:
            return status
        if self._fresh and self.state is None:
            return status
        name = status.name or self._scheduler.names([self.job]).get(self.job, "")
        if name and not name.startswith(self._named):
            what = f"the scheduler has given its number to another job, '{name}'"
            return JobStatus("unknown", what)
        return status

    def _take(self, status: JobStatus) -> None:
        before = self.state
        if before is None or status.state != before.state:
            self.since = time.monotonic()
        if before is not None and _went_back(before, status):
            self.say_requeued(status)
        self.state = status
        if status.state == "running":
            self._requeued = False
        if status.state == "queued":
            self._explain(status)

    def say_requeued(self, status: JobStatus | None = None) -> None:
        """Say, once per start, that the scheduler has requeued the job."""
        if self._requeued:
            return
        self._requeued = True
        status = status or self.state
        reason = f" ({status.reason})" if status is not None and status.reason else ""
        self._reasons.clear()
        self._reason = _plain(status.reason) if status is not None else ""
        self._reasons.add(self._reason)
        self._say(
            f"The scheduler has requeued job {self.job}{reason}; it starts again with the same "
            "number."
        )

    def _explain(self, status: JobStatus) -> None:
        """Print the scheduler's reason once, and again when it has changed."""
        reason = _plain(status.reason)
        turn = not status.prospect and _TURN.fullmatch(reason) is not None
        if reason == self._reason or (turn and (self._quiet or reason in self._reasons)):
            return
        self._reason = reason
        self._reasons.add(reason)
        if reason or status.prospect:
            said = f": {status.reason.rstrip('.')}" if status.reason else ""
            self._say(f"Job {self.job} is queued{said}.{_PROSPECTS[status.prospect]}")

    def _check_patience(self) -> None:
        waits = self.state is None or self.state.state == "queued"
        gone = time.monotonic() - self.since
        if self._due is not None:
            gone = min(gone, time.time() - self._due)
        if not waits or gone < self._patience or not self.job:
            return
        reason = self.state.reason if self.state is not None else ""
        if self.silent_since is not None:
            reason = "the scheduler does not answer"
        why = f" ({reason.rstrip('.')})" if reason else ""
        raise StillQueued(
            f"Job {self.job} has not started within {format_duration(self._patience)}{why}. "
            "It stays in the queue."
        )

    def _unread(self, error: SchedulerUnreadable, *, begun: bool, ends: float | None) -> None:
        """Say that an answer can't be read. Raise the error again if waiting has become useless."""
        now = time.monotonic()
        if self._unreadable_since is None:
            self._unreadable_since = now
            self._say(f"{error.what} assay asks again.")
        if now - self._unreadable_since < UNREADABLE:
            return
        if not begun or ends is None or time.time() > ends + LATE:
            raise SchedulerUnreadable(
                error.what,
                where=error.where,
                fix=f"{error.fix} `assay runs --follow` continues when the answer can be read.",
                detail=error.detail,
            )


def _went_back(before: JobStatus, now: JobStatus) -> bool:
    """Whether a job or array task is queued again after it ran. (An array is also queued when its
    first tasks have ended and others have not started.)
    """
    if not now.tasks:
        return (before.state, now.state) == ("running", "queued")
    return any(
        (task := before.tasks.get(number)) is not None
        and (task.state, status.state) == ("running", "queued")
        for number, status in now.tasks.items()
    )


def _plain(reason: str) -> str:
    """A reason for comparisons: only its code, or its text without numbers, which may change."""
    code = re.match(r"([A-Za-z]+): ", reason)
    return re.sub(r"\d+", "#", code[1] if code else reason).lower()
