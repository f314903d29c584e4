"""Flux: flux batch, flux jobs, flux cancel; by its commands, since its Python may be another's."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import IO

from psij import Job
from psij.executors.batch.batch_scheduler_executor import (
    BatchSchedulerExecutor,
    BatchSchedulerExecutorConfig,
)
from psij.job_status import JobStatus as PsijStatus

from assay.errors import AssayError
from assay.launch.schedulers.batch import Batch, Unpolled, of_array
from assay.launch.schedulers.commands import unreadable
from assay.launch.schedulers.model import (
    ENDED,
    TASK_VARIABLE,
    JobRequest,
    JobState,
    JobStatus,
)
from assay.launch.schedulers.script import begin_at, refused, seconds, warning
from assay.records.jobs import JobAccounting

# flux-jobs(1), JOB STATUS: states, statuses and results.
_STATES: dict[str, JobState] = {
    **dict.fromkeys(("PENDING", "DEPEND", "PRIORITY", "SCHED"), "queued"),
    **dict.fromkeys(("RUNNING", "RUN", "CLEANUP"), "running"),
    "COMPLETED": "complete",
    "FAILED": "failed",
    "CANCELED": "cancelled",
    "TIMEOUT": "timeout",
}
_FORMAT = "{id.f58}|{status}|{returncode}|{exception.type}|{exception.note}"
_ACCOUNTED = "{id.f58}|{status}|{runtime}|{nodelist}"
# RFC 19: a job's id in base 58 begins with ƒ, or with f where that can't be written.
_ID = re.compile(r"[ƒf][1-9A-HJ-NP-Za-km-z]+")
_PLAIN = re.compile(r"[A-Za-z0-9_./:,@%+-]+", re.ASCII)
# An array is so many jobs, and its id their ids.
_SEPARATOR = ","


class _Executor(Unpolled, BatchSchedulerExecutor):  # type: ignore[misc]
    """An executor in PSI/J's mould; its own for Flux needs Flux's Python bindings."""

    def generate_submit_script(
        self, job: Job, context: dict[str, object], submit_file: IO[str]
    ) -> None:
        raise NotImplementedError("scripts are made by Batch.script")

    def get_submit_command(self, job: Job, submit_file_path: Path) -> list[str]:
        return [*_flux(), "batch", str(submit_file_path.absolute())]

    def job_id_from_submit_output(self, out: str) -> str:
        words = [word for word in out.split() if _ID.fullmatch(word)]
        return _ascii(words[-1]) if words else ""

    def get_cancel_command(self, native_id: str) -> list[str]:
        return [*_flux(), "cancel", native_id]

    def process_cancel_command_output(self, exit_code: int, out: str) -> None:
        from psij import SubmitException

        raise SubmitException(out)

    def get_status_command(self, native_ids: Collection[str]) -> list[str]:
        return [*_flux(), "jobs", "-a", "--suppress-header", f"--format={_FORMAT}", *native_ids]

    def parse_status_output(self, exit_code: int, out: str) -> dict[str, PsijStatus]:
        raise NotImplementedError("states are read by FluxScheduler.status")

    def get_list_command(self) -> list[str]:
        return [*_flux(), "jobs", "--suppress-header", "--format={id.f58}"]


class FluxScheduler(Batch):
    """Flux."""

    kind = "flux"
    title = "Flux"
    # An array's jobs are told their numbers when they are submitted.
    task = f'"${TASK_VARIABLE}"'
    gone = re.compile(r"inactive|unknown|not found|No such", re.I)

    def __init__(self) -> None:
        super().__init__(_Executor(config=BatchSchedulerExecutorConfig()), _quote)

    def values(self, request: JobRequest) -> Mapping[str, object]:
        """flux-batch(1), and its SUBMISSION DIRECTIVES (RFC 36). Flux has no reservations."""
        options = request.options
        if options.reservation:
            raise refused("reservation", options.reservation, "Flux has none")
        if "{{" in str(request.output):
            raise refused("output file", str(request.output), "Flux replaces what is in {{ }}")
        for value in (request.name, str(request.output), options.partition, options.account):
            if value and ('"""' in value or "'''" in value):
                raise refused("text", value, "three quotes in a row begin a block of Flux's")
        return {
            "name": request.name,
            "output": str(request.output),
            "nodes": str(request.nodes),
            "exclusive": options.exclusive,
            "walltime": f"{math.ceil(request.walltime)}s",
            "begin": begin_at(request, "%Y-%m-%d %H:%M:%S"),
            "warning": warning(request),
            "partition": options.partition,
            "account": options.account,
            "constraint": options.constraint,
            "directives": list(options.directives),
        }

    def submit(self, request: JobRequest, folder: Path) -> str:
        """As everywhere; ``flux batch`` knows no arrays, so that each task is a job of its own."""
        path = self._write(request, folder)
        command = self._executor.get_submit_command(Job(), path)
        if request.tasks == 1:
            return self._submit(command, path)
        jobs: list[str] = []
        try:
            for task in range(request.tasks):
                own = [f"--env={TASK_VARIABLE}={task}", f"--output={request.output_of(task)}"]
                jobs.append(self._submit([*command[:-1], *own, command[-1]], path))
        except BaseException:
            with contextlib.suppress(AssayError):
                self.cancel(jobs)
            raise
        return _SEPARATOR.join(jobs)

    def cancel(self, ids: Iterable[str]) -> None:
        """End these jobs; those that have ended, or that nobody knows, are passed over."""
        super().cancel(job for whole in ids for job in whole.split(_SEPARATOR))

    def status(self, ids: Iterable[str]) -> dict[str, JobStatus]:
        """flux-jobs(1)."""
        asked = list(dict.fromkeys(ids))
        single = [job for whole in asked for job in whole.split(_SEPARATOR)]
        told = self._told(single) if single else {}
        forgotten = JobStatus("unknown", "Flux does not know the job")
        found = {}
        for whole in asked:
            tasks = [told.get(_ascii(job), forgotten) for job in whole.split(_SEPARATOR)]
            found[whole] = tasks[0] if len(tasks) == 1 else of_array(dict(enumerate(tasks)))
        return found

    def names(self, ids: Iterable[str]) -> dict[str, str]:
        """What Flux calls these jobs; of an array the first one's name."""
        first = {_ascii(whole.split(_SEPARATOR)[0]): whole for whole in ids}
        if not first:
            return {}
        answer = self.run([*_flux(), "jobs", "-a", "-n", "--format={id.f58}|{name}", *first])
        if answer.status != 0 and not answer.out.strip() and not self.gone.search(answer.said):
            raise unreadable(self.title, "flux jobs", answer)
        pairs = (line.strip().partition("|") for line in answer.out.splitlines())
        return {first[_ascii(job)]: name for job, _, name in pairs if _ascii(job) in first}

    def accounting(self, ids: Iterable[str]) -> dict[str, JobAccounting]:
        """flux-jobs(1): the time that a job ran and where. Flux counts no CPU time.

        An array is so many jobs, and none of them is the whole.
        """
        asked = {_ascii(job): job for job in ids if _SEPARATOR not in job}
        if not asked:
            return {}
        answer = self.run([*_flux(), "jobs", "-a", "-n", f"--format={_ACCOUNTED}", *asked])
        found: dict[str, JobAccounting] = {}
        for line in answer.out.splitlines():
            fields = line.strip().split("|", 3)
            if len(fields) != 4 or _ascii(fields[0]) not in asked:
                continue
            if _STATES.get(fields[1]) not in ENDED:
                continue
            found[asked[_ascii(fields[0])]] = JobAccounting(
                source="flux jobs",
                state=fields[1],
                elapsed=seconds(fields[2]),
                hosts=fields[3] or None,
            )
        return found

    def _told(self, jobs: list[str]) -> dict[str, JobStatus]:
        answer = self.run(self._executor.get_status_command(jobs))
        if answer.status != 0 and not answer.out.strip() and not self.gone.search(answer.said):
            raise unreadable(self.title, "flux jobs", answer)
        told = {}
        for line in answer.out.splitlines():
            fields = line.strip().split("|", 4)
            if len(fields) != 5:
                raise unreadable(self.title, "flux jobs", answer)
            told[_ascii(fields[0])] = _status(*fields[1:])
        return told


def _status(word: str, returncode: str, exception: str, note: str) -> JobStatus:
    state = _STATES.get(word)
    if state is None:
        return JobStatus("unknown", f"Flux calls it {word}")
    if state == "failed" and exception.startswith("node"):
        state = "node-failed"
    number = int(returncode) if re.fullmatch(r"-?\d+", returncode) else None
    if number is not None and number < 0:
        # flux-jobs(1): negative after a signal, and -128 of a job that never ran.
        number = None if number == -128 else 128 - number
    reason = ": ".join(text for text in (exception, note) if text)
    return JobStatus(state, reason, number if state in ("complete", "failed") or number else None)


def _flux() -> list[str]:
    """The command; within a job of Flux's, asked of the instance that runs the job."""
    return ["flux", "--parent"] if os.environ.get("FLUX_ENCLOSING_ID") else ["flux"]


def _ascii(job: str) -> str:
    return "f" + job[1:] if job.startswith("ƒ") else job


def _quote(value: object) -> str:
    """A directive's word: they are split as a shell's are (RFC 36), with # as a comment's sign."""
    text = str(value)
    if _PLAIN.fullmatch(text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"
