"""``assay doctor --cluster`` on a login node: submits a small job that examines its nodes."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.campaign.jobs import polling
from assay.campaign.jobs.batch import assay_words, environment, scheduler_of
from assay.config import Config, SchedulerConfig, load_config
from assay.decoding import UNREADABLE
from assay.errors import AssayError
from assay.launch.outcome import last_output
from assay.records.access.trust import check_place, check_trusted_run
from assay.records.files import cannot_write, write_atomically
from assay.schedulers.model import BatchScheduler, JobRequest, JobStatus
from assay.system.doctor.diagnosis import Diagnosis
from assay.system.doctor.findings import CheckFinding, worst
from assay.units import format_duration

if TYPE_CHECKING:
    from rich.console import Console

NODES = 2
WALLTIME = 900.0  # seconds, for two compilations on a slow file system
_FOUND = "diagnosis.json"


def examine_by_job(
    config: Config, options: SchedulerConfig, root: Path, console: Console
) -> Diagnosis:
    """Submit a job that examines its two nodes, and wait for its findings.

    ``root``: the folder of runs, which contains the job's temporary folder. A failed submission is
    also a finding. Raises AssayError if there is no scheduler, or the folder can't be created.
    """
    scheduler = scheduler_of(options)
    check_place(root)
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".doctor-", dir=root)).absolute()
    except OSError as error:
        raise cannot_write(root, error) from None
    try:
        check_trusted_run(folder)  # its script is executed
        request = _request(config, options, folder)
        try:
            job = scheduler.submit(request, folder)
        except AssayError as refused:
            return _diagnosis([_refusal(refused)], None)
        return _await(scheduler, job, folder, request.output, console)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def examine_here(folder: Path, config: Path | None) -> int:
    """Examine the nodes of this job and write the findings to the folder.

    Raises AssayError.
    """
    from assay.campaign.machine.mpi_smoke_test import examine_cluster

    found = examine_cluster(load_config(config), folder)
    write_atomically(folder / _FOUND, msgspec.json.encode(found))
    return 0


def _request(config: Config, options: SchedulerConfig, folder: Path) -> JobRequest:
    path = ["--config", str(config.path.absolute())] if config.path else []
    return JobRequest(
        name=f"assay-{folder.name[-6:]}-doctor",
        command=(*assay_words(), "job", str(folder), "--examine", *path),
        directory=Path.cwd(),
        nodes=NODES,
        walltime=WALLTIME,
        output=folder / "doctor.out",
        options=options,
        environment=environment(),
    )


def _await(
    scheduler: BatchScheduler, job: str, folder: Path, output: Path, console: Console
) -> Diagnosis:
    """Wait for the job's findings, or for its end without findings. Ctrl-C cancels the job."""
    began = time.monotonic()
    poll = polling.JobPoll(scheduler, polling.printing(console), quiet=console.is_terminal)
    poll.begin(job)
    until = float("inf")
    spinner = console.status("") if console.is_terminal else None
    try:
        with spinner or contextlib.nullcontext():
            while not (found := _read(folder / _FOUND)) and time.monotonic() < until:
                time.sleep(polling.LOOK)
                if until == float("inf") and poll.ask():
                    until = time.monotonic() + polling.LATE
                if spinner is not None:
                    state = poll.state.state if poll.state else "submitted"
                    gone = format_duration(time.monotonic() - began)
                    spinner.update(f"job {job}: {state} for {gone}")
    except BaseException:
        with contextlib.suppress(AssayError):
            scheduler.cancel([job])
        raise
    took = format_duration(time.monotonic() - began)
    if found is not None:
        what = f"A job of {NODES} nodes was submitted, ran and answered within {took}."
        return _diagnosis([CheckFinding("submission", "ok", what)], found)
    return _diagnosis([_silence(job, poll.state, last_output(output))], None)


def _read(path: Path) -> Diagnosis | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Diagnosis)
    except (OSError, *UNREADABLE):
        return None


def _diagnosis(first: list[CheckFinding], found: Diagnosis | None) -> Diagnosis:
    findings = [*first, *(found.findings if found else [])]
    return Diagnosis(worst(findings), findings, found.unseen if found else [])


def _refusal(refused: AssayError) -> CheckFinding:
    words = (refused.detail.strip().splitlines() or [""])[-1].strip()
    return CheckFinding(
        "submission",
        "problem",
        " ".join(filter(None, (refused.what, words))),
        "No run can be submitted from here.",
        refused.fix or "Correct [scheduler] in assay.toml: partition, account, directives.",
    )


def _silence(job: str, status: JobStatus | None, said: str) -> CheckFinding:
    state = status.state if status else "unknown"
    reason = f" ({status.reason})" if status and status.reason else ""
    words = (said.splitlines() or ["nothing"])[-1].strip()
    return CheckFinding(
        "submission",
        "problem",
        f"Job {job} with {NODES} nodes ended ({state}{reason}) without an answer. Its last "
        f"output: {words}.",
        "Jobs with this configuration can't measure runs.",
        "Correct [scheduler] in assay.toml (modules, setup), and store assay and runs in file "
        "systems that compute nodes share.",
    )
