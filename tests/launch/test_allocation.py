"""Allocations as schedulers announce them, recorded, and the remote shells to their hosts."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.launch import allocation
from assay.launch.allocation import find_allocation, remote_shell_script
from assay.schedulers import systems


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Scheduler:
    """Answers commands as recorded; the others fail."""

    def __init__(self, **answers: str) -> None:
        self.answers = answers
        self.asked: list[tuple[tuple[str, ...], dict[str, str]]] = []

    def __call__(self, command: Sequence[str], environment: Mapping[str, str]) -> str | None:
        self.asked.append((tuple(command), dict(environment)))
        return self.answers.get(command[0])


def programs(folder: Path, *names: str) -> str:
    """A PATH with these programs alone."""
    place = folder / "bin"
    place.mkdir(exist_ok=True)
    for name in names:
        (place / name).write_text("#!/bin/sh\n")
        (place / name).chmod(0o755)
    return str(place)


# Variables set by sbatch --nodes=4 --exclusive (sbatch(1), OUTPUT ENVIRONMENT VARIABLES), recorded
# with Slurm 22.05.
SLURM = {
    "SLURM_JOB_ID": "71",
    "SLURM_JOBID": "71",
    "SLURM_NNODES": "4",
    "SLURM_JOB_NUM_NODES": "4",
    "SLURM_JOB_NODELIST": "n[1-2,07],m4",
    "SLURM_NODELIST": "n[1-2,07],m4",
    "SLURM_TASKS_PER_NODE": "1(x4)",
    "SLURM_SUBMIT_DIR": "/home/u",
}
SHOWN = (
    "JobId=71 JobName=assay UserId=u(1000) JobState=RUNNING Reason=None RunTime=00:00:02 "
    "TimeLimit=00:10:00 SubmitTime=1700000000 StartTime=1700000001 EndTime=1700000601 "
    "NodeList=n[1-2,07],m4 NumNodes=4\n"
)


def test_slurm(tmp_path: Path, cache: Path) -> None:
    ask = Scheduler(scontrol=SHOWN)
    found = find_allocation({**SLURM, "PATH": programs(tmp_path, "srun")}, ask)
    assert found is not None
    assert (found.scheduler, found.job, found.hosts) == ("slurm", "71", ("n1", "n2", "n07", "m4"))
    assert found.ends == 1700000601.0
    assert ask.asked[0] == (
        ("scontrol", "--oneliner", "show", "job", "71"),
        {"SLURM_TIME_FORMAT": "%s"},
    )
    assert found.cluster.hosts == found.hosts
    assert found.cluster.starter == "slurm"
    shell = Path(found.cluster.remote_shell)
    assert shell.is_relative_to(cache) and os.access(shell, os.X_OK)
    # A newer one announces its end; no query is needed.
    ask = Scheduler()
    found = find_allocation({**SLURM, "SLURM_JOB_END_TIME": "1700000600"}, ask)
    assert found is not None and found.ends == 1700000600.0
    assert ask.asked == []
    # Without srun there is ssh.
    assert (found.cluster.remote_shell, found.cluster.starter) == ("ssh", "shell")
    found = find_allocation(SLURM, Scheduler())
    assert found is not None and found.ends is None


def test_a_modified_remote_shell_is_not_run(tmp_path: Path, cache: Path) -> None:
    environ = {**SLURM, "PATH": programs(tmp_path, "srun")}
    found = find_allocation(environ, Scheduler(scontrol=SHOWN))
    assert found is not None
    shell = Path(found.cluster.remote_shell)
    written = shell.read_text()
    shell.write_text("#!/bin/sh\necho planted\n")
    found = find_allocation(environ, Scheduler(scontrol=SHOWN))
    assert shell.read_text() == written
    assert os.access(shell, os.X_OK)
    for path in (shell, shell.parent, cache):
        mode = path.stat().st_mode
        path.chmod(0o777)
        with pytest.raises(AssayError, match="may be written by all users"):
            find_allocation(environ, Scheduler(scontrol=SHOWN))
        path.chmod(mode)


# OpenPBS: one line of PBS_NODEFILE for each chunk's mpiprocs (Reference Guide, "mpiprocs").
NODEFILE = "n1.site\nn1.site\nn2.site\nn2.site\n"
QSTAT = """\
Job Id: 12.server
    Job_Name = assay
    job_state = R
    Resource_List.nodect = 2
    Resource_List.walltime = 01:30:00
    stime = Tue Nov 14 22:13:20 2023
    resources_used.walltime = 00:00:05
"""
TORQUE = """\
Job Id: 12.server
    Resource_List.walltime = 01:30:00
    start_time = Tue Nov 14 22:13:20 2023
    Walltime.Remaining = 5395
