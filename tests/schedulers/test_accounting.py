"""Schedulers' accounting of jobs that have ended, by their manuals."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.records.jobs import JobAccounting
from assay.schedulers.batch import Batch
from assay.schedulers.flux import FluxScheduler
from assay.schedulers.lsf import LsfScheduler
from assay.schedulers.model import SchedulerSilent
from assay.schedulers.pbs import ClassicPbsScheduler, PbsScheduler
from assay.schedulers.script import seconds
from assay.schedulers.slurm import SlurmScheduler

Put = Callable[..., None]
MAKERS: list[Callable[[], Batch]] = [
    SlurmScheduler, PbsScheduler, ClassicPbsScheduler, LsfScheduler, FluxScheduler,
]  # fmt: skip


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """``put("sacct", out)``: a command with this output that logs its calls."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def add(name: str, out: str = "", err: str = "", status: int = 0) -> None:
        program = folder / name
        calls = shlex.quote(str(tmp_path / "calls"))
        program.write_text(
            f'#!/bin/sh\necho {name} "$@" >>{calls}\nprintf %s {shlex.quote(out)}\n'
            f"printf %s {shlex.quote(err)} >&2\nexit {status}\n"
        )
        program.chmod(0o700)

    return add


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # sacct(1): "[DD-[HH:]]MM:SS", CPU times with parts of seconds; qstat's [HH:]MM:SS.
        ("00:01", 1.0),
        ("01:02.345", 62.345),
        ("10:01:02", 36062.0),
        ("2-10:01:02", 208862.0),
        ("100:00:00", 360000.0),
        ("62", 62.0),
        # bjobs -o run_time, cpu_used.
        ("62 second(s)", 62.0),
        ("0.5 second(s)", 0.5),
        ("", None),
        ("-", None),
        ("INVALID", None),
        ("1:2:3:4", None),
    ],
)
def test_times_in_every_notation(text: str, expected: float | None) -> None:
    assert seconds(text) == expected


# sacct(1), --parsable2; a job's own line, and those of its steps.
SLURM = """\
7|COMPLETED|3661|00:00:00|02:01:40|02:00:00|01:40.500|n[1-2]
7.batch|COMPLETED|3661|00:00:00|01:40|01:00|00:40|n1
7.0|COMPLETED|3600|00:00:00|02:00:00|01:59:00|01:00|n[1-2]
8|CANCELLED by 1000|12|00:00:30|00:00:00|00:00:00|00:00:00|n3
9|RUNNING|12|00:00:00|00:00:00|00:00:00|00:00:00|n4
10|CANCELLED|0|00:00:00|00:00:00|00:00:00|00:00:00|None assigned
"""


def test_slurm_reports_whole_jobs_that_have_ended(put: Put, tmp_path: Path) -> None:
    put("sacct", SLURM)
    found = SlurmScheduler().accounting(["7", "8", "9", "10"])
    assert found == {
        "7": JobAccounting("sacct", "COMPLETED", 3661.0, 0.0, 7300.0, 7200.0, 100.5, "n[1-2]"),
        # A site that counts no CPU time reports 0 for all.
        "8": JobAccounting("sacct", "CANCELLED", 12.0, 30.0, hosts="n3"),
        "10": JobAccounting("sacct", "CANCELLED", 0.0, 0.0),
    }
    (call,) = (tmp_path / "calls").read_text().splitlines()
    # Steps are requested: without them the sums are 0 (sacct(1), --allocations).
    assert "--allocations" not in call
    assert "--jobs=7,8,9,10" in call


def test_slurm_without_accounting_reports_none(put: Put) -> None:
    put("sacct", err="Slurm accounting storage is disabled", status=1)
    assert SlurmScheduler().accounting(["7"]) is None
    put("sacct", err="sacct: error: Unable to contact slurm controller", status=1)
    with pytest.raises(SchedulerSilent):
        SlurmScheduler().accounting(["7"])


