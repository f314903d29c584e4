"""The common base of batch schedulers: PSI/J's executor, and additions to it.

PSI/J provides the commands that submit and cancel jobs, the parsing of job ids, and the rendering
of templates. assay doesn't use its templates, which have no arrays, modules or setup lines and
don't quote directives' values. It doesn't use its polling, which treats a forgotten job as
completed, and two failed polls as the end of all jobs. It doesn't use its parsing of states, which
distinguishes neither a reached walltime from a failure nor the tasks of an array.

PSI/J takes half a second to import, and most commands submit nothing. So it is imported only when a
script is written, or a job is submitted or cancelled.
"""

from __future__ import annotations

import io
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from subprocess import CalledProcessError
from typing import TYPE_CHECKING, TypeVar

from assay.errors import AssayError
from assay.records.files import write_atomically
from assay.records.jobs import JobAccounting
from assay.schedulers import commands
from assay.schedulers.commands import CommandResult
from assay.schedulers.model import JobRequest, JobState, JobStatus, SchedulerNode
from assay.schedulers.script import body, check_output, check_request, template

if TYPE_CHECKING:
    from psij.executors.batch.batch_scheduler_executor import BatchSchedulerExecutor

# The state of an array is the first of these states that any of its tasks has.
_WORST_FIRST: tuple[JobState, ...] = (
    *("running", "queued"),
    *("node-failed", "failed", "timeout", "preempted", "cancelled", "unknown", "complete"),
)


E = TypeVar("E")


def unpolled(executor: type[E]) -> type[E]:
    """A subclass of a PSI/J executor without its polling thread."""

    def no_polling(_: object) -> None:
        return None

    members = {"_NAME_": "assay", "_start_queue_poll_thread": no_polling}
    subclass: type[E] = type(f"Unpolled{executor.__name__}", (executor,), members)
    return subclass


