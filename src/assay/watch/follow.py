"""Following a program from its start to its end: the loop behind ``assay watch``."""

from __future__ import annotations

import contextlib
import os
import platform
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from assay.errors import AssayError
from assay.stats.changes.step_change import Settings
from assay.version import VERSION
from assay.watch import relay
from assay.watch.folder import FOLDER_VARIABLE, check_folder, lives, make_folder
from assay.watch.heartbeat import Ring, Rings, Together
from assay.watch.model import SCHEMA, Cost, StepLine, WatchEnd, WatchStart, outcome_of
from assay.watch.program import Frame, Program, exit_status
from assay.watch.reporter import Reporter
from assay.watch.sampler import Sampler
from assay.watch.series import StepSeries
from assay.watch.steps import Step, StepLines
from assay.watch.words import status

# Seconds between two checks; they bound the delay of alarms, and determine the cost.
TICK = 0.2
_REDRAW = 0.5
# Seconds between two checks above which, after a SIGCONT, assay and the program had been stopped.
_STOPPED = 1.0
# Seconds after a process's first heartbeat in which others are expected.
_COMING = 10.0
# Number of rings per check interval: with more processes, rings are read less often.
_RINGS_A_TICK = 16


@dataclass(frozen=True)
class Options:
    """How to follow: by lines that match ``pattern``, or by heartbeats in ``folder`` (None: a new
    one).
    """

    pattern: str | None = None
    folder: Path | None = None
    #: The program gets a pseudo-terminal.
    use_pty: bool = False
    #: Show a status line.
    terminal: bool = False
    #: Print nothing while it runs.
    quiet: bool = False
    log: Path | None = None
    settings: Settings = field(default_factory=Settings)
    #: Further variables of the program.
    environment: Mapping[str, str] = field(default_factory=dict)


def watch_program(command: Sequence[str], options: Options) -> WatchEnd:
    """Run the command and follow it until it ends. Raises AssayError if it can't be started."""
    log = _open_log(options.log)
    own_folder = None
    lines = StepLines(options.pattern) if options.pattern is not None else None
    folder = options.folder
    if lines is None and folder is None:
        folder = own_folder = make_folder()
    elif folder is not None:
        folder = check_folder(folder)
    environment = {**options.environment}
    if lines is None:
        environment[FOLDER_VARIABLE] = str(folder)
    try:
        program = Program(
            command,
            terminal=options.terminal,
            use_pty=options.use_pty,
            environment=environment,
            folder=str(own_folder or ""),
        )
    except AssayError:
        if own_folder is not None:
            own_folder.rmdir()
        raise
    following = _Following(
        command=command, options=options, program=program, lines=lines, folder=folder, log=log
    )
    try:
        return following.run()
    finally:
        program.close()
        if following.rings is not None and own_folder is not None:
            following.rings.remove()
        if log is not None:
            with contextlib.suppress(OSError):
                log.close()


