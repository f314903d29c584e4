"""Running a scheduler's commands with a time limit; no answer is not the same as a refusal."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.schedulers.model import SchedulerSilent, SchedulerUnreadable

# Seconds for a scheduler to answer. A controller under load takes tens of seconds, and its commands
# repeat failed requests for a while.
PATIENCE = 120.0
# Messages of the schedulers' commands about a server that can't be reached or takes too long.
_SILENT = re.compile(
    r"unable to contact|connection (?:refused|timed out|reset)|timed? ?out|cannot connect"
    r"|can't connect|could not connect|unable to connect|communication (?:connection )?failure"
    r"|no route to host|not responding|temporarily unable|try again|backup controller"
    r"|zero bytes were transmitted|end of file|library call failed|LSF is down"
    r"|lsgethostname|broker.*(?:unreachable|not running)|unable to resolve",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class CommandResult:
    """A command's exit status, standard output and standard error."""

    status: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """All output, standard error first."""
        return "\n".join(text for text in (self.err.strip(), self.out.strip()) if text)

    @property
    def silent(self) -> bool:
        """Whether it failed because the scheduler behind it did not answer."""
        return self.status != 0 and _SILENT.search(self.said) is not None


def run(
    command: Sequence[str],
    *,
    scheduler: str,
    stdin: Path | None = None,
    folder: Path | None = None,
    patience: float = PATIENCE,
    variables: Mapping[str, str | None] | None = None,
) -> CommandResult:
    """Run a scheduler's command. Raises SchedulerSilent if the scheduler does not answer.

    ``variables``: changes to its environment; None removes a variable. Raises AssayError if the
    command can't be run. Other failures are left to the caller.
    """
    environment = {**outside(os.environ), **(variables or {})}
    try:
        with open(stdin or os.devnull, "rb") as given:  # noqa: PTH123
            done = subprocess.run(
                command,
                stdin=given,
                capture_output=True,
                cwd=folder,
                env={name: value for name, value in environment.items() if value is not None},
                timeout=patience,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise _silent(scheduler, f"`{command[0]}` did not answer within {patience:g} s") from None
    except OSError as error:
        raise AssayError(
            f"The command `{command[0]}` can't be run: {error.strerror or error}.",
            fix=f"Load the module with {scheduler}'s commands, or correct kind in [scheduler].",
        ) from None
    answer = CommandResult(
        done.returncode,
        done.stdout.decode("utf-8", "replace"),
        done.stderr.decode("utf-8", "replace"),
    )
    if answer.silent:
        raise _silent(scheduler, f"`{command[0]}` failed", answer.said)
    return answer


def unreadable(
    scheduler: str, command: str, answer: CommandResult, why: str = ""
) -> SchedulerUnreadable:
    """The error for an answer that can't be parsed; ``why``: what is wrong with it, if known."""
    last = (answer.said.splitlines() or [""])[-1].strip().rstrip(".")
    if answer.status:
        what = f"`{command}` failed: {last or f'exit status {answer.status}'}"
    else:
        what = f"`{command}` printed {why or 'an unexpected text'}"
    return SchedulerUnreadable(
        f"{scheduler}'s answer can't be read: {what}.",
        detail=answer.said,
        fix=f"Run `{command}` yourself and check its output. Running jobs continue.",
    )


def outside(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for a scheduler's command, without the variables of a surrounding Slurm job.

    Slurm's commands would treat these variables as options for the new job.
    """
    inside = "SLURM_JOB_ID" in environ
    return {
        name: value
        for name, value in environ.items()
        if not (inside and name.startswith("SLURM_")) or name == "SLURM_CONF"
    }


def _silent(scheduler: str, what: str, detail: str = "") -> SchedulerSilent:
    return SchedulerSilent(
        f"{scheduler} does not answer: {what}.",
        detail=detail,
        fix="Try again later; running jobs continue.",
    )
