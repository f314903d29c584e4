"""``assay profile --submit`` and ``assay why --submit``: run the program in a job, and wait for its
end.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.campaign.jobs import polling
from assay.campaign.jobs.batch import assay_words, environment, scheduler_of
from assay.config import SchedulerConfig
from assay.errors import AssayError
from assay.launch.outcome import last_output
from assay.launch.repeated import copied_input
from assay.schedulers.model import BatchScheduler, JobRequest, JobStatus
from assay.trace.reading import RUN_FILE
from assay.units import format_duration

if TYPE_CHECKING:
    from rich.console import Console

WALLTIME = 3600.0  # s, unless the user requests another walltime
_OUTPUT, _INPUT = "job.out", "job.in"


def profile_in_job(
    words: Sequence[str],
    folder: Path,
    options: SchedulerConfig,
    console: Console,
    *,
    nodes: int,
    walltime: float | None = None,
    command: str = "profile",
    result: str = RUN_FILE,
) -> None:
    """Let a job run ``assay profile WORDS``, or another ``command``, and wait for its end.

    ``folder``: an existing folder for the profile that the nodes share. It also has the job's
    script and output (job.out). ``walltime`` is in s. ``result``: the file that the job leaves in
    the folder. If assay's input is a file, the program reads a copy of it. Ctrl-C cancels the job.
    Raises AssayError if there is no scheduler, if it rejects the job, or if the job ends without a
    profile.
    """
    scheduler = scheduler_of(options)
    request = JobRequest(
        name=f"assay-{secrets.token_hex(3)}-{command}",
        command=(*assay_words(), command, *words),
        directory=Path.cwd(),
        nodes=nodes,
        walltime=walltime or min(WALLTIME, options.longest),
        output=folder / _OUTPUT,
        options=options,
        environment=environment(),
        input=copied_input(folder / _INPUT),
    )
    job = scheduler.submit(request, folder)
    console.print(f"job {job}: submitted; its output: {request.output}", markup=False,
                  soft_wrap=True)  # fmt: skip
    status = _await(scheduler, job, folder / result, console)
    if not (folder / result).exists():
        why = f" ({status.reason})" if status.reason else ""
        raise AssayError(
            f"Job {job} ended ({status.state}{why}) without a profile.",
            where=str(folder),
            detail=last_output(request.output),
        )


def _await(scheduler: BatchScheduler, job: str, result: Path, console: Console) -> JobStatus:
    """Wait for the end of the job, and until its files are visible here."""
    began = time.monotonic()
    poll = polling.JobPoll(scheduler, polling.printing(console), quiet=console.is_terminal)
    poll.begin(job)
    until = float("inf")
    spinner = console.status("") if console.is_terminal else None
    try:
        with spinner or contextlib.nullcontext():
            while time.monotonic() < until:
                time.sleep(polling.LOOK)
                if until < float("inf"):
                    if result.exists():
                        break
                elif poll.ask():
                    until = time.monotonic() + polling.LATE
                if spinner is not None:
                    gone = format_duration(time.monotonic() - began)
                    state = poll.state.state if poll.state is not None else "queued"
                    spinner.update(f"job {job}: {state} for {gone}")
    except BaseException:
        with contextlib.suppress(AssayError):
            scheduler.cancel([job])
        raise
    return poll.state or JobStatus("unknown")
