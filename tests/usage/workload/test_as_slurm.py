"""The script of a load for a Slurm: run by a shell, with a program in the place of sbatch."""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from assay.errors import AssayError
from assay.usage.scheduler.machine import EqualNodes, Machine
from assay.usage.scheduler.schedule import Workload
from assay.usage.workload.as_slurm import as_slurm, scaled
from slurm_load import workload

MACHINE = Machine(nodes=(EqualNodes(count=100, processors=8),))


def load(**columns: list[float]) -> Workload:
    """Three jobs, with some columns replaced."""
    jobs = workload(
        np.array([50.0, 250.0, 251.0]),
        np.array([1000.0, 250.0, 6000.0]),
        np.array([36000.0, 6000.0, 6000.0]),
        np.array([1, 34, 100]),
    )
    return dataclasses.replace(jobs, **{name: np.array(each) for name, each in columns.items()})


def run(script: str, folder: Path, sbatch: str, name: str = "sbatch") -> tuple[int, str, list[str]]:
    """Exit status, standard error, and the arguments of each call of sbatch with its time."""
    program = folder / name
    program.write_text(f'#!/bin/sh\nprintf \'%s|\' "$(date +%s)" "$@" >> {folder}/said\n{sbatch}')
    program.chmod(0o700)
    (folder / "submit.sh").write_text(script)
    environment = {**os.environ, "PATH": f"{folder}:/usr/bin:/bin"}
    done = subprocess.run(
        ["sh", str(folder / "submit.sh")], env=environment, capture_output=True, text=True
    )
    said = folder / "said"
    words = said.read_text().split("\n") if said.exists() else []
    return done.returncode, done.stderr, [line for line in words if line]


def test_times_are_divided_and_limits_rounded_up_to_minutes() -> None:
    units = scaled(load(), MACHINE, scale=100.0)
    assert units.submit.tolist() == [0, 2, 2]
    assert units.run.tolist() == [10.0, 2.5, 60.0]
    assert units.minutes.tolist() == [6, 1, 1]
    assert units.nodes.tolist() == [1, 34, 100]
    script = as_slurm(load(), MACHINE, scale=100.0)
    assert (script.jobs, script.lasts, script.raised, script.saved) == (3, 2, 0, 0)
    assert script.notes() == []


def test_limits_that_are_no_whole_minutes_are_said() -> None:
    script = as_slurm(load(), MACHINE, scale=600.0)
    # 60, 10 and 10 s: two become a minute, and the job that was killed at its limit is not.
    assert (script.raised, script.raised_by, script.saved) == (2, 50.0, 1)
    assert script.notes() == [
        "2 limits of 3 rounded up to whole minutes, by 50 s on average.",
        "1 job reached the limit in the log and will not reach it here, because limits are "
        "rounded up.",
    ]


def test_jobs_keep_their_share_of_a_smaller_machine() -> None:
    units = scaled(load(), MACHINE, scale=1.0, nodes=16)
    # 0.16, 5.44 and 16 nodes, rounded up.
    assert units.nodes.tolist() == units.tasks.tolist() == [1, 6, 16]
    by_processors = load(nodes=[0, 0, 0], processors=[8, 400, 800])
    assert scaled(by_processors, MACHINE, scale=1.0, nodes=16).nodes.tolist() == [1, 8, 16]


def test_the_script_submits_at_the_times_of_its_start(tmp_path: Path) -> None:
    jobs = dataclasses.replace(load(), users=["mallory"], accounts=["phys"])
    text = as_slurm(jobs, MACHINE, scale=100.0).text
    # Each submission takes a part of a second, which must not delay those after it.
    before = math.floor(time.time())
    status, error, said = run(text, tmp_path, "echo >> $(dirname $0)/said; sleep 0.4; echo 1")
    assert (status, error) == (0, "")
    calls = [line.rstrip("|").split("|") for line in said]
    options = ["--parsable", "--job-name=job-0", "--time=6", "--output=/dev/null"]
    assert calls[0][1:] == [*options, "--nodes=1", "--ntasks=1", "--wrap", "sleep 10"]
    assert [call[-1] for call in calls] == ["sleep 10", "sleep 2.5", "sleep 60"]
    assert calls[1][-4:-2] == ["--nodes=34", "--ntasks=34"]
    seconds = [int(call[0]) for call in calls]
    assert seconds[0] >= before
    assert seconds[1] >= before + 2
    assert "mallory" not in text
    assert "phys" not in text


def test_jobs_that_slurm_refuses_are_counted(tmp_path: Path) -> None:
    status, error, _ = run(as_slurm(load(), MACHINE, scale=1e4).text, tmp_path, "exit 1\n")
    assert (status, error) == (1, "3 jobs could not be submitted.\n")
    (tmp_path / "other").mkdir()
    text = as_slurm(load(), MACHINE, scale=1e4).text.replace("v sbatch", "v no-such-program")
    status, error, said = run(text, tmp_path / "other", "")
    assert (status, said) == (2, [])
    assert "sbatch is not found" in error


def test_partitions_are_named_by_the_slurm(tmp_path: Path) -> None:
    jobs = load(partition=[0, 1, 0])
    text = as_slurm(jobs, MACHINE, scale=1.0, partitions=["short", "long"]).text
    lines = [line for line in text.splitlines() if line.startswith("submit ")]
    assert [line.split("--partition=")[1] for line in lines] == ["short", "long", "short"]
    with pytest.raises(AssayError, match="for 1 of the load's 2 partitions"):
        as_slurm(jobs, MACHINE, scale=1.0, partitions=["short"])
    for name in ("a b", "$(reboot)", "x;y", "", "-p"):
        with pytest.raises(AssayError, match="not a valid name of a partition"):
            as_slurm(jobs, MACHINE, scale=1.0, partitions=[name, "x"])


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"after": [-1, 0, -1]}, "no submission time"),
        ({"run": [1.0, math.nan, 1.0]}, "Job 1 of the load has no run time"),
        ({"run": [1.0, 1.0, -1.0]}, "Job 2 of the load has no run time"),
        ({"limit": [0.0, 1.0, 1.0]}, "Job 0 of the load has no limit"),
        ({"submit": [0.0, 1.0, math.inf]}, "Job 2 of the load has no time of submission"),
        ({"nodes": [0, 1, 1], "processors": [0, 1, 1]}, "Job 0 of the load has no size"),
    ],
)
def test_what_a_slurm_cannot_be_given_is_refused(
    columns: dict[str, list[float]], said: str
) -> None:
    with pytest.raises(AssayError, match=said):
        as_slurm(load(**columns), MACHINE, scale=1.0)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_a_scale_is_a_positive_number(scale: float) -> None:
    with pytest.raises(AssayError, match="can't be divided"):
        as_slurm(load(), MACHINE, scale=scale)
    with pytest.raises(AssayError, match="no jobs"):
        as_slurm(load(), MACHINE, scale=1.0, jobs=0)
    with pytest.raises(AssayError, match="at least one node"):
        as_slurm(load(), MACHINE, scale=1.0, nodes=0)


def test_only_the_first_jobs() -> None:
    # The rest may be what a Slurm can't be given.
    jobs = load(run=[1000.0, 250.0, math.nan])
    assert as_slurm(jobs, MACHINE, scale=100.0, jobs=2).jobs == 2
    assert as_slurm(load(), MACHINE, scale=100.0, jobs=9).jobs == 3
