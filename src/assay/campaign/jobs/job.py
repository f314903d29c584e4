"""Executes a job of a run on its first node: plans, builds, measures, and records how the job
ended.

Everything that a follower must know is in files: the scheduler may forget the job, and it may run
without a follower.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.campaign.budget.announcement import first_launches
from assay.campaign.budget.earlier_times import with_earlier_times
from assay.campaign.engine.execute import (
    begin_run,
    execute_campaign,
    new_run,
    prepare,
    stopping_at_sigterm,
)
from assay.campaign.engine.sessions import upcoming
from assay.campaign.engine.state import Interruption, OutOfTime
from assay.campaign.jobs.batch import scheduler_of, submit
from assay.campaign.jobs.endings import compiled_words
from assay.campaign.jobs.node import allocation_here, end_with_parent, undisturbed, wait_for
from assay.campaign.machine.bench import Bench, machine_for
from assay.campaign.machine.clocks import MachineClock
from assay.campaign.requests.job_estimate import ENDING, ENDING_SHARE
from assay.campaign.requests.run_request import plan_here
from assay.config import Config, load_config
from assay.console import harmless
from assay.errors import AssayError
from assay.kernels.builds.identity import cpu_kind, processor_name
from assay.kernels.builds.partial import PartialProgress, interrupted_builds
from assay.launch.fake.check import check_cells
from assay.records.access.trust import NotTrusted, check_trusted_run
from assay.records.directory import REPORT, RunDirectory
from assay.records.files import BUSY
from assay.records.jobs import How, JobBook, JobEnd, JobEvent
from assay.records.members.packs import PACKED_FROM, pack_member
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.records.request import RunRequest

if TYPE_CHECKING:
    from rich.console import Console

# Seconds to wait until the previous job, or any other process, releases the run.
HANDOVER = 60.0
# Minimum walltime (s) of jobs that request a warning from the scheduler, and maximum seconds
# between warning and end. The warning is requested for one minute before the end; Slurm may send it
# up to a minute earlier (sbatch(1), --signal).
WARNED, WARNING = 300.0, 125.0


@dataclasses.dataclass(frozen=True)
class JobTurn:
    """The work of one job on a run."""

    #: Number of the job.
    number: int
    #: Walltime that the job requested, s.
    walltime: float | None = None
    #: Index of the task in its array, from 0.
    task: int = 0
    #: Whether another assay process started it instead of a scheduler. It then ends when its
    #: standard input is closed.
    leashed: bool = False


def work(path: Path, turn: JobTurn, console: Console) -> int:
    """Execute a job's part of a run or group. Returns the exit status of the command."""
    began = time.time()
    with stopping_at_sigterm():
        part = _Part(path, turn, began, console)
        try:
            part.find()
            end = part.measure()
        except OutOfTime:
            end = part.end("time")
        except (Interruption, KeyboardInterrupt):
            end = part.end("warned" if part.near_its_end() else "asked")
        except (
            NotTrusted
        ) as error:  # nothing is written into the folder, not even how the job ended
            print(harmless(f"assay: {error}"), file=sys.stderr)
            return 1
        except AssayError as error:
            refused = error.what == BUSY
            end = part.end("refused" if refused else "failed", error)
        with undisturbed():
            return part.close(end)