class _Following:
    """One program that is followed."""

    def __init__(
        self,
        command: Sequence[str],
        options: Options,
        program: Program,
        lines: StepLines | None,
        folder: Path | None,
        log: IO[bytes] | None,
    ) -> None:
        self.command = list(command)
        self.options = options
        self.program = program
        self.lines = lines
        self.rings = Rings(folder) if lines is None and folder is not None else None
        self.sampler = Sampler(program.pid, program.relay_pid)
        self.series: dict[str, StepSeries] = {}
        self.together: dict[str, Together] = {}
        self.host = platform.node()
        self.began = time.monotonic()
        self.utc = time.time()
        self._ended: set[int] = set()
        self.reporter = Reporter(
            program=program,
            sampler=self.sampler,
            series=self.series,
            log=log,
            host=self.host,
            began=self.began,
            quiet=options.quiet,
        )
        self._stopped = (0.0, 0.0)
        self._drawn = 0.0
        self._rings_at = 0.0
        self._looked = 0.0
        self._new_at = self.began

    def run(self) -> WatchEnd:
        """Follow until the program has ended and its output is passed on."""
        cpu = time.process_time()
        relay_cpu = 0.0
        self.reporter.write(
            WatchStart(
                schema=SCHEMA,
                assay=VERSION,
                command=self.command,
                host=self.host,
                pid=self.program.pid,
                utc=self.utc,
                pattern=self.options.pattern,
                folder=str(self.rings.folder) if self.rings else None,
            )
        )
        ended: int | None = None
        try:
            self.sampler.look_at_others()
            ended = self._follow()
        except Exception as error:  # an error in assay must not end the program
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.reporter.note(
                f"assay can no longer follow the program ({type(error).__name__}: {error}, "
                f"{Path(where.filename).name}:{where.lineno}); the program goes on."
            )
            ended = self._only_wait()
        wall = time.monotonic() - self.began
        with contextlib.suppress(OSError, IndexError):
            relay_cpu = _cpu_seconds(self.program.relay_pid)
        used = time.process_time() - cpu + relay_cpu
        if self.options.terminal:
            self.program.show("")
        return self._end(ended, wall, used)

    def _follow(self) -> int:
        seen = time.monotonic()
        more = False
        while True:
            ended = self.program.wait(0.0 if more else TICK)
            self.program.take_signals()
            now = time.monotonic()
            if now - seen > _STOPPED and not self.program.continued:
                # SIGCONT may arrive a moment later; wait for it before judging steps.
                ended = self.program.wait(TICK)
                self.program.take_signals()
                now = time.monotonic()
            if self.program.continued and now - seen > _STOPPED:
                self._stopped = (seen, now)
                for series in self.series.values():
                    series.reach(round(now * 1e9))
            self.program.continued = False
            seen = now
            taken = sum(self._frame(frame) for frame in self.program.frames())
            more = taken > 1 << 18
            self._heartbeats(now)
            if ended is not None:
                break
            if self.sampler.due(now):
                self.reporter.sample()
            self.reporter.causes(now)
            self.reporter.overdue(now)
            self._hints()
            self.reporter.write(None)
            if self.options.terminal and now - self._drawn >= _REDRAW:
                self._draw(now)
        for frame in self.program.last_frames():
            self._frame(frame)
        if self.lines is not None:
            for step in self.lines.finish(time.monotonic_ns()):
                self._step("", step)
        self._heartbeats(time.monotonic(), last=True)
        self._hints()
        self.reporter.causes(None)
        return ended

    def _only_wait(self) -> int:
        """Only pass signals on and empty the relay's pipe until the program has ended."""
        with contextlib.suppress(OSError):
            while self.program.wait(TICK) is None:
                self.program.take_signals()
                for _ in self.program.frames():
                    pass
            for _ in self.program.last_frames():
                pass
        ended = self.program.wait(0.0)
        assert ended is not None
        return ended

    def _frame(self, frame: Frame) -> int:
        if frame.kind in (relay.OUT, relay.ERR):
            if self.lines is not None:
                for step in self.lines.feed(frame.kind, frame.time, frame.data):
                    self._step("", step)
        elif frame.kind == relay.FAILED:
            self.reporter.note(
                f"The program's output is lost: {frame.data.decode('utf-8', 'replace')}."
            )
        elif frame.kind == relay.LOST:
            if self.lines is not None:
                self.lines.pause()
            self.reporter.note(
                "Some of the program's output was not read: assay was stopped or slow."
            )
        return len(frame.data)

    def _heartbeats(self, now: float, *, last: bool = False) -> None:
        if self.rings is None:
            return
        many = 1 + len(self.rings.rings) // _RINGS_A_TICK
        if not last and now - self._rings_at < many * TICK * 0.9:
            return
        self._rings_at = now
        # Ranks start one after another: steps of a rank that is found late are lost.
        pause = 1.0 if now - self._new_at > _COMING else 0.0
        if last or now - self._looked >= pause:
            self._looked = now
            for ring in self.rings.look():
                self._new_ring(ring)
                self._new_at = now
        for ring in self.rings:
            together = self.together[ring.host]
            lost = ring.lost
            together.add(ring, ring.read())
            if ring.lost > lost:
                together.begin_anew()
            if ring.host == self.host and ring.pid not in self._ended and not lives(ring.pid):
                self._ended.add(ring.pid)
                together.end(ring)
        for host, together in self.together.items():
            for at, seconds, whose, late in together.take():
                series = self._step(host, Step(seconds, 1, at))
                if together.streams > 1 and whose.rank is not None:
                    series.came_last(whose.rank, late)

    def _new_ring(self, ring: Ring) -> None:
        self.together.setdefault(ring.host, Together())
        if ring.host == self.host:
            self.sampler.family.add(ring.pid)

    def _step(self, host: str, step: Step) -> StepSeries:
        name = "lines" if self.lines is not None else f"heartbeats of {host}"
        series = self.series.get(name)
        if series is None:
            series = self.series[name] = StepSeries(name, self.options.settings)
        if self._was_stopped(step):
            series.reach(step.time)
            return series
        if series.hanging is not None:
            self.reporter.recovered(series, step)
        for given, change in series.add(step):
            if self.reporter.log is not None:
                at = given.time * 1e-9 - self.began
                self.reporter.write(
                    StepLine(
                        source=name,
                        step=series.monitor.step,
                        time=at,
                        seconds=given.seconds,
                        count=given.count,
                        number=given.number,
                        of=given.of,
                    )
                )
            if change is not None:
                self.reporter.changed(series, change, given)
        return series

    def _was_stopped(self, step: Step) -> bool:
        """Whether the program, like assay, was stopped during most of that step."""
        begin, end = self._stopped
        until = step.time * 1e-9
        since = until - step.seconds * step.count
        return end > begin and min(until, end) - max(since, begin) > 0.5 * (end - begin)

    def _hints(self) -> None:
        if self.lines is not None and self.lines.buffered and not self.options.use_pty:
            self.reporter.once(
                f"Lines come in bursts of about {self.lines.buffered}: the program buffers them. "
                "--pty gives it a terminal, so that it prints each line immediately."
            )
        for host, together in self.together.items():
            if together.apart:
                self.reporter.once(
                    f"Of {host} {together.apart} processes or threads mark other steps than the "
                    "rest and are left out."
                )

    def _draw(self, now: float) -> None:
        self._drawn = now
        series = max(self.series.values(), key=lambda s: s.last or 0, default=None)
        last = series.last * 1e-9 if series is not None and series.last is not None else self.began
        text = status(
            series, self.reporter.alarms, now - last, self.lines.lines if self.lines else None
        )
        width = 80
        with contextlib.suppress(OSError):
            width = os.get_terminal_size(2).columns or width
        self.program.show(text[: width - 1])

    def _end(self, ended: int, wall: float, used: float) -> WatchEnd:
        sources = [series.summary() for series in self.series.values()]
        self.reporter.notes += self._missing()
        code = exit_status(ended)
        summary = WatchEnd(
            schema=SCHEMA,
            command=self.command,
            host=self.host,
            utc=self.utc,
            wall=wall,
            exit=code,
            signal=os.WTERMSIG(ended) if os.WIFSIGNALED(ended) else None,
            outcome=outcome_of(sources, self.reporter.alarms),
            sources=sources,
            changes=self.reporter.changes,
            hangs=self.reporter.hangs,
            cost=Cost(used, used / max(wall, 1e-9)),
            notes=self.reporter.notes,
        )
        self.reporter.write(summary)
        self.reporter.write(None)
        return summary

    def _missing(self) -> list[str]:
        """Sentences on what could not be followed, and how to make it possible."""
        said = []
        if self.lines is not None:
            if not self.lines.matched:
                said.append(self._unmatched())
            elif not self.series:
                said.append("Only one line matched, but a step is the time between two lines.")
            if self.lines.unreadable:
                said.append(f"{self.lines.unreadable:,} lines that matched had no valid time.")
        elif not self.together:
            said.append(
                "No step was seen. Name the lines that the program prints at each step "
                r"(--step 'step (?P<i>\d+)'), or let it call assay_heartbeat(): "
                "`assay watch --heartbeat` says how."
            )
        elif not self.series:
            said.append("There was only one heartbeat, but a step is the time between two.")
        said += self._elsewhere()
        return said

    def _unmatched(self) -> str:
        assert self.lines is not None
        said = f"No line of {self.lines.lines:,} matched --step '{self.options.pattern}'."
        if not self.lines.lines:
            return said + " The program printed no line at all."
        suggested = self.lines.suggestion()
        if suggested is not None:
            return said + f" Many lines match --step '{suggested}'."
        return said + " The pattern is searched for in each line of stdout and stderr."

    def _elsewhere(self) -> list[str]:
        """A sentence on ranks that were not followed because they are on other hosts."""
        if self.rings is None:
            return []
        here = {ring.rank for ring in self.rings if ring.rank is not None}
        ranks = max((ring.ranks or 0 for ring in self.rings), default=0)
        if ranks <= len(here):
            return []
        return [
            f"{len(here)} of {ranks} ranks were followed: those whose heartbeats can be read here. "
            "With --folder on a file system that all hosts share, the others are followed too."
        ]


def _cpu_seconds(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _open_log(path: Path | None) -> IO[bytes] | None:
    if path is None:
        return None
    try:
        return path.open("wb")
    except OSError as error:
        raise AssayError(f"The log can't be written: {error.strerror}.", where=str(path)) from None
