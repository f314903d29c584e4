"""Jobs on a real Slurm: ended, cancelled, out of time, on a failing node, unanswered."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.config import Config, SchedulerConfig
from assay.errors import AssayError
from assay.lab.slurm import SlurmCluster
from assay.schedulers.find import scheduler_for
from assay.schedulers.model import BatchScheduler, JobRequest, SchedulerSilent
from schedulers_syntax import slurm_words
from slurm_lab import follow, reason, running_slurm

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(reason is not None, reason=reason or "")]


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    # Partitions refuse impossible requests immediately, and commands time out sooner.
    settings = {"EnforcePartLimits": "ALL", "KillWait": "2", "MessageTimeout": "5"}
    with running_slurm(4, settings=settings) as started:
        yield started


@pytest.fixture
def scheduler(slurm: SlurmCluster) -> Iterator[BatchScheduler]:
    slurm.await_idle()
    found = scheduler_for(Config())
    assert found is not None and found.name == "slurm"
    yield found
    subprocess.run(["scancel", "--user=root"], timeout=60, check=False)


def request(folder: Path, *command: str, **changes: object) -> JobRequest:
    known: dict[str, object] = {
        "name": "assay-test",
        "command": command,
        "directory": folder,
        "nodes": 1,
        "walltime": 600.0,
        "output": folder / "job.out",
    }
    return JobRequest(**{**known, **changes})  # type: ignore[arg-type]


def shell(folder: Path, text: str, **changes: object) -> JobRequest:
    return request(folder, "/bin/sh", "-c", text, **changes)


def scontrol(*words: str) -> str:
    done = subprocess.run(["scontrol", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    return done.stdout


def test_a_job_runs_to_its_end(scheduler: BatchScheduler, tmp_path: Path) -> None:
    text = 'echo $ASSAY_TASK $SLURM_JOB_NUM_NODES; srun hostname | sort; echo "$PWD"; echo ill >&2'
    job = scheduler.submit(shell(tmp_path, text, nodes=4), tmp_path / "jobs")
    assert job.isdecimal()
    status = follow(scheduler, job, ["complete"])
    assert (status.exit, status.tasks) == (0, {})
    lines = (tmp_path / "job.out").read_text().splitlines()
    assert lines == ["0 4", "node2", "node3", "node4", "node5", str(tmp_path), "ill"]
    record = scontrol("show", "job", job)
    assert "Requeue=0" in record
    assert "OverSubscribe=NO" in record  # exclusive
    assert "TimeLimit=00:10:00" in record


def test_an_exit_status_is_reported(scheduler: BatchScheduler, tmp_path: Path) -> None:
    job = scheduler.submit(shell(tmp_path, "exit 3"), tmp_path)
    status = follow(scheduler, job, ["failed"])
    assert status.exit == 3
    assert status.reason.startswith("NonZeroExitCode")
    job = scheduler.submit(shell(tmp_path, "kill -9 $$"), tmp_path)
    assert follow(scheduler, job, ["failed"]).exit == 137


def test_an_unknown_job_id_is_unknown(scheduler: BatchScheduler) -> None:
    assert scheduler.status(["987654"])["987654"].state == "unknown"
    scheduler.cancel(["987654"])


def test_an_array_has_one_task_per_node(scheduler: BatchScheduler, tmp_path: Path) -> None:
    text = "hostname; test $ASSAY_TASK != 2 || exit 7"
    asked = shell(tmp_path, text, tasks=4)
    job = scheduler.submit(asked, tmp_path)
    status = follow(scheduler, job, ["failed"])
    assert status.exit == 7
    assert [status.tasks[i].state for i in range(4)] == ["complete"] * 2 + ["failed", "complete"]
    hosts = [asked.output_of(i).read_text().strip() for i in range(4)]
    assert set(hosts) <= {"node2", "node3", "node4", "node5"}


def test_queued_and_running_jobs_are_cancelled(scheduler: BatchScheduler, tmp_path: Path) -> None:
    running = scheduler.submit(shell(tmp_path, "exec sleep 1000", nodes=4), tmp_path)
    follow(scheduler, running, ["running"])
    queued = scheduler.submit(shell(tmp_path, "true", nodes=4), tmp_path)
    status = follow(scheduler, queued, ["queued"])
    assert not status.ended
    scheduler.cancel([queued, running])
    assert follow(scheduler, queued, ["cancelled"]).state == "cancelled"
    assert follow(scheduler, running, ["cancelled"]).state == "cancelled"
    scheduler.cancel([queued, running])  # once more is no error


def test_the_walltime_ends_a_job_that_does_not(scheduler: BatchScheduler, tmp_path: Path) -> None:
    asked = shell(tmp_path, "echo begun; exec sleep 1000", walltime=30.0)
    job = scheduler.submit(asked, tmp_path)
    follow(scheduler, job, ["running"])
    assert "TimeLimit=00:01:00" in scontrol("show", "job", job)  # it counts minutes
    scontrol("update", f"JobId={job}", "TimeLimit=0")
    status = follow(scheduler, job, ["timeout"])
    assert status.reason.startswith("TimeLimit")
    said = (tmp_path / "job.out").read_text()
    assert said.startswith("begun\n")
    assert "DUE TO TIME LIMIT" in said


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"options": SchedulerConfig(partition="none")}, "nvalid partition"),
        ({"options": SchedulerConfig(reservation="none")}, "reservation"),
        ({"options": SchedulerConfig(constraint="none")}, "feature"),
        ({"options": SchedulerConfig(directives=("--no-such-option",))}, "no-such-option"),
        ({"nodes": 5}, "requested than permitted"),
        ({"options": SchedulerConfig(partition="short"), "walltime": 600.0}, "time limit"),
    ],
)
def test_a_rejection_is_reported_in_slurms_message(
    scheduler: BatchScheduler, tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    if "PartitionName=short" not in scontrol("show", "partition"):
        scontrol("create", "PartitionName=short", "Nodes=ALL", "MaxTime=1")
    with pytest.raises(AssayError, match="Slurm rejects the job") as error:
        scheduler.submit(shell(tmp_path, "true", **changes), tmp_path)
    assert words in error.value.detail
    assert not isinstance(error.value, SchedulerSilent)


NAMES = [
    "plain-1.2",
    "two words",
    'a "quoted" word',
    "it's",
    "back\\slash",
    "ends in \\",
    "# no comment",
    "a#b",
    "$(touch broken)`touch broken`",
    "%j %x %%",
    "--uid=0",
    "=;&|<>(){}[]*?~!",
    "naïve 漢字",
    "x'\"\\",
]


@pytest.mark.parametrize("name", NAMES)
def test_sbatch_parses_directives_as_written(
    scheduler: BatchScheduler, tmp_path: Path, name: str
) -> None:
    options = SchedulerConfig(directives=("--hold",))
    script = scheduler.script(shell(tmp_path, "true", name=name, options=options))
    line = next(x for x in script.splitlines() if "--job-name" in x)
    # The checker that replaces sbatch in the other tests agrees with it.
    assert slurm_words(line.removeprefix("#SBATCH ")) == [f"--job-name={name}"]
    job = scheduler.submit(shell(tmp_path, "true", name=name, options=options), tmp_path)
    try:
        first = scontrol("show", "job", job).splitlines()[0]
        assert first == f"JobId={job} JobName={name}"
    finally:
        scheduler.cancel([job])


def test_hostile_words_arrive_unchanged(scheduler: BatchScheduler, tmp_path: Path) -> None:
    folder = tmp_path / "a b%j%%'\"#$(touch broken)`touch broken`;é"
    folder.mkdir()
    tell = (
        "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['VALUE'], os.getcwd()]))"
    )
    words = ["-x", "", "two\nlines", "#SBATCH --hold", "$HOME", "'\"\\", "*"]
    asked = request(
        folder,
        *(sys.executable, "-c", tell, *words),
        name="x; touch broken #",
        environment={"VALUE": "a\n#SBATCH --hold\n$(touch broken)"},
    )
    job = scheduler.submit(asked, folder)
    follow(scheduler, job, ["complete"])
    assert json.loads((folder / "job.out").read_text()) == [
        words,
        "a\n#SBATCH --hold\n$(touch broken)",
        str(folder),
    ]
    assert {path.name for path in folder.iterdir()} == {"job.sh", "job.out"}


def test_a_failed_node_is_no_failure_of_the_job(
    slurm: SlurmCluster, scheduler: BatchScheduler, tmp_path: Path
) -> None:
    job = scheduler.submit(shell(tmp_path, "hostname; exec sleep 1000", nodes=2), tmp_path)
    follow(scheduler, job, ["running"])
    (nodes,) = re.findall(r"^ +NodeList=(\S+)", scontrol("show", "job", job), re.M)
    first, dead = scontrol("show", "hostnames", nodes).split()
    slurm.kill_node(dead)
    try:
        assert follow(scheduler, job, ["node-failed"]).state == "node-failed"
        assert slurm.states()[dead].startswith("down")
        assert (tmp_path / "job.out").read_text().startswith(f"{first}\n")
    finally:
        slurm.start_node(dead)
        slurm.await_idle()


def test_an_unavailable_controller_is_waited_for(
    slurm: SlurmCluster, scheduler: BatchScheduler, tmp_path: Path
) -> None:
    asked = shell(tmp_path, f"while [ ! -e {tmp_path}/go ]; do sleep 0.2; done; exit 4")
    job = scheduler.submit(asked, tmp_path)
    follow(scheduler, job, ["running"])
    slurm.stop_controller()
    try:
        for call in (
            lambda: scheduler.status([job]),
            lambda: scheduler.submit(shell(tmp_path, "true"), tmp_path),
            lambda: scheduler.cancel([job]),
        ):
            with pytest.raises(SchedulerSilent, match="Slurm does not answer"):
                call()
    finally:
        slurm.start_controller()
    assert scheduler.status([job])[job].state == "running"
    (tmp_path / "go").touch()
    assert follow(scheduler, job, ["failed"]).exit == 4


def test_a_job_is_submitted_from_within_another(
    slurm: SlurmCluster, scheduler: BatchScheduler, tmp_path: Path
) -> None:
    """The environment of the first job must not affect the second."""
    program = tmp_path / "again.py"
    program.write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from assay.schedulers.model import JobRequest\n"
        "from assay.schedulers.slurm import SlurmScheduler\n"
        "here = Path(sys.argv[1])\n"
        "asked = JobRequest('second', ('/bin/sh', '-c', 'echo $SLURM_JOB_NUM_NODES'),\n"
        "                   here, 1, 600.0, here / 'second.out')\n"
        "print(SlurmScheduler().submit(asked, here))\n"
    )
    paths = os.pathsep.join(path for path in sys.path if path)
    asked = request(
        tmp_path,
        *(sys.executable, str(program), str(tmp_path)),
        nodes=4,
        environment={"PYTHONPATH": paths},
    )
    first = scheduler.submit(asked, tmp_path)
    follow(scheduler, first, ["complete"])
    second = (tmp_path / "job.out").read_text().strip()
    follow(scheduler, second, ["complete"])
    assert (tmp_path / "second.out").read_text() == "1\n"
