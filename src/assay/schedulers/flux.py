"""Flux: flux batch, flux jobs, flux cancel. Only its commands are used, not its Python bindings,
which may be installed for another Python.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.hostnames import expand_hosts
from assay.records.jobs import JobAccounting
from assay.schedulers.batch import Batch, of_array
from assay.schedulers.commands import CommandResult, unreadable
from assay.schedulers.model import (
    ENDED,
    TASK_VARIABLE,
    Ask,
    BatchSystem,
    Granted,
    JobRequest,
    JobState,
    JobStatus,
)
from assay.schedulers.reading import number_in
from assay.schedulers.script import begin_at, refused, seconds, warning

if TYPE_CHECKING:
    from psij.executors.batch.batch_scheduler_executor import BatchSchedulerExecutor


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
# Why jobs wait: flux-jobs(1), and reason_pending of RFC 27.
_PENDING = "{id.f58}|{urgency}|{dependencies}|{annotations.sched.reason_pending}"
_ACCOUNTED = "{id.f58}|{status}|{runtime}|{nodelist}"
# RFC 19: a job's id in base 58 begins with ƒ, or with f if ƒ can't be written.
_ID = re.compile(r"[ƒf][1-9A-HJ-NP-Za-km-z]+")
# RFC 19: the same id in decimal, hexadecimal and dotted hexadecimal digits.
_JOB = (
    r"[ƒf][1-9A-HJ-NP-Za-km-z]{1,12}|\d{1,20}|0x[0-9a-f]{1,16}"
    r"|[0-9a-f]{4}(?:\.[0-9a-f]{4}){3}"
)
_PLAIN = re.compile(r"[A-Za-z0-9_./:,@%+-]+", re.ASCII)
# An array is submitted as separate jobs; its id joins their ids.
_SEPARATOR = ","


class FluxScheduler(Batch):
    """Flux."""

    kind = "flux"
    title = "Flux"
    command = "flux"
    # Each job of an array gets its number as a variable when it is submitted.
    task = f'"${TASK_VARIABLE}"'
    job_id = re.compile(f"(?:{_JOB})(?:,(?:{_JOB}))*", re.ASCII)
    gone = re.compile(r"inactive|unknown|not found|No such", re.I)

    def make_executor(self) -> BatchSchedulerExecutor:
        """Not implemented: PSI/J's executor for Flux needs Flux's Python bindings."""
        raise NotImplementedError("Flux is used through its commands only")

    def quote(self, value: object) -> str:
        """Directives are split into words as by a shell, and # begins a comment (RFC 36)."""
        text = str(value)
        if _PLAIN.fullmatch(text):
            return text
        return "'" + text.replace("'", "'\"'\"'") + "'"

    def submit_command(self, script: Path) -> list[str]:
        """flux-batch(1)."""
        return [*_flux(), "batch", str(script.absolute())]

    def submitted_id(self, output: str) -> str:
        """The last word of the output that looks like an id."""
        words = [word for word in output.split() if _ID.fullmatch(word)]
        return _ascii(words[-1]) if words else ""

    def cancel_command(self, job: str) -> list[str]:
        """flux-cancel(1); Python's argparse knows the end of options."""
        return [*_flux(), "cancel", "--", job]

    def has_ended(self, answer: CommandResult) -> bool:
        """False: ``gone`` matches Flux's messages on ended jobs."""
        return False

    def values(self, request: JobRequest) -> Mapping[str, object]:
        """flux-batch(1), and its SUBMISSION DIRECTIVES (RFC 36). Flux has no reservations."""
        options = request.options
        if options.reservation:
            raise refused("reservation", options.reservation, "Flux has none")
        if "{{" in str(request.output):
            raise refused("output file", str(request.output), "Flux replaces what is in {{ }}")
        if request.tasks > 1 and options.at_once is not None:
            raise refused("limit at_once", str(options.at_once), "Flux has no arrays to limit")
        for value in (request.name, str(request.output), options.partition, options.account):
            if value and ('"""' in value or "'''" in value):
                raise refused("text", value, "Flux treats three consecutive quotes as a block")
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
        """``flux batch`` has no arrays, so each task is submitted as a separate job."""
        path = self._write(request, folder)
        command = self.submit_command(path)
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
        """End these jobs; jobs that have ended or are unknown are skipped."""
        super().cancel([job for whole in ids for job in whole.split(_SEPARATOR)])

    def status(self, ids: Iterable[str]) -> dict[str, JobStatus]:
        """flux-jobs(1)."""
        requested = self.checked(ids)
        single = [job for whole in requested for job in whole.split(_SEPARATOR)]
        statuses = self._statuses(single) if single else {}
        forgotten = JobStatus("unknown", "Flux does not know the job")
        found = {}
        for whole in requested:
            tasks = [statuses.get(_ascii(job), forgotten) for job in whole.split(_SEPARATOR)]
            found[whole] = tasks[0] if len(tasks) == 1 else of_array(dict(enumerate(tasks)))
        return found

    def names(self, ids: Iterable[str]) -> dict[str, str]:
        """The names of these jobs; for an array, the name of its first job."""
        first = {_ascii(whole.split(_SEPARATOR)[0]): whole for whole in self.checked(ids)}
        if not first:
            return {}
        answer = self.run([*_flux(), "jobs", "-a", "-n", "--format={id.f58}|{name}", *first])
        if answer.status != 0 and not answer.out.strip() and not self.gone.search(answer.said):
            raise unreadable(self.title, "flux jobs", answer)
        pairs = (line.strip().partition("|") for line in answer.out.splitlines())
        return {first[_ascii(job)]: name for job, _, name in pairs if _ascii(job) in first}

    def accounting(self, ids: Iterable[str]) -> dict[str, JobAccounting]:
        """flux-jobs(1): elapsed time and hosts; Flux reports no CPU time.

        Arrays are omitted, since Flux has no accounting for all jobs of an array together.
        """
        requested = {_ascii(job): job for job in self.checked(ids) if _SEPARATOR not in job}
        if not requested:
            return {}
        answer = self.run([*_flux(), "jobs", "-a", "-n", f"--format={_ACCOUNTED}", *requested])
        found: dict[str, JobAccounting] = {}
        for line in answer.out.splitlines():
            fields = line.strip().split("|", 3)
            if len(fields) != 4 or _ascii(fields[0]) not in requested:
                continue
            if _STATES.get(fields[1]) not in ENDED:
                continue
            found[requested[_ascii(fields[0])]] = JobAccounting(
                source="flux jobs",
                state=fields[1],
                elapsed=seconds(fields[2]),
                hosts=fields[3] or None,
            )
        return found

    def _statuses(self, jobs: list[str]) -> dict[str, JobStatus]:
        answer = self.run(
            [*_flux(), "jobs", "-a", "--suppress-header", f"--format={_FORMAT}", *jobs]
        )
        if answer.status != 0 and not answer.out.strip() and not self.gone.search(answer.said):
            raise unreadable(self.title, "flux jobs", answer)
        statuses: dict[str, JobStatus] = {}
        for line in answer.out.splitlines():
            fields = line.strip().split("|", 4)
            if len(fields) == 5 and _ID.fullmatch(fields[0]):
                statuses[_ascii(fields[0])] = _status(*fields[1:])
            elif not statuses:  # otherwise it continues a multi-line note
                raise unreadable(self.title, "flux jobs", answer)
        waiting = [job for job, status in statuses.items() if status.state == "queued"]
        return statuses | (self._pending(waiting, statuses) if waiting else {})

    def _pending(self, jobs: list[str], statuses: Mapping[str, JobStatus]) -> dict[str, JobStatus]:
        """The statuses of queued jobs, with Flux's reasons if it reports any."""
        answer = self.run([*_flux(), "jobs", "-a", "-n", f"--format={_PENDING}", *jobs])
        found: dict[str, JobStatus] = {}
        for line in answer.out.splitlines():
            fields = line.strip().split("|", 3)
            known = statuses.get(_ascii(fields[0]))
            if answer.status != 0 or len(fields) != 4 or known is None:
                continue  # versions that lack one of these fields
            urgency, dependencies, why = (field.strip() for field in fields[1:])
            held = urgency == "0"
            reasons = [f"dependencies: {dependencies}" if dependencies else "", why]
            reasons.append("held: its urgency is 0" if held else "")
            found[_ascii(fields[0])] = replace(
                known,
                reason=known.reason or "; ".join(filter(None, reasons)),
                prospect="held" if held else "",
            )
        return found