class Batch(ABC):
    """A batch scheduler on top of an executor of PSI/J."""

    # Its name in ``[scheduler]`` of assay.toml, and in texts.
    kind: str
    title: str
    # The command that submits jobs.
    command: str
    # Whether the scheduler writes the output file while the job runs.
    writes_output = True
    # Whether a job can be sent to named nodes.
    names_nodes = False
    # Whether scripts are read from standard input.
    script_on_stdin = False
    # Variables for its commands; None removes one of the user's.
    variables: Mapping[str, str | None] = {}
    # A bash expression for the number of an array's task.
    task = "0"
    # Matches a job's id in all of the scheduler's notations.
    job_id = re.compile(r"(?!)")
    # Matches messages of its commands on jobs that have ended or are unknown.
    gone = re.compile(r"(?!)")

    @classmethod
    def is_here(cls) -> bool:
        """Whether its commands are on PATH and don't belong to another scheduler."""
        return shutil.which(cls.command) is not None

    @abstractmethod
    def make_executor(self) -> BatchSchedulerExecutor:
        """PSI/J's executor for this scheduler, ``unpolled``."""

    @cached_property
    def executor(self) -> BatchSchedulerExecutor:
        """PSI/J's executor, created on first use."""
        return self.make_executor()

    def quote(self, value: object) -> str:
        """A directive's value, quoted by the scheduler's rule."""
        return str(value)

    def submit_command(self, script: Path) -> list[str]:
        """The command line that submits a script."""
        from psij import Job

        words: list[str] = self.executor.get_submit_command(Job(), script)
        return words

    def cancel_command(self, job: str) -> list[str]:
        """The command line that ends a job."""
        words: list[str] = self.executor.get_cancel_command(job)
        return words

    def submitted_id(self, output: str) -> str:
        """The id in the output of the submission; empty if there is none."""
        from psij import SubmitException

        try:
            job: str = self.executor.job_id_from_submit_output(output)
        except (IndexError, SubmitException):
            return ""
        return job

    def has_ended(self, answer: CommandResult) -> bool:
        """Whether the cancel command's failure means that the job has ended."""
        from psij import SubmitException
        from psij.executors.batch.batch_scheduler_executor import InvalidJobStateError

        try:
            self.executor.process_cancel_command_output(answer.status, answer.said)
        except InvalidJobStateError:
            return True
        except (SubmitException, CalledProcessError):
            return False
        return True

    @property
    def name(self) -> str:
        """Its kind, as in ``[scheduler]`` of assay.toml."""
        return self.kind

    @abstractmethod
    def values(self, request: JobRequest) -> Mapping[str, object]:
        """The template's values in this scheduler's notation. Raises AssayError."""

    @abstractmethod
    def status(self, ids: Iterable[str]) -> dict[str, JobStatus]:
        """The status of each of these jobs. Raises SchedulerSilent if there is no answer."""

    @abstractmethod
    def accounting(self, ids: Iterable[str]) -> dict[str, JobAccounting] | None:
        """The accounting of the ended jobs among these, as far as the scheduler reports it.

        None if the site has no accounting. Raises SchedulerSilent if there is no answer.
        """

    def script(self, request: JobRequest) -> str:
        """The job script. Raises AssayError for values that it can't contain."""
        check_request(request)
        if request.hosts and not self.names_nodes:
            raise AssayError(
                f"assay can't send jobs of {self.title} to named nodes.",
                fix="Request a number of nodes.",
            )
        if self.writes_output:
            check_output(request)
        task = self.task if request.tasks > 1 else "0"
        context = dict(self.values(request))
        context["body"] = body(request, task=task, redirect=not self.writes_output)
        return self._render(context)

    def submit(self, request: JobRequest, folder: Path) -> str:
        """Write the script into the folder and submit it; returns the scheduler's id."""
        path = self._write(request, folder)
        return self._submit(self.submit_command(path), path)

    def names(self, ids: Iterable[str]) -> dict[str, str]:
        """The scheduler's names of the jobs among these that it still knows."""
        return {job: status.name for job, status in self.status(ids).items() if status.name}

    def checked(self, ids: Iterable[str]) -> list[str]:
        """The distinct ids. Raises AssayError for a text that is not an id of this scheduler.

        Ids are read from files and from the output of commands, and become arguments of commands,
        where any other text could be an option.
        """
        found = list(dict.fromkeys(ids))
        for job in found:
            if not self.job_id.fullmatch(job):
                shown = job if job.isprintable() else ascii(job)[1:-1]
                raise AssayError(
                    f"'{shown[:80]}' is not an id of a job of {self.title}.",
                    fix="The record of the run's jobs (jobs.jsonl) was damaged or edited.",
                )
        return found

    def array_limit(self) -> int | None:
        """Maximum number of tasks of an array; None if no limit is known."""
        return None

    def nodes(self, partition: str | None) -> list[SchedulerNode] | None:
        """The nodes of a partition; None: they can't be listed."""
        return None

    def cancel(self, ids: Iterable[str]) -> None:
        """End these jobs; jobs that have ended or are unknown are skipped."""
        for job in self.checked(ids):
            answer = self.run(self.cancel_command(job))
            if answer.status == 0 or self.gone.search(answer.said) or self.has_ended(answer):
                continue
            raise AssayError(
                f"{self.title} does not cancel the job {job}: {_reason(answer.said)}.",
                detail=answer.said,
                fix="Cancel it with the scheduler's command.",
            )

    def run(self, command: list[str], *, stdin: Path | None = None) -> CommandResult:
        """Run one of its commands. Raises SchedulerSilent if there is no answer."""
        return commands.run(command, scheduler=self.title, stdin=stdin, variables=self.variables)

    def _write(self, request: JobRequest, folder: Path) -> Path:
        text = self.script(request)
        path = folder.absolute() / f"{request.output.stem}.sh"
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode("utf-8", "surrogateescape"))
        return path

    def _submit(self, command: list[str], script: Path) -> str:
        answer = commands.run(
            command,
            scheduler=self.title,
            stdin=script if self.script_on_stdin else None,
            folder=script.parent,
        )
        if answer.status != 0:
            raise AssayError(
                f"{self.title} rejects the job: {_reason(answer.said)}.",
                where=str(script),
                detail=answer.said,
                fix="Correct [scheduler] in assay.toml.",
            )
        job = self.submitted_id(answer.out)
        if not self.job_id.fullmatch(job):
            raise AssayError(
                f"{self.title} accepted the job, but its id can't be read.",
                where=str(script),
                detail=answer.said,
                fix="Look for the job with the scheduler's command before you submit another one.",
            )
        return job

    def _render(self, values: Mapping[str, object]) -> str:
        from psij import Job
        from psij.executors.batch.batch_scheduler_executor import BatchSchedulerExecutorConfig
        from psij.executors.batch.script_generator import TemplatedScriptGenerator

        generator = TemplatedScriptGenerator(
            BatchSchedulerExecutorConfig(), template(self.kind), escape=self.quote
        )
        text = io.StringIO()
        generator.generate_submit_script(Job(), dict(values), text)
        return text.getvalue()


def of_array(tasks: Mapping[int, JobStatus]) -> JobStatus:
    """The status of an array with these tasks; it needs at least one."""
    worst = min(tasks.values(), key=lambda status: _WORST_FIRST.index(status.state))
    name = next((status.name for status in tasks.values() if status.name), "")
    return JobStatus(
        state=worst.state,
        reason=worst.reason,
        exit=worst.exit,
        tasks=dict(tasks),
        name=name,
        prospect=worst.prospect,
    )


def by_signal(status: int, number: int) -> int:
    """An exit status as in a shell: 128 + n after signal n."""
    return 128 + number if number else status


def _reason(said: str) -> str:
    """The last line of a message, without the program's name."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = lines[-1] if lines else "without a message"
    return re.sub(r"^(?:[\w-]+: )?(?:error: |ERROR: )?", "", last).rstrip(".")