# qstat(1B) of PBS Professional: -f -F json.
PBS = {
    "7.head": {
        "job_state": "F",
        "exec_host": "n1/0*64+n1/1*64+n2/0*64",
        "resources_used": {"cpupercent": 90, "cput": "02:01:40", "walltime": "01:01:01"},
        "Exit_status": 0,
    },
    "8.head": {"job_state": "R", "resources_used": {"cput": "00:00:01", "walltime": "00:00:05"}},
    "9.head": {"job_state": "F", "Exit_status": 271},  # deleted before it ran
    # OpenPBS 23.06.06, after 20 s of work on a CPU.
    "10.head": {
        "job_state": "F",
        "exec_host": "n1/0",
        "resources_used": {"cpupercent": 0, "cput": "00:00:00", "walltime": "00:00:23"},
        "Exit_status": 0,
    },
}


def test_pbs_reports_used_resources(put: Put) -> None:
    put("qstat", json.dumps({"Jobs": PBS}))
    assert PbsScheduler().accounting(["7.head", "8.head", "9.head", "10.head"]) == {
        "7.head": JobAccounting("qstat", "F", 3661.0, cpu=7300.0, hosts="n[1-2]"),
        "10.head": JobAccounting("qstat", "F", 23.0, hosts="n1"),
    }
    put("qstat", err="qstat: PBS is not configured to maintain job history", status=1)
    assert PbsScheduler().accounting(["7.head"]) is None
    put("qstat", err="qstat: Unknown Job Id 7.head", status=153)
    assert PbsScheduler().accounting(["7.head"]) == {}


def test_torque_reports_while_it_remembers_the_job(put: Put) -> None:
    put(
        "qstat",
        "Job Id: 7.head\n    job_state = C\n    resources_used.cput = 02:01:40\n"
        "    resources_used.walltime = 01:01:01\n    exec_host = n1/0-63+n2/\n\t0-63\n",
    )
    assert ClassicPbsScheduler().accounting(["7.head"]) == {
        "7.head": JobAccounting("qstat", "C", 3661.0, cpu=7300.0, hosts="n[1-2]")
    }
    put("qstat", err="qstat: Unknown Job Id Error 7.head", status=153)
    assert ClassicPbsScheduler().accounting(["7.head"]) == {}


@pytest.mark.parametrize(
    ("run", "cpu"), [("3661 second(s)", "7300 second(s)"), ("01:01:01", "02:01:40")]
)
def test_lsf_reports_run_time_and_cpu_used(put: Put, run: str, cpu: str) -> None:
    records = [
        {
            **{"JOBID": "7", "JOBINDEX": "0", "STAT": "DONE"},
            **{"RUN_TIME": run, "CPU_USED": cpu, "EXEC_HOST": "64*n1:64*n2"},
        },
        {"JOBID": "8", "JOBINDEX": "0", "STAT": "RUN", "RUN_TIME": "5 second(s)"},
        {"JOBID": "9", "JOBINDEX": "1", "STAT": "DONE", "RUN_TIME": "5 second(s)"},
        {"JOBID": "10", "ERROR": "Job <10> is not found"},
    ]
    put("bjobs", json.dumps({"COMMAND": "bjobs", "JOBS": 3, "RECORDS": records}))
    assert LsfScheduler().accounting(["7", "8", "9", "10"]) == {
        "7": JobAccounting("bjobs", "DONE", 3661.0, cpu=7300.0, hosts="n[1-2]")
    }


def test_flux_reports_the_time_and_no_cpu(put: Put) -> None:
    put("flux", "ƒ7abc|COMPLETED|3661.25|n[1-2]\nƒ8abc|RUNNING|5.1|n3\n")
    assert FluxScheduler().accounting(["f7abc", "f8abc", "f1,f2"]) == {
        "f7abc": JobAccounting("flux jobs", "COMPLETED", 3661.25, hosts="n[1-2]")
    }


@pytest.mark.parametrize("maker", MAKERS)
def test_without_jobs_no_command_is_called(maker: Callable[[], Batch], put: Put) -> None:
    for name in ("sacct", "qstat", "bjobs", "flux"):
        put(name, "nonsense", status=1)
    assert maker().accounting([]) == {}