def _status(word: str, returncode: str, exception: str, note: str) -> JobStatus:
    state = _STATES.get(word)
    if state is None:
        return JobStatus("unknown", f"Flux reports the state {word}")
    if state == "failed" and exception.startswith("node"):
        state = "node-failed"
    number = int(returncode) if re.fullmatch(r"-?\d{1,9}", returncode, re.ASCII) else None
    if number is not None and number < 0:
        # flux-jobs(1): negative after a signal, and -128 for a job that never ran.
        number = None if number == -128 else 128 - number
    reason = ": ".join(text for text in (exception, note) if text)
    return JobStatus(state, reason, number if state in ("complete", "failed") or number else None)


def _flux() -> list[str]:
    """The command; within a Flux job, it addresses the parent instance, which runs the job."""
    return ["flux", "--parent"] if os.environ.get("FLUX_ENCLOSING_ID") else ["flux"]


def _ascii(job: str) -> str:
    return "f" + job[1:] if job.startswith("ƒ") else job


def _granted(environ: Mapping[str, str], ask: Ask) -> Granted | None:
    # Set in a batch job or `flux alloc`, which are Flux instances.
    job = environ.get("FLUX_ENCLOSING_ID") or environ.get("FLUX_JOB_ID")
    if not job or not environ.get("FLUX_URI"):
        return None
    states = ("--states=free,allocated", "--no-header", "--format={nodelist}")
    printed = ask(("flux", "resource", "list", *states), {})
    if printed is None:
        raise AssayError(
            "Flux doesn't say which hosts this job has.",
            where=f"job {job}",
            fix="Check that `flux resource list` works here.",
        )
    hosts = [host for line in printed.split() for host in expand_hosts(line)]
    left = number_in((ask(("flux", "job", "timeleft"), {}) or "").strip())
    ends = time.time() + left if left else None
    return Granted(job, tuple(dict.fromkeys(hosts)), ends)


SYSTEM = BatchSystem(
    name="flux",
    title="Flux",
    command="flux",
    version_options=("version",),
    job_variable="FLUX_JOB_ID",
    prefix="FLUX_",
    node_variables=("FLUX_JOB_NNODES",),
    granted=_granted,
    shell_program="flux",
    shell_line="exec {program} exec $([ -p /dev/stdin ] || echo --noinput) "
    '--rank "$({program} overlay lookup "$host")" sh -c "$*"',
)
SCHEDULERS = (FluxScheduler,)
