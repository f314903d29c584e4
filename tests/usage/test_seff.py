"""Efficiencies of jobs that a real Slurm ran: those of sacct by hand, and of seff where it is
installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from assay.lab import slurm as lab_slurm
from assay.lab.slurm import SlurmCluster
from assay.lab.slurm_accounts import why_no_accounts
from assay.usage.accounts.readers.slurm import COMMAND
from assay.usage.accounts.reading import read_accounts
from assay.usage.analysis.prepared import prepare
from assay.usage.analysis.query import UsageQuery
from slurm_lab import reason
from virtual_cluster import VirtualCluster

missing = reason or why_no_accounts(lab_slurm._find)
pytestmark = [pytest.mark.cluster, pytest.mark.skipif(missing is not None, reason=missing or "")]
# Jobs that compute on all, some and none of their processors, fill memory, have several steps or an
# array, and end in different states. Python computes and fills memory without further programs.
SPIN = "python3 -c 'import time\nwhile time.process_time() < {0}: pass' &"
FILL = "python3 -c 'import time\nfull = bytearray({0} << 20)\ntime.sleep(6)'"
JOBS = {
    "one of two": (("-n1", "-c2", "--mem=100M"), f"{SPIN.format(1)} wait"),
    "both": (("-n1", "-c2", "--mem=64M"), f"{SPIN.format(1)} {SPIN.format(1)} wait"),
    "asleep": (("-n1", "--mem=64M"), "sleep 5"),
    "memory": (("-n1", "--mem=200M"), FILL.format(80)),
    "per processor": (("-n2", "--mem-per-cpu=50M"), f"srun -n2 {FILL.format(20)}"),
    "two steps": (("-n1", "--mem=64M"), f'srun sh -c "{SPIN.format(1)} wait"; srun sleep 3'),
    "array": (("-n1", "--mem=32M", "--array=1-2"), "sleep 4"),
    "failed": (("-n1", "--mem=32M"), f"{SPIN.format(1)} wait; exit 3"),
    "at the limit": (("-n1", "--mem=32M", "--time=0:05"), "sleep 300"),
}
FIELDS = "JobIDRaw,State,ElapsedRaw,AllocCPUS,TotalCPU,AllocTRES,TRESUsageInTot"


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    with VirtualCluster(1, rates=(None,)) as cluster:
        settings = {
            "JobAcctGatherType": "jobacct_gather/linux",
            "JobAcctGatherFrequency": "task=1",
            "SelectTypeParameters": "CR_CPU_Memory",
            "NodeName": "DEFAULT RealMemory=2000",
        }
        made = SlurmCluster(cluster, accounts=True, settings=settings)
        with made, pytest.MonkeyPatch.context() as patch:
            for name, value in made.environment().items():
                patch.setenv(name, value)
            yield cluster


def out_of(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def accounts(cluster: VirtualCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command that the documents name prints of all jobs, once they have ended."""
    folder = tmp_path_factory.mktemp("jobs")
    for name, (options, text) in JOBS.items():
        script = folder / f"{name}.sh"
        script.write_text(f"#!/bin/sh\n{text}\n")
        out_of("sbatch", "--parsable", "-o", "/dev/null", *options, str(script))
    end = time.monotonic() + 400
    while out_of("squeue", "-h") and time.monotonic() < end:
        time.sleep(1)
    assert not out_of("squeue", "-h")
    day = time.strftime("%Y-%m-%d", time.localtime(time.time() - 86400))
    command = COMMAND.replace("START", day).replace("END", "now").split()
    path = folder / "accounts.txt"
    # slurmdbd writes a job a little after its end.
    while "RUNNING" in (text := out_of(*command)) and time.monotonic() < end:
        time.sleep(1)
    path.write_text(text)
    return path


def seconds(text: str) -> float:
    """A duration of sacct or seff, in s."""
    days, _, clock = text.rpartition("-")
    total = 0.0
    for part in clock.split(":"):
        total = 60 * total + float(part)
    return 86400 * int(days or 0) + total


def mebibytes(text: str) -> float:
    found = re.search(r"([\d.]+) ?([KMGT]?)", text)
    assert found is not None, text
    return float(found[1]) * 1024.0 ** (" KMGT".index(found[2] or " ") - 2)


def by_hand() -> dict[int, tuple[float, float]]:
    """The CPU and memory efficiencies of all jobs from sacct, as seff defines them."""
    found: dict[int, tuple[float, float]] = {}
    allocated: dict[int, float] = {}
    for line in out_of("sacct", "-aPn", "-S", "now-1days", "-o", FIELDS).splitlines():
        job, _, elapsed, cpus, computed, tres, used = line.split("|")
        number = int(job.partition(".")[0])
        if "." not in job:
            held = int(elapsed) * int(cpus)
            memory = re.search(r"mem=([^,]*)", tres)
            allocated[number] = mebibytes(memory[1]) if memory else 0.0
            found[number] = (seconds(computed) / held if held else 0.0, 0.0)
        elif memory := re.search(r"(?:^|,)mem=([^,]*)", used):
            cpu, most = found[number]
            found[number] = cpu, max(most, mebibytes(memory[1]) / allocated[number])
    return found


def test_all_jobs_are_those_of_sacct_and_seff(cluster: VirtualCluster, accounts: Path) -> None:
    data = prepare(read_accounts([accounts]), UsageQuery())
    (chunk,) = data.chunks()
    numbers = data.jobs.code("number").tolist()
    ours = dict(zip(numbers, zip(chunk.used.cpu(), chunk.used.memory(), strict=True), strict=True))
    expected = by_hand()
    assert len(ours) == len(JOBS) + 1 and ours.keys() == expected.keys()
    assert max(cpu for cpu, _ in expected.values()) > 0.0
    assert max(memory for _, memory in expected.values()) > 0.3
    seff = shutil.which("seff")
    for number, (cpu, memory) in expected.items():
        assert ours[number][0] == pytest.approx(cpu, abs=1e-6)
        assert np.nan_to_num(ours[number][1]) == pytest.approx(memory, rel=1e-4)
        if seff is None:
            continue
        told = subprocess.run(
            cluster.command(cluster.hosts[0], seff, str(number)),
            capture_output=True, text=True, check=True, env=os.environ,
        ).stdout  # fmt: skip
        shares = [float(share) for share in re.findall(r"Efficiency: ([\d.]+)%", told)]
        # It rounds processor times to seconds, and shares to 0.01%.
        held = seconds(re.search(r"of ([\d:-]+) core-walltime", told)[1])  # type: ignore[index]
        assert shares[0] == pytest.approx(100 * ours[number][0], abs=50 / max(held, 1.0) + 0.01)
        assert shares[1] == pytest.approx(100 * np.nan_to_num(ours[number][1]), abs=0.011)
