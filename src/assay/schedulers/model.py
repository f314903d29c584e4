"""What every batch system is: its commands and variables, and jobs that it runs and reports."""

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
# States after which nothing of the job will run any more. "unknown" is none of them by itself: the
# scheduler has forgotten the job, and whether it ended well stands in what it has written.
ENDED: frozenset[JobState] = frozenset(
    ("complete", "failed", "cancelled", "timeout", "node-failed", "preempted")
)
# The variable in which a job's command finds its task's number, from 0; "0" without an array.
TASK_VARIABLE = "ASSAY_TASK"


# Runs a scheduler's command with further variables: what it printed, None if it failed.
Ask = Callable[[Sequence[str], Mapping[str, str]], str | None]


@dataclass(frozen=True)
class Granted:
    """What a job was given: its id, its hosts in the scheduler's order, and when it will be ended.

    ``ends``: Unix time in seconds, None where that isn't known.
    """

    job: str
    hosts: tuple[str, ...]
    ends: float | None


@dataclass(frozen=True)
class BatchSystem:
    """How a batch system shows itself, and what it has for a job that runs in it.

    ``name``: as records have it; ``title``: as people call it. ``command``: one that no other
    system has, with the options by which it prints its version. ``job_variable``: holds a job's id,
    ``node_variables`` its number of nodes; all variables of a job begin with ``prefix``.
    ``granted``: what the job around this process was given, None outside one. ``shell_program``:
    what runs a command on one of a job's hosts, by the line ``shell_line``, in which ``{program}``
    stands for it, ``$host`` for the host and ``$*`` for the command. ``starter``: how mpirun starts
    its agents, see ``ClusterConfig``. ``launch_line`` and ``job_line``: for a placement and the
    hardware threads of a core, how a program is launched and what a job script asks for; None where
    the system has no notation for it.
    """

    name: str
    title: str
    command: str
    version_options: tuple[str, ...]
    job_variable: str
    prefix: str
    node_variables: tuple[str, ...] = ()
    granted: Callable[[Mapping[str, str], Ask], Granted | None] = lambda environ, ask: None
    shell_program: str = ""
    shell_line: str = ""
    starter: Literal["shell", "slurm"] = "shell"
    launch_line: Callable[[Placement, int], str] | None = None
    job_line: Callable[[Placement, int], str] | None = None


class SchedulerSilent(AssayError):
    """The scheduler did not answer: to be asked again, and never to be taken for a job's end."""


@dataclass(frozen=True)
class JobRequest:
    """One job, or an array of ``tasks`` jobs that differ by ``$ASSAY_TASK`` alone.

    ``command``: the words that the job's first node runs, once; ``directory``: where. ``nodes``:
    of each task. ``walltime``: seconds after which the scheduler may end it. ``output``: the file
    for what it prints; tasks of an array have one each, see ``output_of``. ``environment``:
    variables set ahead of the command, after the modules and setup lines of ``options``.
    ``begin``: Unix time before which it is not to start, None for as soon as may be.
    """

    name: str
    command: tuple[str, ...]
    directory: Path
    nodes: int
    walltime: float
    output: Path
    tasks: int = 1
    options: SchedulerConfig = SchedulerConfig()  # noqa: RUF009
    environment: Mapping[str, str] = field(default_factory=dict)
    begin: float | None = None

    def output_of(self, task: int) -> Path:
        """The output file of one task: ``job.out`` without an array, else ``job-3.out``."""
        if self.tasks == 1:
            return self.output
        return self.output.with_name(f"{self.output.stem}-{task}{self.output.suffix}")


@dataclass(frozen=True)
class JobStatus:
    """What a scheduler says of a job.

    ``reason``: its own words on why, empty where it has none. ``exit``: the exit status of the
    job's script, as far as it is known; 128 + n after signal n. ``tasks``: the same of each task
    of an array, by number, as far as the scheduler tells them apart; the array itself runs while
    one of them does, is queued while one of them is, and then has ended as its worst has. ``name``:
    what the scheduler calls it, as its request did; empty where it doesn't tell.
    """

    state: JobState
    reason: str = ""
    exit: int | None = None
    tasks: Mapping[int, JobStatus] = field(default_factory=dict)
    name: str = ""

    @property
    def ended(self) -> bool:
        """Whether nothing of it will run any more."""
        return self.state in ENDED


class BatchScheduler(Protocol):
    """A batch scheduler, as seen from a machine where its commands work."""

    @property
    def name(self) -> str:
        """Its kind, as in ``[scheduler]`` of assay.toml: ``"slurm"``, ``"pbs"`` …"""
        ...

    def script(self, request: JobRequest) -> str:
        """The job script, ready to submit.

        Raises AssayError for what the scheduler has no notation for, such as a newline in a name.
        """
        ...

    def submit(self, request: JobRequest, folder: Path) -> str:
        """Write the script into the folder and submit it; the scheduler's own id of the job.

        Raises AssayError with the scheduler's words if it is rejected, SchedulerSilent if there is
        no answer: then it is not known whether it was taken.
        """
        ...

    def status(self, ids: Iterable[str]) -> dict[str, JobStatus]:
        """The status of each of these jobs. Raises SchedulerSilent if there is no answer."""
        ...

    def names(self, ids: Iterable[str]) -> dict[str, str]:
        """What the scheduler calls these jobs, of those that it still knows.

        Ids are used again over the years, and a name tells whose a job is. Raises SchedulerSilent.
        """
        ...

    def accounting(self, ids: Iterable[str]) -> dict[str, JobAccounting] | None:
        """What its accounting says of these jobs, of those that have ended and that it tells of.

        None where the site keeps no accounts. Raises SchedulerSilent if there is no answer.
        """
        ...

    def cancel(self, ids: Iterable[str]) -> None:
        """End these jobs; those that have ended, or that are unknown, are passed over.

        Raises AssayError with the scheduler's words, and SchedulerSilent if there is no answer.
        """
        ...
