"""The mould of all batch schedulers: PSI/J's executor of the kind, and what it lacks.

PSI/J knows the commands by which a job is submitted and cancelled, the id that a submission
answers with, and how a script is rendered from a template. Not used of it are its templates (they
know no arrays, modules or setup lines, and quote nothing that a directive holds), its polling (it
takes a forgotten job for a completed one, and two failed polls for the end of all), and with it
its parsing of states, which tells neither a walltime from a failure nor the tasks of an array.
"""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from subprocess import CalledProcessError

from psij import Job, SubmitException
from psij.executors.batch.batch_scheduler_executor import (
    BatchSchedulerExecutor,
    BatchSchedulerExecutorConfig,
    InvalidJobStateError,
)
from psij.executors.batch.script_generator import TemplatedScriptGenerator

from assay.errors import AssayError
from assay.launch.schedulers import commands
from assay.launch.schedulers.commands import Answer
from assay.launch.schedulers.model import JobRequest, JobState, JobStatus
from assay.launch.schedulers.script import body, check_output, check_request, template
from assay.records.files import write_atomically
from assay.records.jobs import JobAccounting

# Of an array whose tasks have ended, the worst end is the array's.
_WORST_FIRST: tuple[JobState, ...] = (
    *("running", "queued"),
    *("node-failed", "failed", "timeout", "preempted", "cancelled", "unknown", "complete"),
)


class Unpolled:
    """Mixed into an executor of PSI/J's: no thread that polls."""

    _NAME_ = "assay"

    def _start_queue_poll_thread(self) -> None:
        return None


class Batch(ABC):
    """A batch scheduler over an executor of PSI/J's.

    ``kind``: its name in ``[scheduler]``. ``title``: as people call it.
    """

    kind: str
    title: str
    # Whether the scheduler writes the output file as the job goes.
    writes_output = True
    # Whether scripts are read from standard input.
    script_on_stdin = False
    # What bash expands to the number of an array's task.
    task = "0"
    # What its cancel command says of jobs that have ended or are not known.
    gone = re.compile(r"(?!)")

    def __init__(
        self, executor: BatchSchedulerExecutor, quote: Callable[[object], str] = str
    ) -> None:
        self._executor = executor
        config = BatchSchedulerExecutorConfig()
        self._generator = TemplatedScriptGenerator(config, template(self.kind), escape=quote)

    @property
    def name(self) -> str:
        """Its kind, as in ``[scheduler]`` of assay.toml."""
        return self.kind

    @abstractmethod
    def values(self, request: JobRequest) -> Mapping[str, object]:
        """What the template needs, in this scheduler's notations. Raises AssayError."""

    @abstractmethod
    def status(self, ids: Iterable[str]) -> dict[str, JobStatus]:
        """The status of each of these jobs. Raises SchedulerSilent if there is no answer."""

    @abstractmethod
    def accounting(self, ids: Iterable[str]) -> dict[str, JobAccounting] | None:
        """What its accounting says of these jobs, of those that have ended and that it tells of.

        None where the site keeps no accounts. Raises SchedulerSilent if there is no answer.
        """

    def script(self, request: JobRequest) -> str:
        """The job script. Raises AssayError for what the scheduler has no notation for."""
        check_request(request)
        if self.writes_output:
            check_output(request)
        task = self.task if request.tasks > 1 else "0"
        context = dict(self.values(request))
        context["body"] = body(request, task=task, redirect=not self.writes_output)
        text = io.StringIO()
        self._generator.generate_submit_script(Job(), context, text)
        return text.getvalue()

    def submit(self, request: JobRequest, folder: Path) -> str:
        """Write the script into the folder and submit it; the scheduler's id of the job."""
        path = self._write(request, folder)
        return self._submit(self._executor.get_submit_command(Job(), path), path)

    def names(self, ids: Iterable[str]) -> dict[str, str]:
        """What the scheduler calls these jobs, of those that it still knows."""
        return {job: status.name for job, status in self.status(ids).items() if status.name}

    def cancel(self, ids: Iterable[str]) -> None:
        """End these jobs; those that have ended, or that nobody knows, are passed over."""
        for job in ids:
            command = self._executor.get_cancel_command(job)
            answer = self.run(command)
            if answer.status != 0 and not self.gone.search(answer.said):
                self._not_cancelled(job, answer)

    def run(self, command: list[str], *, stdin: Path | None = None) -> Answer:
        """Run one of its commands. Raises SchedulerSilent if there is no answer."""
        return commands.run(command, scheduler=self.title, stdin=stdin)

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
                f"{self.title} rejects the job: {_telling(answer.said)}.",
                where=str(script),
                detail=answer.said,
                mend="Correct [scheduler] in assay.toml.",
            )
        try:
            job: str = self._executor.job_id_from_submit_output(answer.out)
        except (IndexError, SubmitException):
            job = ""
        if not job:
            raise AssayError(
                f"{self.title} took the job and told no id that can be read.",
                where=str(script),
                detail=answer.said,
                mend="Look for it by hand before another is submitted.",
            )
        return job

    def _not_cancelled(self, job: str, answer: Answer) -> None:
        """Raises AssayError unless PSI/J knows the refusal for a job that has ended."""
        try:
            self._executor.process_cancel_command_output(answer.status, answer.said)
        except InvalidJobStateError:
            return
        except (SubmitException, CalledProcessError):
            raise AssayError(
                f"{self.title} does not cancel the job {job}: {_telling(answer.said)}.",
                detail=answer.said,
                mend="End it by hand.",
            ) from None


def of_array(tasks: Mapping[int, JobStatus]) -> JobStatus:
    """The status of an array with these tasks, of which there is one at least."""
    worst = min(tasks.values(), key=lambda status: _WORST_FIRST.index(status.state))
    name = next((status.name for status in tasks.values() if status.name), "")
    return JobStatus(worst.state, worst.reason, worst.exit, dict(tasks), name)


def by_signal(status: int, number: int) -> int:
    """An exit status as a shell has it: 128 + n after signal n."""
    return 128 + number if number else status


def _telling(said: str) -> str:
    """The last line, which says why, without the program's name before it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = lines[-1] if lines else "without a word"
    return re.sub(r"^(?:[\w-]+: )?(?:error: |ERROR: )?", "", last).rstrip(".")