class _Part:
    """The part of a run that this process measures: the whole run, or one member of a group."""

    def __init__(self, path: Path, turn: JobTurn, began: float, console: Console) -> None:
        self._path = path
        self._turn = turn
        self._began = began
        self._console = console
        self._book = JobBook(path)
        self._request: RunRequest | None = None
        self._run: RunDirectory | None = None
        self._before = 0
        self._compiling: dict[str, PartialProgress] | None = None
        self.ending = min(ENDING, ENDING_SHARE * (turn.walltime or 0.0))
        self.deadline: float | None = None

    def find(self) -> None:
        """Wait for the request written on another node, and record the start. Raises AssayError."""
        turn = self._turn
        if turn.leashed:
            end_with_parent()
        allocation = allocation_here()
        self._request = wait_for(RunDirectory(self._path).request, self._path)
        check_trusted_run(self._path)
        if self._request.members is None:
            self._run = RunDirectory(self._path)
            with contextlib.suppress(AssayError):  # records of an earlier start of this job
                self._book.requeued(turn.number)
            self._note(
                "started",
                host=socket.gethostname(),
                job=allocation.job if allocation else "",
                identity=cpu_kind(),
                processor=processor_name(),
            )
        else:
            members = wait_for(lambda: self._book.job(turn.number).members, self._path)
            self._run = RunDirectory(self._path).member(members[turn.task])
        self._before = _measured(self._run)
        if turn.walltime is not None:
            ends = allocation.ends if allocation else None
            ends = ends or self._began + turn.walltime
            self.deadline = ends - self.ending

    def near_its_end(self) -> bool:
        """Whether a request to end may be the scheduler's warning that the time is over."""
        if self.deadline is None:
            return False
        long = self._turn.walltime is not None and self._turn.walltime >= WARNED
        left = self.deadline + self.ending - time.time()
        return left <= (WARNING if long else 2 * self.ending)

    def measure(self) -> JobEnd:
        """Measure what is missing and store it. Raises the errors of ``execute_campaign``."""
        assert self._request is not None
        assert self._run is not None
        request, run = self._request, self._run
        bench = self._prepared(run, request)
        data = execute_campaign(
            run,
            bench,
            self._console,
            deadline=self.deadline,
            patience=HANDOVER,
            clock=MachineClock() if request.members is None else None,
            results=request.members is None,
        )
        if request.report and data.complete:
            with contextlib.suppress(AssayError):  # it can be written at any time
                _file_report(data)
        if not data.complete and upcoming(run, time.time()) is not None:
            return self.end("session")
        return self.end("complete" if data.complete else "incomplete")

    def _prepared(self, run: RunDirectory, request: RunRequest) -> Bench:
        """The bench that the job measures with.

        Raises OutOfTime if the time ends before the build.
        """
        self._compiling = interrupted_builds()
        over = threading.Event()

        def stop() -> None:
            over.set()
            os.kill(os.getpid(), signal.SIGTERM)

        timer = None
        if self.deadline is not None:
            timer = threading.Timer(max(self.deadline - time.time(), 0.0), stop)
            timer.daemon = True
            timer.start()
        try:
            bench = make_ready(run, request, self._console)
        except KeyboardInterrupt:
            if over.is_set():
                raise OutOfTime from None
            raise
        finally:
            if timer is not None:
                timer.cancel()
        self._compiling = None
        return bench

    def _compiled(self) -> tuple[float | None, int]:
        """The finished share of the kernels' build, and the number of files that this job compiled.

        None and 0 unless the job was building.
        """
        if self._compiling is None:
            return None, 0
        found = interrupted_builds()
        added = {
            key: now.done - (before.done if (before := self._compiling.get(key)) else 0)
            for key, now in found.items()
        }
        mine = [found[key] for key, count in added.items() if count > 0] or list(found.values())
        share = min((each.share for each in mine), default=None)
        return share, sum(count for count in added.values() if count > 0)

    def end(self, how: How, error: AssayError | None = None) -> JobEnd:
        """The end of this part, with the number of measurements and of missing cells."""
        measured, missing = 0, None
        if self._run is not None and self._run.begun:
            with contextlib.suppress(AssayError):
                data = read_run(self._run.path)
                measured = len(data.measurements) - self._before
                missing = missing_cells(data)
        compiled, objects = self._compiled()
        end = JobEnd(
            number=self._turn.number,
            utc=time.time(),
            how=how,
            made=measured,
            compiled=compiled,
            objects=objects,
            missing=missing,
            error=error.what if error else None,
            where=error.where if error else "",
            fix=error.fix if error else "",
            detail=error.detail if error else "",
        )
        if self._request is None or self._request.members is None:
            return end
        return msgspec.structs.replace(
            end, host=socket.gethostname(), processor=processor_name(), identity=cpu_kind()
        )

    def close(self, end: JobEnd) -> int:
        """Record the end, after submitting the next job if one is needed.

        Returns the exit status.
        """
        if end.how in ("time", "incomplete", "session") and end.progress:
            end = self._continued(end)
        problem = end.problem()
        if problem is not None:
            print(harmless(f"assay: {problem}"), file=sys.stderr)
        if end.compiled is not None and problem is None:
            print(f"assay: {compiled_words(end)}; the next job continues.", file=sys.stderr)
        group = self._request is not None and self._request.members is not None
        try:
            self._book.write_end(end, self._turn.task if group else None)
            if not group:
                self._note("ended", state=end.how, reason=end.error or "")
        except AssayError as error:
            print(harmless(f"assay: {error}"), file=sys.stderr)
            return 1
        self._pack(end)
        return 0 if end.how in ("complete", "session", "time", "asked", "warned") else 1

    def _pack(self, end: JobEnd) -> None:
        """Pack a complete member of a large group; other members stay folders."""
        request, run = self._request, self._run
        large = request is not None and (request.members or 0) >= PACKED_FROM
        if run is None or not large or end.how != "complete":
            return
        try:
            pack_member(run.path, *self._own_output())
        except AssayError as error:
            print(harmless(f"assay: the member's files were not packed: {error}"), file=sys.stderr)

    def _own_output(self) -> list[Path]:
        """The file with this task's output, if it is this process's standard output."""
        path = self._book.output_path(self._turn.number, self._turn.task)
        with contextlib.suppress(OSError):
            if os.path.samestat(path.stat(), os.fstat(1)):
                return [path]
        return []

    def _continued(self, end: JobEnd) -> JobEnd:
        """Submit the next job from this job, if nodes may submit jobs."""
        request = self._request
        if request is None or request.members is not None or request.job is None:
            return end
        try:
            story = submit(
                RunDirectory(self._path),
                request,
                scheduler_of(request.scheduler),
                after=self._turn.number,
            )
        except AssayError as error:  # the process that follows or resumes the run will submit it
            print(
                harmless(f"assay: the next job was not submitted from this node: {error}"),
                file=sys.stderr,
            )
            return end
        return msgspec.structs.replace(end, next=story.number)

    def _note(self, event: str, **what: str) -> None:
        """Add a line to the run's jobs.

        Errors are ignored, since they must not prevent measuring.
        """
        with contextlib.suppress(AssayError):
            self._book.append(
                msgspec.convert(
                    {"event": event, "number": self._turn.number, "utc": time.time(), **what},
                    JobEvent,
                )
            )