"""


def test_pbs(tmp_path: Path) -> None:
    file = tmp_path / "nodes"
    file.write_text(NODEFILE)
    environ = {"PBS_JOBID": "12.server", "PBS_NODEFILE": str(file)}
    found = find_allocation(
        {**environ, "PATH": programs(tmp_path, "pbs_tmrsh")}, Scheduler(qstat=QSTAT)
    )
    assert found is not None
    assert (found.scheduler, found.hosts) == ("pbs", ("n1.site", "n2.site"))
    began = time.mktime((2023, 11, 14, 22, 13, 20, 0, 0, -1))
    assert found.ends == began + 5400
    assert found.cluster.starter == "shell"
    assert found.cluster.remote_shell != "ssh"
    now = time.time()
    found = find_allocation(environ, Scheduler(qstat=TORQUE))
    assert found is not None and found.ends is not None
    assert now + 5395 <= found.ends <= time.time() + 5395
    found = find_allocation(environ, Scheduler())
    assert found is not None and found.ends is None
    file.unlink()
    with pytest.raises(AssayError, match="can't be read"):
        find_allocation(environ, Scheduler())


def test_lsf(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("hostA\nhostA\nhostB\nhostB\n")
    environ = {"LSB_JOBID": "9", "LSB_MCPU_HOSTS": "hostA 2 hostB 2 "}
    for more in ({}, {"LSB_DJOB_HOSTFILE": str(file)}):
        found = find_allocation({**environ, **more}, Scheduler())
        assert found is not None
        assert (found.scheduler, found.job, found.hosts) == ("lsf", "9", ("hostA", "hostB"))
        assert found.ends is None


def test_flux() -> None:
    environ = {"FLUX_URI": "local:///tmp/f", "FLUX_ENCLOSING_ID": "ƒ3ETxsR9H"}

    class Flux(Scheduler):
        def __call__(self, command: Sequence[str], environment: Mapping[str, str]) -> str | None:
            return {"resource": "n[2-3]\nn1\n", "job": "120.5\n"}[command[1]]

    now = time.time()
    found = find_allocation(environ, Flux())
    assert found is not None and found.ends is not None
    assert (found.scheduler, found.hosts) == ("flux", ("n2", "n3", "n1"))
    assert now + 120.5 <= found.ends <= time.time() + 120.5
    with pytest.raises(AssayError, match="doesn't say which hosts"):
        find_allocation(environ, Scheduler())


def test_outside_of_an_allocation_there_is_none() -> None:
    assert find_allocation({}, Scheduler()) is None
    assert find_allocation({"SLURM_CONF": "/etc/slurm.conf", "PATH": "/bin"}, Scheduler()) is None
    assert find_allocation({"FLUX_URI": "local:///tmp/f"}, Scheduler()) is None


@pytest.mark.parametrize("nodes", ["n1;touch x", "$(id)", "n[1-2", "-oProxyCommand=x", "a\nb"])
def test_invalid_hosts_are_refused(nodes: str) -> None:
    with pytest.raises(AssayError) as error:
        find_allocation({**SLURM, "SLURM_JOB_NODELIST": nodes}, Scheduler())
    assert error.value.fix


# ---- the remote shells, with replacements of the schedulers' programs --------------------------

STAND_IN = """\
#!/bin/sh
for word in "$@"; do printf '<%s>' "$word"; done
printf '%s' " $SLURM_NTASKS"
"""

SYSTEMS = {system.name: system for system in systems()}


def called(
    tmp_path: Path, scheduler: str, program: str, *words: str, reported: str | None = None
) -> str:
    folder = tmp_path / "a b"
    folder.mkdir(exist_ok=True)
    stand_in = folder / program
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    script = tmp_path / "shell"
    script.write_text(remote_shell_script(SYSTEMS[scheduler], str(stand_in)))
    environment = {**os.environ, "SLURM_JOB_ID": "71", "SLURM_NTASKS": "8"}
    done = subprocess.run(
        ["sh", str(script), *words],
        **({"stdin": subprocess.DEVNULL} if reported is None else {"input": reported}),
        capture_output=True,
        text=True,
        timeout=20,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_scheduler_is_called_with_this_command(tmp_path: Path) -> None:
    words = ("-x", "n2", "cd '/a b' && exec", "prog", "x;y")
    line = "cd '/a b' && exec prog x;y"
    assert called(tmp_path, "slurm", "srun", *words) == (
        "<--overlap><--jobid=71><--nodes=1><--ntasks=1><--nodelist=n2><--cpu-bind=none><--mpi=none>"
        f"<--quiet><--input=none><sh><-c><{line}> "
    )
    assert called(tmp_path, "lsf", "blaunch", *words) == f"<n2><{line}> 8"
    # The replacement prints its own arguments where the rank is looked up.
    assert called(tmp_path, "flux", "flux", *words) == (
        f"<exec><--noinput><--rank><<overlay><lookup><n2> 8><sh><-c><{line}> 8"
    )


def test_input_through_a_pipe_is_passed_on(tmp_path: Path) -> None:
    assert "<--input=all>" in called(tmp_path, "slurm", "srun", "n2", "prog", reported="yes")
    assert "noinput" not in called(tmp_path, "flux", "flux", "n2", "prog", reported="yes")


def test_an_unresolvable_host_name_is_replaced_by_an_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import socket

    assert allocation.own_address() is None or "." in str(allocation.own_address())

    def nowhere(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    address = allocation.own_address()
    assert address is None or not address.startswith("127.")
