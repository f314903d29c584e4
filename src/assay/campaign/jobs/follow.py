"""Follows a run executed by jobs until it is complete or no job is left.

The files written by a job count more than the scheduler's answer, so the scheduler is polled
rarely. If it doesn't answer, the follower waits. A job that the scheduler no longer knows has
ended.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from assay.campaign.engine.sessions import moment
from assay.campaign.jobs import polling
from assay.campaign.jobs.batch import submit
from assay.campaign.jobs.endings import WHOLE, Ending, compiled_words, group_words, job_words
from assay.campaign.jobs.polling import JobPoll, StillQueued, printing
from assay.campaign.jobs.run_watch import Watch
from assay.campaign.jobs.status_line import status_line
from assay.errors import AssayError
from assay.kernels.builds.partial import interrupted_builds
from assay.launch.outcome import last_output
from assay.records.directory import RunDirectory
from assay.records.group import unfinished_members
from assay.records.jobs import JobBook, JobEnd, JobHistory
from assay.records.request import RunRequest
from assay.schedulers.model import (
    BatchScheduler,
    JobStatus,
    SchedulerSilent,
    SchedulerUnreadable,
)

if TYPE_CHECKING:
    from rich.console import Console

# Seconds to wait for a job that was asked to end; schedulers kill it after half a minute.
ENDING = 60.0
# Maximum number of requests for a job's accounting data until they are available.
ACCOUNTS = 4
# Seconds after submission during which a job's number can't belong to another job.
JUST_NOW = 600.0
# States of a job after which another job continues the run.
_GO_ON = ("timeout", "node-failed", "preempted")


class Follower:
    """Follows one run. ``console``: for its messages; ``patience``: seconds that a job may wait for
    its start.
    """

    def __init__(
        self,
        run: RunDirectory,
        request: RunRequest,
        scheduler: BatchScheduler,
        console: Console,
        watch: Watch,
        patience: float = float("inf"),
    ) -> None:
        self._run = run
        self._request = request
        self._scheduler = scheduler
        self._say = printing(console)
        self._watch = watch
        self._book = JobBook(run.path)
        self._poll = JobPoll(
            scheduler,
            self._say,
            named=f"assay-{request.tag}",
            patience=patience,
            quiet=console.is_terminal,
        )

    def follow(self, number: int) -> Ending:
        """Follow a job and the jobs that continue it. Raises AssayError."""
        try:
            while True:
                before = (self._watch.measured, _compiled_files())
                status = self._until_over(number)
                end = self._book.end(number)
                self._note_end(number, status, end)
                if self._complete():
                    with contextlib.suppress(KeyboardInterrupt):  # there is nothing left to end
                        self._account()
                    return Ending("complete")
                now = (self._watch.measured, _compiled_files())
                following = self._next(
                    number, status, end, now[0] > before[0] or now[1] > before[1]
                )
                self._account()
                if following is None:
                    return self._ended(number, status, end)
                number = following
        except StillQueued as error:
            return self._left_queued(error)
        except KeyboardInterrupt:
            return self._stop(max([number, *(story.number for story in self._book.jobs())]))

    def follow_group(self) -> Ending:
        """Follow all jobs of a group, which run at the same time. Raises AssayError."""
        jobs = [story.number for story in self._book.jobs() if not story.ended]
        problem: Ending | None = None
        ends: Counter[str] = Counter()
        try:
            for number in jobs:
                status = self._until_over(number)
                if self._watch.over(number):
                    hows = Counter(end.how for end in self._book.task_ends(number).values())
                    self._note_end(number, JobStatus("complete") if set(hows) <= WHOLE else None)
                    ends += hows
                    continue
                self._note_end(number, status)
                problem = problem or self._ended(number, status, None)
        except StillQueued as error:
            return self._left_queued(error)
        except KeyboardInterrupt:
            return self._stop(*jobs)
        if self._complete():
            return Ending("complete")
        return problem or Ending("ended", group_words(ends))

    def _complete(self) -> bool:
        if self._request.members is not None:
            return not unfinished_members(self._run.path, self._request.members)
        return self._run.complete

    # ---- one job ---------------------------------------------------------------------------------

    def _until_over(self, number: int) -> JobStatus | None:
        """Wait for a job's end.

        Returns the scheduler's state of the job, None if it wasn't polled.
        """
        story = self._book.job(number)
        sent = story.submitted
        fresh = sent is not None and time.time() - sent.utc < JUST_NOW
        self._poll.begin(story.job, sent.begin if sent else None, fresh=fresh)
        self._wait(partial(self._over_or_ended, story))
        while self._stopped(number) and self._starts_again(story):
            self._wait(partial(self._over_or_ended, story, again=True))
        # Its files may become visible after its end. A job that never started wrote no files.
        late = polling.LATE if self._begun(story) else polling.LATE / 10
        self._wait(lambda: self._watch.over(number), late)
        if self._book.end(number) is not None:
            self._wait(lambda: self._all_seen(number), polling.LATE)
        return self._poll.state

    def _stopped(self, number: int) -> bool:
        """Whether the job has recorded that it, or one of its tasks, was asked to end."""
        if self._request.members is not None:
            ends = list(self._book.task_ends(number).values())
        else:
            ends = [end for end in (self._book.end(number),) if end is not None]
        return any(end.how in ("asked", "warned") for end in ends)

    def _starts_again(self, story: JobHistory) -> bool:
        """Whether a job that was asked to end is in the queue again, with the same number.

        Only the scheduler knows whether the scheduler or a user stopped the job permanently.
        """
        number, group = story.number, self._request.members is not None
        self._poll.soon()

        def decided() -> bool:
            self._ask(story)
            return self._poll.ended or self._poll.queued or not self._stopped(number)

        self._wait(decided, polling.LATE)
        if self._poll.ended or not (self._poll.queued or not self._stopped(number)):
            return False
        if self._poll.queued and self._stopped(number):
            self._poll.say_requeued()
            if not group:
                self._book.requeued(number)
        return True

    def _all_seen(self, number: int) -> bool:
        end = self._book.end(number)
        sealed = end is None or end.how != "complete" or self._complete()
        return sealed and self._watch.settled()

    def _wait(self, done: Callable[[], bool], patience: float = float("inf")) -> None:
        """Check the run until ``done``, or for ``patience`` seconds."""
        until = time.monotonic() + patience
        while True:
            self._watch.look(status_line(self._run, self._book, self._poll))
            if done() or time.monotonic() >= until:
                return
            time.sleep(polling.LOOK)

    def _ask(self, story: JobHistory) -> bool:
        """Poll the scheduler if a poll is due. Returns whether the job is known to have ended."""
        started = self._book.job(story.number).started
        walltime = story.submitted.walltime if story.submitted else None
        ends = started.utc + walltime if started and walltime else None
        return self._poll.ask(begun=started is not None and not self._poll.queued, ends=ends)

    # ---- after it --------------------------------------------------------------------------------

    def _note_end(self, number: int, status: JobStatus | None, end: JobEnd | None = None) -> None:
        with contextlib.suppress(AssayError):
            if end is not None:
                self._book.ended(number, end.how, end.error or "")
            elif status is not None and status.state not in ("queued", "running"):
                self._book.ended(number, status.state, status.reason)

    def _account(self) -> None:
        """Request accounting data of ended jobs until they are available, or until it is clear that
        the site keeps none.

        They arrive late: a job records its end before the scheduler does. Errors are ignored.
        """
        for attempt in range(ACCOUNTS):
            open_ = {s.job: s for s in self._book.jobs() if s.job and s.ended and not s.accounted}
            if not open_:
                return
            if attempt:
                wait = polling.FIRST_POLL * polling.POLL_GROWTH ** (attempt - 1)
                time.sleep(min(wait, polling.SLOWEST_POLL))
            try:
                found = self._scheduler.accounting(open_)
                for job, accounting in (found or {}).items():
                    self._book.account(open_[job].number, accounting)
            except AssayError:
                return
            if found is None:
                return

    def _next(
        self, number: int, status: JobStatus | None, end: JobEnd | None, progress: bool
    ) -> int | None:
        """The job that continues this one; None if there is none. It is submitted if necessary."""
        later = [story.number for story in self._book.jobs() if story.number > number]
        if end is not None and end.next is not None:
            later.append(end.next)
        if later:
            story = self._book.job(max(later))
            self._say(f"Job {story.job or max(later)} continues{beginning(story)}.")
            return max(later)
        state = status.state if status is not None else None
        over = end is not None and (
            end.how in ("time", "incomplete", "session")
            or (end.how == "warned" and state != "cancelled")
        )
        progress |= end is not None and end.progress
        if not progress or not (over or state in _GO_ON):
            return None
        story = self._submit(number)
        reasons = {"node-failed": "a node failed", "preempted": "it was preempted"}
        reason = reasons.get(state or "", "its time was over")
        if end is not None and end.compiled is not None:
            reason = f"{reason}: {compiled_words(end)}"
        if end is not None and end.how == "session":
            reason = "its session is over"
        self._say(
            f"Job {self._id(number)} ended before the run was complete ({reason}); job "
            f"{story.job} continues{beginning(story)}."
        )
        return story.number

    def _ended(self, number: int, status: JobStatus | None, end: JobEnd | None) -> Ending:
        """The ending of an incomplete run without jobs, with the reason."""
        sentence, said = job_words(self._id(number), status, end), ""
        if end is None:
            if status is not None and status.state == "unknown":
                sentence = self._poll.lost(self._begun(self._book.job(number)))
            said = last_output(*sorted(self._book.folder.glob(f"{number:04d}*.out")))
        if said:
            sentence += f" Its last output:\n{said}"
        return Ending("ended", sentence, end.problem() if end is not None else None)

    def _stop(self, *numbers: int) -> Ending:
        """End the jobs on Ctrl-C, and leave them on the second Ctrl-C."""
        stories = [self._book.job(number) for number in numbers]
        open_ = [story for story in stories if not story.ended]
        names = [story.job or str(story.number) for story in open_]
        named = f"job {names[0]}" if len(names) == 1 else f"{len(names)} jobs"
        try:
            self._say(f"Ending {named}. Press Ctrl-C again to leave immediately.")
            accepted = self._cancel([story.job for story in open_ if story.job])
            for story in open_:
                number = story.number
                self._poll.begin(story.job, time.time() + ENDING)
                with contextlib.suppress(SchedulerUnreadable, StillQueued):
                    self._wait(partial(self._over_or_ended, story), ENDING)
                late = polling.LATE if self._begun(story) else 0.0
                self._wait(partial(self._watch.over, number), late)
                self._note_end(number, self._poll.state, self._book.end(number))
        except KeyboardInterrupt:
            return Ending(
                "left",
                f"{named.capitalize()} may still run. `assay runs --clean` shows and ends it, "
                f"`assay runs --follow {self._run.name}` follows it.",
            )
        if not accepted:
            return Ending(
                "left", f"{named.capitalize()} may still run: the scheduler does not answer."
            )
        return Ending("stopped")

    def _over_or_ended(self, story: JobHistory, *, again: bool = False) -> bool:
        """``again``: a part of the job was requeued after it had recorded its end."""
        over = self._watch.over(story.number)
        if again and self._request.members is not None:
            over = over and not self._stopped(story.number)
        return over or self._ask(story)

    def _left_queued(self, error: StillQueued) -> Ending:
        name = self._run.name
        return Ending(
            "queued",
            f"{error.what} Continue with: assay runs --follow {name}\n"
            "`assay runs --clean --yes` takes it out of the queue.",
        )

    def _submit(self, after: int) -> JobHistory:
        """Submit the next job; retry while the scheduler doesn't answer. Raises AssayError."""
        known, wait, said = len(self._book.jobs()), polling.FIRST_POLL, False
        while True:
            try:
                return submit(self._run, self._request, self._scheduler, after=after)
            except SchedulerSilent as silent:
                if len(self._book.jobs()) > known:  # it is unknown whether this job was accepted
                    raise
                if not said:
                    self._say(f"The scheduler does not answer; assay asks again. ({silent.what})")
                said = True
                time.sleep(wait)
                wait = min(wait * polling.POLL_GROWTH, polling.SLOWEST_POLL)

    def _begun(self, story: JobHistory) -> bool:
        return self._book.job(story.number).started is not None

    def _cancel(self, jobs: list[str]) -> bool:
        """Ask the scheduler to end the jobs, repeatedly if it doesn't answer.

        Returns whether it accepted.
        """
        until = time.monotonic() + ENDING
        while jobs:
            try:
                self._scheduler.cancel(jobs)
            except SchedulerSilent as silent:
                if time.monotonic() >= until:
                    return False
                self._say(f"The scheduler does not answer; assay asks again. ({silent.what})")
                time.sleep(polling.FIRST_POLL)
            else:
                return True
        return False

    def _id(self, number: int) -> str:
        return self._book.job(number).job or str(number)


def _compiled_files() -> int:
    """The number of compiled files of interrupted builds; a killed job leaves no other sign."""
    return sum(build.done for build in interrupted_builds().values())


def beginning(story: JobHistory) -> str:
    """The start of a job delayed until its session is due: ``", beginning on …"``."""
    begin = story.submitted.begin if story.submitted else None
    return f", beginning {moment(begin)}" if begin is not None else ""