def make_ready(
    run: RunDirectory, request: RunRequest, console: Console, config: Config | None = None
) -> Bench:
    """Detect the machine, build what is needed, and write the run's plan if there is none.

    ``config`` replaces the request's. Raises AssayError.
    """
    settings = config or load_config(Path(request.config) if request.config else None)
    folder = msgspec.structs.replace(settings.defaults, runs=str(run.path.parent.absolute()))
    settings = dataclasses.replace(settings, defaults=folder)
    if request.members is not None:  # each node measures only itself
        settings = dataclasses.replace(settings, cluster=None)
    node = int(run.name) if request.members is not None else 0  # a member's name is its number
    machine = machine_for(settings, Path(request.fake) if request.fake else None, node)
    if run.begun:
        return prepare(machine, run.manifest().plan, console)
    plan = plan_here(request, machine.context)
    if request.fake is not None:
        check_cells(Path(request.fake), plan.cells)
    folder_of_runs = run.path.parent.parent if request.members is not None else run.path.parent
    plan = with_earlier_times(plan, folder_of_runs, machine.system.to_dict(), machine.fake)
    console.print(first_launches(plan).sentence, soft_wrap=True, markup=False, style="dim")
    bench = prepare(machine, plan, console)
    if request.members is not None:
        new_run(machine, bench, plan, run.path.parent, request.command, name=run.name)
        return bench
    with run.locked(patience=HANDOVER):
        if not run.begun:
            begin_run(run, machine, bench, plan, request.command)
    return bench


def missing_cells(data: RunData) -> list[str]:
    """The ids of the cells without a result, except the candidates of searches."""
    plan = data.manifest.plan
    have = {m.cell.id for m in data.measurements if m.record.status == "ok"}
    have |= set(plan.search.optional if plan.search else ())
    return [cell.id for cell in plan.cells if cell.id not in have]


def _file_report(run: RunData) -> None:
    """Write the report of a run into it. Raises AssayError if it can't be written."""
    from assay.records.files import RUNS
    from assay.report import build_report, write_report
    from assay.report.earlier_runs import read_history
    from assay.stats.cells.summarise import summarise_cells

    assert run.path is not None
    model = build_report(run, summarise_cells(run), read_history(run))
    write_report(model, run.path / REPORT, option=RUNS)


def _measured(run: RunDirectory) -> int:
    return len(read_run(run.path).measurements) if run.begun else 0
