"""A Slurm as sites have it: accounts, several partitions, QOS, preemption, an ordinary user."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.config import SchedulerConfig
from assay.lab import slurm as lab_slurm
from assay.lab.slurm import SlurmCluster
from assay.lab.slurm_accounts import why_no_accounts
from assay.records.directory import RunDirectory
from assay.schedulers.model import JobRequest
from assay.schedulers.slurm import SlurmScheduler
from slurm_lab import follow, reason
from virtual_cluster import VirtualCluster

missing = reason or why_no_accounts(lab_slurm._find)
pytestmark = [pytest.mark.cluster, pytest.mark.skipif(missing is not None, reason=missing or "")]
USER = 65534  # nobody's
PLAN = """
schema = 1
title = "A triad"
seed = 1
[replication]
budget = "20 s"
min_launches = 3
max_launches = 3
[[measure]]
kernel = "memory.stream"
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    with VirtualCluster(3, rates=(None,)) as cluster:
        nodes = cluster.hosts[1:]
        names = [node.name for node in nodes]
        made = SlurmCluster(
            cluster,
            nodes=nodes,
            accounts=True,
            users=True,
            partitions={
                "debug": f"Nodes={names[0]} MaxTime=30 State=UP",
                "large": f"Nodes={','.join(names)} MaxTime=1-00:00:00 State=UP",
            },
            settings={
                "PreemptType": "preempt/qos",
                "PreemptMode": "CANCEL",
                "AccountingStorageEnforce": "associations,limits,qos",
                "PriorityType": "priority/multifactor",
            },
        )
        with made, pytest.MonkeyPatch.context() as patch:
            for name, value in made.environment().items():
                patch.setenv(name, value)
            database = made.database
            assert database is not None
            for words in (
                "add account bench",
                "add qos urgent priority=1000 preempt=normal",
                "add user root account=bench qos=normal,urgent defaultqos=normal",
                "add user nobody account=bench",
                "modify user nobody set maxsubmitjobs=1",
            ):
                assert database.manage(*words.split()) is not None, words
            yield made


@pytest.fixture(autouse=True)
def idle(slurm: SlurmCluster) -> None:
    slurm.await_idle()


def request(path: Path, command: str, nodes: int = 1, **options: object) -> JobRequest:
    name = f"{time.monotonic_ns()}"
    return JobRequest(
        f"assay-{name}",
        ("sh", "-c", command),
        path,
        nodes,
        120.0,
        path / f"{name}.out",
        options=SchedulerConfig(**options),  # type: ignore[arg-type]
    )


def test_sacct_reports_what_a_job_used(slurm: SlurmCluster, tmp_path: Path) -> None:
    scheduler = SlurmScheduler()
    burn = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"
    job = scheduler.submit(request(tmp_path, burn), tmp_path)
    follow(scheduler, job, {"complete"})
    until = time.monotonic() + 60
    while not (found := (scheduler.accounting([job]) or {}).get(job)):
        assert time.monotonic() < until
        time.sleep(0.5)
    assert (found.source, found.state) == ("sacct", "COMPLETED")
    assert found.elapsed is not None and found.cpu is not None and found.cpu > 0
    assert found.hosts in {node.name for node in slurm.nodes}


def test_each_partition_has_its_own_nodes(slurm: SlurmCluster, tmp_path: Path) -> None:
    scheduler = SlurmScheduler()
    counts = {name: len(scheduler.nodes(name) or ()) for name in ("lab", "debug", "large")}
    assert counts == {"lab": 2, "debug": 1, "large": 2}
    job = scheduler.submit(request(tmp_path, "true", partition="debug"), tmp_path)
    follow(scheduler, job, {"complete"})
    asked = request(tmp_path, "true", nodes=2, partition="debug")
    job = scheduler.submit(asked, tmp_path)
    status = follow(scheduler, job, {"queued"})
    assert "PartitionNodeLimit" in status.reason or "partition" in status.reason.lower()
    scheduler.cancel([job])


def test_a_job_is_preempted_by_a_qos(slurm: SlurmCluster, tmp_path: Path) -> None:
    scheduler = SlurmScheduler()
    usual = scheduler.submit(request(tmp_path, "sleep 100", nodes=2), tmp_path)
    follow(scheduler, usual, {"running"})
    urgent = request(tmp_path, "true", 2, account="bench", directives=("--qos=urgent",))
    job = scheduler.submit(urgent, tmp_path)
    assert follow(scheduler, usual, {"preempted"}).state == "preempted"
    follow(scheduler, job, {"complete"})


def as_user(slurm: SlurmCluster, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of an ordinary user on the first host, in a folder of the user's."""
    programs = [str(Path(sys.executable).parent), "/usr/bin", "/bin"]
    user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    return subprocess.run(
        slurm.cluster.command(slurm.cluster.hosts[0], *user, *words),
        capture_output=True,
        text=True,
        cwd=folder,
        env={
            "SLURM_CONF": str(slurm.conf),
            "PATH": os.pathsep.join(programs),
            "HOME": str(folder),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        },
        timeout=60,
    )


def test_assay_measures_as_an_ordinary_user(slurm: SlurmCluster) -> None:
    """A job within the user's limit, followed to its results; the files are the user's."""
    folder = slurm.folder / "assay"
    folder.mkdir(exist_ok=True)
    os.chown(folder, USER, USER)
    python = Path(sys.executable).resolve()
    closed = [str(path) for path in python.parents if not path.stat().st_mode & stat.S_IXOTH]
    if closed:
        pytest.skip(f"An ordinary user can't run this Python: {closed[-1]} is closed to others.")
    (folder / "assay.toml").write_text('[scheduler]\naccount = "bench"\npartition = "large"\n')
    (folder / "plan.toml").write_text(PLAN)
    (folder / "scenario.toml").write_text('schema = 1\nlaunch_time = "1 ms"\n')
    words = ["run", "plan.toml", "--fake", "scenario.toml", "--submit", "--no-report", "--json"]
    done = as_user(slurm, folder, sys.executable, "-m", "assay", *words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sections"]
    (run,) = (path for path in (folder / "runs").iterdir() if path.is_dir())
    assert RunDirectory(run).complete
    assert {path.stat().st_uid for path in run.rglob("*")} == {USER}
    said = as_user(slurm, folder, "sacct", "--noheader", "--format=user,account,state", "-X")
    assert "nobody" in said.stdout and "bench" in said.stdout, said


def test_an_ordinary_user_submits_within_the_limits(slurm: SlurmCluster) -> None:
    folder = slurm.folder / "user"
    folder.mkdir(exist_ok=True)
    os.chown(folder, USER, USER)
    sbatch = shutil.which("sbatch", path="/usr/bin:/usr/local/bin")
    assert sbatch is not None
    as_user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", sbatch]

    def submit(command: str) -> subprocess.CompletedProcess[str]:
        words = [*as_user, "--account=bench", f"--output={folder}/%j.out", "--wrap", command]
        return subprocess.run(
            slurm.cluster.command(slurm.cluster.hosts[0], *words),
            capture_output=True,
            text=True,
            cwd=folder,
            env={"SLURM_CONF": str(slurm.conf), "PATH": "/usr/bin:/bin"},
        )

    first = submit("id -u; sleep 3")
    assert first.returncode == 0, first.stderr
    job = first.stdout.split()[-1]
    refused = submit("true")
    assert refused.returncode != 0
    assert "QOS" in refused.stderr or "limit" in refused.stderr
    follow(SlurmScheduler(), job, {"complete"})
    assert (folder / f"{job}.out").read_text().strip() == str(USER)
