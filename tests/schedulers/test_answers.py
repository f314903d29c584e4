"""Answers of LSF and Flux, by their manuals, and their meaning; which scheduler is present."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.config import Config, SchedulerConfig, load_config
from assay.errors import AssayError
from assay.schedulers.find import scheduler_for
from assay.schedulers.flux import FluxScheduler
from assay.schedulers.lsf import LsfScheduler
from assay.schedulers.model import SchedulerSilent
from scheduler_answers import Put, a_request, calls, put

__all__ = ["calls", "put"]  # fixtures

# ---- LSF -------------------------------------------------------------------------------------


def bjobs(*records: dict[str, str]) -> str:
    """bjobs(1) -json -o."""
    return json.dumps({"COMMAND": "bjobs", "JOBS": len(records), "RECORDS": list(records)})


def lsf(stat: str, code: str = "", exit_reason: str = "", **more: str) -> dict[str, str]:
    fields = {"JOBID": "7", "JOBINDEX": "0", "STAT": stat, "EXIT_CODE": code}
    return {**fields, "EXIT_REASON": exit_reason, "KILL_REASON": "", "PEND_REASON": "", **more}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        # bjobs(1), job status; bacct(1), termination reasons.
        (lsf("PEND", PEND_REASON="Job slot limit reached"), ("queued", None, "Job slot limit")),
        (lsf("PSUSP"), ("queued", None, "")),
        (lsf("RUN"), ("running", None, "")),
        (lsf("SSUSP"), ("running", None, "")),
        (lsf("UNKWN"), ("running", None, "")),
        (lsf("DONE"), ("complete", 0, "")),
        (lsf("EXIT", "3"), ("failed", 3, "")),
        (
            lsf("EXIT", "140", "TERM_RUNLIMIT: job killed after reaching LSF run time limit"),
            ("timeout", 140, "TERM_RUNLIMIT"),
        ),
        (lsf("EXIT", "143", "TERM_OWNER: job killed by owner"), ("cancelled", 143, "TERM_OWNER")),
        (lsf("EXIT", "143", "TERM_PREEMPT: job killed after preemption"), ("preempted", 143, "")),
        (lsf("EXIT", "", "TERM_REMOVE_HUNG_JOB: job removed"), ("node-failed", None, "")),
        (lsf("EXIT", "137", "TERM_MEMLIMIT: job killed"), ("failed", 137, "TERM_MEMLIMIT")),
        (lsf("NEW"), ("unknown", None, "LSF reports the state NEW")),
        ({"JOBID": "7", "ERROR": "Job <7> is not found"}, ("unknown", None, "LSF does not know")),
    ],
)
def test_lsf_states(put: Put, record: dict[str, str], expected: tuple) -> None:
    put("bjobs", bjobs(record))
    status = LsfScheduler().status(["7"])["7"]
    assert (status.state, status.exit) == expected[:2]
    assert status.reason.startswith(expected[2])
    assert status.tasks == {}


def test_lsf_arrays_count_from_0(put: Put) -> None:
    put("bjobs", bjobs(lsf("DONE", JOBINDEX="1"), lsf("EXIT", "2", JOBINDEX="2")))
    status = LsfScheduler().status(["7"])["7"]
    assert (status.state, status.exit) == ("failed", 2)
    assert {task: each.state for task, each in status.tasks.items()} == {0: "complete", 1: "failed"}


def test_lsf_submits_on_standard_input(put: Put, tmp_path: Path) -> None:
    bsub = tmp_path / "bin" / "bsub"
    put("bsub")
    words = "echo 'Job <99> is submitted to queue <normal>.'"
    bsub.write_text(f"#!/bin/sh\ntest $# = 0 && cat >{tmp_path}/read; {words}\n")
    scheduler = LsfScheduler()
    assert scheduler.submit(a_request(tmp_path), tmp_path) == "99"
    assert (tmp_path / "read").read_text() == scheduler.script(a_request(tmp_path))
    put("bsub", err="bogus: No such queue. Job not submitted.", status=255)
    with pytest.raises(AssayError, match=r"LSF rejects the job: .*No such queue"):
        scheduler.submit(a_request(tmp_path), tmp_path)
    put("bsub", err="LSF is down. Please wait ...", status=255)
    with pytest.raises(SchedulerSilent):
        scheduler.submit(a_request(tmp_path), tmp_path)


def test_lsf_cancels_and_passes_over_what_has_ended(put: Put) -> None:
    put("bkill", err="Job <7>: Job has already finished", status=255)
    LsfScheduler().cancel(["7"])
    put("bkill", err="Job <7>: User permission denied", status=255)
    with pytest.raises(AssayError, match="permission denied"):
        LsfScheduler().cancel(["7"])


# ---- Flux ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # flux-jobs(1): JOB STATUS, and the fields returncode and exception.
        ("ƒ2qvX|PENDING|||", ("queued", None, "")),
        ("f2qvX|SCHED|||", ("queued", None, "")),
        ("f2qvX|RUNNING|||", ("running", None, "")),
        ("f2qvX|COMPLETED|0||", ("complete", 0, "")),
        ("f2qvX|FAILED|3||", ("failed", 3, "")),
        ("f2qvX|FAILED|-9||", ("failed", 137, "")),
        ("f2qvX|FAILED|-128|exec|no such file", ("failed", None, "exec: no such file")),
        (
            "f2qvX|FAILED|-9|node-failure|node1 | lost",
            ("node-failed", 137, "node-failure: node1 | l"),
        ),
        ("f2qvX|CANCELED|-128|cancel|", ("cancelled", None, "cancel")),
        ("f2qvX|TIMEOUT|142|timeout|resource allocation expired", ("timeout", 142, "timeout: res")),
        ("f2qvX|NEW|||", ("unknown", None, "Flux reports the state NEW")),
    ],
)
def test_flux_states(put: Put, line: str, expected: tuple) -> None:
    put("flux", f"{line}\n")
    status = FluxScheduler().status(["f2qvX"])["f2qvX"]
    assert (status.state, status.exit) == expected[:2]
    assert status.reason.startswith(expected[2])


def test_flux_forgets_and_is_silent(put: Put) -> None:
    put("flux", err="flux-jobs: ERROR: JobID f2qvX unknown", status=1)
    assert FluxScheduler().status(["f2qvX"])["f2qvX"].state == "unknown"
    put(
        "flux",
        err="flux-jobs: ERROR: Unable to connect to Flux: No such file or directory",
        status=1,
    )
    with pytest.raises(SchedulerSilent):
        FluxScheduler().status(["f2qvX"])


def test_flux_arrays_are_jobs_that_know_their_numbers(put: Put, calls, tmp_path: Path) -> None:
    put("flux", "ƒAb\n", when="*TASK=0*")
    put("flux", "ƒAc\n", when="*TASK=1*")
    scheduler = FluxScheduler()
    job = scheduler.submit(a_request(tmp_path, 2), tmp_path)
    assert job == "fAb,fAc"
    assert calls() == [
        f"flux batch --env=ASSAY_TASK={i} --output={tmp_path}/1-{i}.out {tmp_path}/1.sh"
        for i in range(2)
    ]
    put("flux", "fAb|COMPLETED|0||\nfAc|RUNNING|||\n", when="*jobs*")
    status = scheduler.status([job])[job]
    assert (status.state, status.tasks[0].state, status.tasks[1].state) == (
        "running",
        "complete",
        "running",
    )
    put("flux", when="*cancel*")
    scheduler.cancel([job])
    assert calls()[-2:] == ["flux cancel -- fAb", "flux cancel -- fAc"]


def test_half_an_array_of_flux_is_taken_back(put: Put, calls, tmp_path: Path) -> None:
    put("flux", "ƒAb\n")
    put(
        "flux",
        err="flux-batch: ERROR: [Errno 22] queue x not configured",
        status=1,
        when="*TASK=1*",
    )
    with pytest.raises(AssayError, match="queue x not configured"):
        FluxScheduler().submit(a_request(tmp_path, 3), tmp_path)
    assert calls()[-1] == "flux cancel -- fAb"


def test_within_a_job_of_flux_the_instance_around_it_is_asked(
    put: Put, calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLUX_ENCLOSING_ID", "fX")
    put("flux", "f2qvX|RUNNING|||\n")
    FluxScheduler().status(["f2qvX"])
    assert calls()[0].startswith("flux --parent jobs ")


# ---- which one is here -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("present", "kind"),
    [
        ([], None),
        (["sbatch"], "slurm"),
        (["sbatch", "qsub", "bsub"], "slurm"),
        (["qsub", "pbs_rstat"], "pbs"),
        (["qsub"], "pbs-classic"),
        (["qsub", "qconf"], None),
        (["bsub"], "lsf"),
        (["flux"], "flux"),
    ],
)
def test_the_scheduler_that_is_here_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, present: list[str], kind: str | None
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("assay.schedulers.pbs.PBS_CONF", tmp_path / "pbs.conf")
    for name in present:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o700)
    found = scheduler_for(Config())
    assert (found.name if found else None) == kind


def test_one_that_is_named_must_be_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AssayError, match="no command `bsub` here"):
        scheduler_for(Config(scheduler=SchedulerConfig(kind="lsf")))
    (tmp_path / "bsub").write_text("")
    (tmp_path / "bsub").chmod(0o700)
    found = scheduler_for(Config(scheduler=SchedulerConfig(kind="lsf")))
    assert found is not None and found.name == "lsf"


def test_one_that_is_unknown_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "assay.toml"
    path.write_text("[scheduler]\nkind = 'slrum'\n")
    with pytest.raises(AssayError, match="'slrum'") as error:
        scheduler_for(load_config(path))
    assert error.value.where == f"{path}:2"
    assert error.value.fix == "Did you mean 'slurm'?"


# ---- what no scheduler should answer -----------------------------------------------------------


@pytest.mark.parametrize("code", ["9" * 30, "-" + "9" * 5000, "²"])
def test_exit_statuses_beyond_all_bounds_are_unknown(put: Put, code: str) -> None:
    put("flux", f"f7|COMPLETED|{code}||\n")
    status = FluxScheduler().status(["f7"])["f7"]
    assert (status.state, status.exit) == ("complete", None)
    json.dumps(status.exit)
