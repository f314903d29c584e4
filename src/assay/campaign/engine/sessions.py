"""Repeats a campaign over time: finds the next session, waits for it, and records it in the run.

All decisions follow from the records and the time, so a killed run resumes with the session that is
due.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from assay.campaign.engine.state import Interruption, OutOfTime
from assay.campaign.machine.clocks import AwakeTime, CampaignClock
from assay.errors import AssayError
from assay.kernels import is_search
from assay.model.cell import Cell
from assay.model.replication import Replication
from assay.model.sessions import LATEST, NextSession, next_session, session_of
from assay.records.directory import RunDirectory
from assay.records.model import Manifest, RunData
from assay.records.reading import read_run
from assay.records.sessions import (
    How,
    SessionEvent,
    append_session,
    held_sessions,
    read_sessions,
)
from assay.units import format_duration

if TYPE_CHECKING:
    from rich.console import Console

    from assay.campaign.engine.display import Display


def upcoming(run: RunDirectory, now: float) -> NextSession | None:
    """The current or next session of a run; None if there is none, or no plan yet."""
    if not run.begun:
        return None
    rule = run.manifest().plan.replication
    if not rule.repeated:
        return None
    return next_session(rule, held_sessions(read_sessions(run.path)), now)


def begin_time(run: RunDirectory, now: float) -> float | None:
    """The Unix time at which the next job of a run can start measuring; None for immediately."""
    following = upcoming(run, now)
    if following is None or following.begun or following.due <= now:
        return None
    return following.due


class Sessions:
    """The sessions of one run, for the process that holds the run.

    ``report``: called with messages for the user. ``tick``: called with the current status.
    """

    def __init__(
        self,
        run: RunDirectory,
        manifest: Manifest,
        clock: CampaignClock,
        report: Callable[[str], None],
        tick: Callable[[str], None] = lambda words: None,
    ) -> None:
        self.run = run
        self.clock = clock
        self._manifest = manifest
        self._rule: Replication = manifest.plan.replication
        self._print = report
        self._tick = tick
        events, launches = read_sessions(run.path), run.launches()
        times = [*(e.utc for e in events), *(each.utc + each.wall for each in launches)]
        clock.resume(max(times, default=0.0))
        self._note = ""  # clock changes during the wait for the next session

    def next(self) -> NextSession | None:
        """The next session.

        Records the end of a session that was cut short and can't be resumed.
        """
        held = held_sessions(read_sessions(self.run.path))
        following = next_session(self._rule, held, self.clock.now())
        if held and not held[-1].over and not (following and following.begun):
            number = held[-1].number
            how = self._how_it_ended(number)
            self._end(number, how)
            lost = "; it does not count" if how == "void" else ""
            self._print(f"{self.words(number)} was cut short{lost}.")
            return self.next()
        return following

    def begin(self, following: NextSession) -> None:
        """Record that a session begins, and report the sessions missed before it."""
        if following.missed:
            one = following.missed == 1
            words = "A session was" if one else f"{following.missed} sessions were"
            self._print(
                f"{words} missed: no assay process was measuring this run, or the previous "
                f"session took longer. {'It is' if one else 'They are'} not repeated."
            )
        append_session(
            self.run.path,
            SessionEvent(
                "begun",
                following.number,
                self.clock.now(),
                due=following.due,
                missed=following.missed,
                note=self._note,
            ),
        )
        self._note = ""
        self._print(f"{self.words(following.number)} begins.")
        self._tick(self.words(following.number))

    def end(self, number: int) -> None:
        """Record that a session was measured completely."""
        self._end(number, "over")

    def wait(self, following: NextSession) -> bool:
        """Wait until a session is due. Returns False if the clock was set or the machine slept.
        Raises Interruption on a request to stop.
        """
        awake_time = AwakeTime(self.clock)
        what = f"{self.words(following.number)} begins {moment(following.due)}"
        self._print(f"{what}.")
        try:
            while (left := following.due - self.clock.now()) > 0:
                self._tick(f"{what}, in {format_duration(left)}")
                self.clock.sleep(min(left, self.clock.nap))
                if happened := awake_time.look():
                    self._note = f"{self._note} {happened}".strip()
                    self._print(happened)
                    return False
        except KeyboardInterrupt:
            raise Interruption from None
        return True

    def words(self, number: int) -> str:
        """``"Session 3 of 8"``, counted from 1."""
        held = held_sessions(read_sessions(self.run.path))
        voids = sum(one.over and not one.counts for one in held if one.number < number)
        return f"Session {number - voids + 1} of {self._rule.planned}"

    def _end(self, number: int, how: How) -> None:
        append_session(self.run.path, SessionEvent("ended", number, self.clock.now(), how=how))

    def _how_it_ended(self, number: int) -> How:
        """The outcome of a session that was cut short: "cut" if each cell was measured or failed in
        it, otherwise "void".
        """
        data = read_run(self.run.path, samples=False)
        met = {
            m.cell.id for m in data.measurements if session_of(m.replicate, self._rule) == number
        }
        for launch in data.launches:
            if launch.session == number and launch.blamed:
                met.add(launch.blamed.rpartition("-")[0])
        cells = (cell for cell in self._manifest.plan.cells if not is_search(cell))
        return "cut" if all(cell.id in met for cell in cells) else "void"

    def too_early(self, following: NextSession) -> AssayError | None:
        """The error for a session that would start too early; None if it may start."""
        assert self._rule.every is not None
        early = following.due - self.clock.now()
        if following.set_back or early <= LATEST * self._rule.every:
            return None
        return AssayError(
            f"{self.words(following.number)} is not due yet; it begins {moment(following.due)}.",
            where=str(self.run.path),
            fix="Make sure that the scheduler holds jobs until their begin time.",
        )


def carry_on(
    sessions: Sessions,
    execute: Callable[[int], tuple[RunData, list[Cell]]],
    *,
    one: bool = False,
    deadline: float | None = None,
    between: Callable[[RunData], None] = lambda data: None,
) -> tuple[RunData, list[Cell], bool]:
    """Measure the remaining sessions, each by ``execute`` with its number, and wait between them.

    ``one``: measure only the next session, without waiting. ``deadline``: Unix time at which the
    available time ends. ``between``: called before the wait for another session. Returns the run's
    data, the cells left out in all sessions, and whether more sessions follow. Raises the errors of
    ``execute``, and AssayError, Interruption and OutOfTime.
    """
    left_out: dict[str, Cell] = {}
    data: RunData | None = None
    try:
        while (following := sessions.next()) is not None:
            if not following.begun:
                if one and data is not None:
                    break
                early = sessions.clock.now() < following.due
                if one and early and (problem := sessions.too_early(following)):
                    raise problem
                if early and not one:
                    if data is not None:
                        between(data)
                    if deadline is not None and following.due >= deadline:
                        raise OutOfTime
                    if not sessions.wait(following):
                        continue
                sessions.begin(following)
            data, lacking = execute(following.number)
            left_out |= {cell.id: cell for cell in lacking}
            sessions.end(following.number)
    except KeyboardInterrupt:
        raise Interruption from None
    if data is None:
        data = read_run(sessions.run.path)
    measured = {measurement.cell.id for measurement in data.measurements}
    lacking = [cell for id_, cell in left_out.items() if id_ not in measured]
    return data, lacking, following is not None


class SessionReporter:
    """Reports the progress of sessions: above the display if there is one, otherwise as lines."""

    def __init__(self, console: Console, display: Display | None) -> None:
        self._console = console
        self._display = display

    def report(self, sentence: str) -> None:
        """Print a sentence permanently."""
        self._console.print(sentence, style="dim", markup=False, soft_wrap=True)

    def tick(self, words: str) -> None:
        """Show the current status in the display."""
        if self._display is not None:
            self._display.status = words
            self._display.tick(None)


def moment(utc: float) -> str:
    """A Unix time in the local time zone: ``"on Sunday, 22 November 2026, at 18:00"``."""
    return time.strftime("on %A, %d %B %Y, at %H:%M", time.localtime(utc))
