"""Types of batch systems: their commands and variables, job requests and job statuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from assay.config import SchedulerConfig
from assay.errors import AssayError
from assay.model.placement import Placement
from assay.records.jobs import JobAccounting

JobState = Literal[
    "queued",
    "running",
    "complete",
    "failed",
    "cancelled",
    "timeout",
    "node-failed",
    "preempted",
    "unknown",
]
# What a scheduler says about the start of a queued job. "held": a person must release it;
# "limited": a limit, or the job, must be changed; "never": it will not start; empty: it waits for
# its turn.
Prospect = Literal["", "held", "limited", "never"]
# States after which no part of the job will run. "unknown" is not among them: then the scheduler
# has forgotten the job, and only the job's own files show how it ended.
ENDED: frozenset[JobState] = frozenset(
    ("complete", "failed", "cancelled", "timeout", "node-failed", "preempted")
)
# Environment variable with the number of a job's task, from 0; "0" without an array.
TASK_VARIABLE = "ASSAY_TASK"


# Runs a scheduler's command with further variables; returns its output, None if it failed.
Ask = Callable[[Sequence[str], Mapping[str, str]], str | None]


@dataclass(frozen=True)
class Granted:
    """An allocation: the job's id, its hosts in the scheduler's order, and its end."""

    job: str
    hosts: tuple[str, ...]
    #: Unix time in seconds, None if unknown.
    ends: float | None


@dataclass(frozen=True)
class BatchSystem:
    """How a batch system is recognised, and its commands and variables within a job."""

    #: Name of the system in records.
    name: str
    #: Name of the system in texts.
    title: str
    #: A command that no other system has; ``version_options`` make it print its version.
    command: str
    version_options: tuple[str, ...]
    #: Environment variable with a job's id; ``node_variables`` have the job's number of nodes. All
    #: variables of a job begin with ``prefix``.
    job_variable: str
    prefix: str
    node_variables: tuple[str, ...] = ()
    #: Returns the allocation of this process, None outside a job.
    granted: Callable[[Mapping[str, str], Ask], Granted | None] = lambda environ, ask: None
    #: Runs a command on one of a job's hosts by the shell line ``shell_line``, with ``{program}``
    #: for the program, ``$host`` for the host and ``$*`` for the command.
    shell_program: str = ""
    shell_line: str = ""
    #: ``shell_silent``, ``shell_lost``: patterns of the program's messages when the scheduler
    #: doesn't answer, and when it no longer knows the job.
    shell_silent: str = ""
    shell_lost: str = ""
    #: How mpirun starts its agents; see ``ClusterConfig``.
    starter: Literal["shell", "slurm"] = "shell"
    #: ``launch_line``, ``job_line``: lines for a placement and the number of hardware threads per
    #: core, to launch a program and to request resources in a job script; None if the system has no
    #: notation for them.
    launch_line: Callable[[Placement, int], str] | None = None
    job_line: Callable[[Placement, int], str] | None = None


@dataclass(frozen=True)
class SchedulerNode:
    """A node of a partition."""

    name: str
    #: State of the node in the scheduler's words.
    state: str
    #: Whether jobs run on the node now or later without an administrator's action.
    usable: bool
    #: Reason why they don't; empty if none is recorded.
    reason: str = ""


class SchedulerSilent(AssayError):
    """The scheduler did not answer. Repeat the query; a job may still be running."""


class SchedulerUnreadable(SchedulerSilent):
    """The scheduler gave an answer that can't be read, so repeating the query may not help."""


@dataclass(frozen=True)
class JobRequest:
    """A job, or an array of ``tasks`` jobs that differ only in ``$ASSAY_TASK``."""

    name: str
    #: Command that is run once, on the job's first node, in ``directory``.
    command: tuple[str, ...]
    directory: Path
    #: Number of nodes of each task.
    nodes: int
    #: Seconds after which the scheduler may end the job.
    walltime: float
    #: Output file of the job; each task of an array has its own, see ``output_of``.
    output: Path
    tasks: int = 1
    options: SchedulerConfig = SchedulerConfig()  # noqa: RUF009
    #: Variables that are set before the command, after the modules and setup lines of ``options``.
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Earliest start, Unix time; None without a limit.
    begin: float | None = None
    #: Names of the nodes on which it must run, exactly ``nodes`` of them; empty for any nodes.
    hosts: tuple[str, ...] = ()
    #: File that the command reads as its standard input; None: nothing.
    input: Path | None = None

    def output_of(self, task: int) -> Path:
        """The output file of one task: ``job.out`` without an array, else ``job-3.out``."""
        if self.tasks == 1:
            return self.output
        return self.output.with_name(f"{self.output.stem}-{task}{self.output.suffix}")


@dataclass(frozen=True)
class JobStatus:
    """The status of a job, as its scheduler reports it."""

    state: JobState
    #: Reason, as the scheduler prints it; empty without a reason.
    reason: str = ""
    #: The exit status of the job's script, None if unknown; 128 + n after signal n.
    exit: int | None = None
    #: The status of each task of an array, by number, if the scheduler reports them separately; the
    #: array runs while a task runs, is queued while a task is queued, and otherwise has the state
    #: of its worst task.
    tasks: Mapping[int, JobStatus] = field(default_factory=dict)
    #: The job's name in the scheduler; empty if it isn't reported.
    name: str = ""
    #: For a queued job, whether it will start without a person's action, according to the
    #: scheduler's reason.
    prospect: Prospect = ""

    @property
    def ended(self) -> bool:
        """Whether no part of the job will run anymore."""
        return self.state in ENDED


class BatchScheduler(Protocol):
    """A batch scheduler on a host where its commands work."""

    @property
    def name(self) -> str:
        """Its kind, as in ``[scheduler]`` of assay.toml: ``"slurm"``, ``"pbs"`` …"""
        ...

    def script(self, request: JobRequest) -> str:
        """The job script, ready to submit.

        Raises AssayError for values that it can't contain, such as a newline in a name.
        """
        ...

    def submit(self, request: JobRequest, folder: Path) -> str:
        """Write the script into the folder and submit it; returns the scheduler's id of the job.

        Raises AssayError with the scheduler's message if it is rejected, SchedulerSilent if there
        is no answer; in this case the job may or may not have been accepted.
        """
        ...

    def status(self, ids: Iterable[str]) -> dict[str, JobStatus]:
        """The status of each of these jobs. Raises SchedulerSilent if there is no answer."""
        ...

    def names(self, ids: Iterable[str]) -> dict[str, str]:
        """The scheduler's names of the jobs among these that it still knows.

        Schedulers reuse ids, so the name shows whether a job is the expected one. Raises
        SchedulerSilent if there is no answer.
        """
        ...

    def accounting(self, ids: Iterable[str]) -> dict[str, JobAccounting] | None:
        """The accounting of the ended jobs among these, as far as the scheduler reports it.

        None if the site has no accounting. Raises SchedulerSilent if there is no answer.
        """
        ...

    def array_limit(self) -> int | None:
        """Maximum number of tasks of an array; at most 1 if there are no arrays.

        None without a limit. Raises SchedulerSilent if there is no answer.
        """
        ...

    def nodes(self, partition: str | None) -> list[SchedulerNode] | None:
        """The nodes of a partition, by default the default one; None if they can't be listed.

        Raises AssayError with the scheduler's message, SchedulerSilent if there is no answer.
        """
        ...

    def cancel(self, ids: Iterable[str]) -> None:
        """End these jobs; jobs that have ended or are unknown are skipped.

        Raises AssayError with the scheduler's message, SchedulerSilent if there is no answer.
        """
        ...
