"""Inside a scheduler's allocation: which hosts it holds, how they are reached, and when it ends.

Sources: sbatch(1) and srun(1) of Slurm; the PBS Professional Reference Guide (PBS_NODEFILE, qstat
-f) and Torque's; the LSF command and configuration references (LSB_DJOB_HOSTFILE, LSB_MCPU_HOSTS,
blaunch); flux-environment(7), flux-resource(1), flux-overlay(1), flux-exec(1).
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.config import HOST_NAME, ClusterConfig
from assay.errors import AssayError
from assay.hostnames import expand_hosts
from assay.kernels.probes import cache_home
from assay.records.files import write_atomically

# Seconds for a scheduler's command to say what it knows of our own job.
_PATIENCE = 15.0
_BATCH_SYSTEMS = {"slurm": "Slurm", "pbs": "PBS", "lsf": "LSF", "flux": "Flux"}

Ask = Callable[[Sequence[str], Mapping[str, str]], str | None]


@dataclass(frozen=True)
class Allocation:
    """The hosts that a scheduler has given to this job, in its order.

    ``scheduler``: ``"slurm"``, ``"pbs"``, ``"lsf"`` or ``"flux"``. ``cluster``: the same hosts with
    the way in which mpirun reaches them. ``ends``: when the job will be ended (utc, s), None where
    that isn't known.
    """

    scheduler: str
    job: str
    hosts: tuple[str, ...]
    cluster: ClusterConfig
    ends: float | None


def find_allocation(
    environ: Mapping[str, str] | None = None, ask: Ask | None = None
) -> Allocation | None:
    """The allocation that this process runs in, by its environment; None outside one.

    ``ask`` runs a scheduler's command and gives what it printed, None if it failed. Raises
    AssayError where an allocation is named and its hosts can't be understood.
    """
    environ = os.environ if environ is None else environ
    ask = ask or _ask
    for find in (_slurm, _pbs, _lsf, _flux):
        found = find(environ, ask)
        if found is not None:
            scheduler, job, hosts, ends = found
            _check(scheduler, job, hosts)
            return Allocation(scheduler, job, hosts, _reached(scheduler, hosts, environ), ends)
    return None


_Found = tuple[str, str, tuple[str, ...], float | None]


def _slurm(environ: Mapping[str, str], ask: Ask) -> _Found | None:
    job = environ.get("SLURM_JOB_ID")
    nodes = environ.get("SLURM_JOB_NODELIST") or environ.get("SLURM_NODELIST")
    if not job or not nodes:
        return None
    ends = _number(environ.get("SLURM_JOB_END_TIME"))
    if ends is None:
        # Times as Unix times: scontrol(1), SLURM_TIME_FORMAT.
        said = ask(("scontrol", "--oneliner", "show", "job", job), {"SLURM_TIME_FORMAT": "%s"})
        ends = _number(_match(r"\bEndTime=(\d+)\b", said))
    return "slurm", job, expand_hosts(nodes), ends


def _pbs(environ: Mapping[str, str], ask: Ask) -> _Found | None:
    job, file = environ.get("PBS_JOBID"), environ.get("PBS_NODEFILE")
    if not job or not file:
        return None
    hosts = tuple(dict.fromkeys(_lines(file)))
    said = ask(("qstat", "-f", job), {}) or ""
    left = _number(_match(r"Walltime\.Remaining = (\d+)", said))  # Torque says it outright
    if left is not None:
        return "pbs", job, hosts, time.time() + left
    began = _date(_match(r"\b(?:stime|start_time) = (.+)", said))
    asked = _clock(_match(r"\bResource_List\.walltime = ([\d:]+)", said))
    return "pbs", job, hosts, began + asked if began and asked else None


def _lsf(environ: Mapping[str, str], ask: Ask) -> _Found | None:
    job = environ.get("LSB_JOBID")
    file, counted = environ.get("LSB_DJOB_HOSTFILE"), environ.get("LSB_MCPU_HOSTS")
    if not job or not (file or counted):
        return None
    # "hostA 4 hostB 2": each host with its slots.
    hosts = _lines(file) if file else (counted or "").split()[::2]
    return "lsf", job, tuple(dict.fromkeys(hosts)), None


def _flux(environ: Mapping[str, str], ask: Ask) -> _Found | None:
    # Of a batch job or `flux alloc`, which are Flux instances of their own.
    job = environ.get("FLUX_ENCLOSING_ID") or environ.get("FLUX_JOB_ID")
    if not job or not environ.get("FLUX_URI"):
        return None
    states = ("--states=free,allocated", "--no-header", "--format={nodelist}")
    said = ask(("flux", "resource", "list", *states), {})
    if said is None:
        raise AssayError(
            "Flux doesn't say which hosts this job has.",
            where=f"job {job}",
            mend="See that `flux resource list` works here.",
        )
    hosts = [host for line in said.split() for host in expand_hosts(line)]
    left = _number((ask(("flux", "job", "timeleft"), {}) or "").strip())
    ends = time.time() + left if left else None
    return "flux", job, tuple(dict.fromkeys(hosts)), ends


def _check(scheduler: str, job: str, hosts: Sequence[str]) -> None:
    wrong = next((host for host in hosts if not HOST_NAME.fullmatch(host)), None)
    if wrong is None and hosts:
        return
    what = f"'{wrong}' is no host's name." if hosts else "It names no host."
    raise AssayError(
        f"The hosts of the {_BATCH_SYSTEMS[scheduler]} job can't be understood: {what}",
        where=f"job {job}",
        mend="Start assay from the job's own script, or name the hosts in [cluster] of assay.toml "
        "and unset the job's variables.",
    )


# ---- how its hosts are reached ---------------------------------------------------------------

# Variables by which a job's own options would become those of each step in it (srun(1), INPUT
# ENVIRONMENT VARIABLES): a step for one command on one node must not ask for the job's tasks again.
_STEP_VARIABLES = (
    *("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK"),
    *("SRUN_CPUS_PER_TASK", "SLURM_TRES_PER_TASK", "SLURM_NTASKS_PER_CORE", "SLURM_NNODES"),
    *("SLURM_JOB_NUM_NODES", "SLURM_DISTRIBUTION", "SLURM_CPU_BIND", "SLURM_MEM_PER_CPU"),
    *("SLURM_MEM_PER_NODE", "SLURM_EXACT", "SLURM_EXCLUSIVE", "SLURM_ARBITRARY_NODEFILE"),
)
_SHELL = """\
#!/bin/sh
# HOST COMMAND…: runs a command on a host of this job, as ssh would: its words joined and given to a
# shell there. What comes through a pipe is passed on.
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
{body}
"""
# The last line of each; {program} is the scheduler's own.
_BODIES = {
    "slurm": f"unset {' '.join(_STEP_VARIABLES)}\n"
    'exec {program} --overlap --jobid="$SLURM_JOB_ID" --nodes=1 --ntasks=1 '
    '--nodelist="$host" --cpu-bind=none --mpi=none --quiet '
    '--input="$([ -p /dev/stdin ] && echo all || echo none)" sh -c "$*"',
    "pbs": 'exec {program} "$host" "$*"',
    "lsf": 'exec {program} "$host" "$*"',
    "flux": "exec {program} exec $([ -p /dev/stdin ] || echo --noinput) "
    '--rank "$({program} overlay lookup "$host")" sh -c "$*"',
}
_PROGRAMS = {"slurm": "srun", "pbs": "pbs_tmrsh", "lsf": "blaunch", "flux": "flux"}


def remote_shell_script(scheduler: str, program: str) -> str:
    """A program called like ssh (``HOST COMMAND…``) that goes through a scheduler's own way."""
    return _SHELL.format(body=_BODIES[scheduler].format(program=shlex.quote(program)))


def _reached(scheduler: str, hosts: tuple[str, ...], environ: Mapping[str, str]) -> ClusterConfig:
    """By the scheduler's own program where it is found, else by ssh."""
    program = shutil.which(_PROGRAMS[scheduler], path=environ.get("PATH", ""))
    starter: Literal["shell", "slurm"] = "slurm" if program and scheduler == "slurm" else "shell"
    shell = "ssh" if program is None else str(_kept(remote_shell_script(scheduler, program)))
    return ClusterConfig(hosts, shell, own_address(), starter)


def _kept(script: str) -> Path:
    """The script as a file that all hosts see: some MPIs start agents from other hosts, too."""
    digest = hashlib.sha256(script.encode()).hexdigest()[:16]
    path = cache_home() / "shells" / digest / "remote-shell"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, script.encode(), mode=0o755)
    return path


def own_address() -> str | None:
    """This machine's address towards its neighbours where its own name leads nowhere; else None.

    mpirun tells its agents this machine's name to call back by. Where that name can't be resolved,
    the only address of the only adapter in use will do.
    """
    import socket

    import psutil

    try:
        socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        found = [
            address.address
            for name, addresses in psutil.net_if_addrs().items()
            for address in addresses
            if address.family == socket.AF_INET
            and not address.address.startswith("127.")
            and psutil.net_if_stats()[name].isup
        ]
        return found[0] if found else None
    return None


# ---- reading what schedulers say -------------------------------------------------------------


def _ask(command: Sequence[str], environment: Mapping[str, str]) -> str | None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
            env={**os.environ, "LC_ALL": "C", **environment},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text("utf-8", "replace").split()
    except OSError as error:
        raise AssayError(
            f"The scheduler's list of hosts can't be read: {error.strerror}.", where=file
        ) from None


def _match(pattern: str, text: str | None) -> str | None:
    found = re.search(pattern, text or "")
    return found[1].strip() if found else None


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d{1,15}(\.\d*)?", text, re.ASCII) else None


def _clock(text: str | None) -> float | None:
    """Seconds of ``HH:MM:SS``; days stand in the hours."""
    if not text or not re.fullmatch(r"\d+(:\d\d){0,2}", text, re.ASCII):
        return None
    seconds = 0
    for part in text.split(":"):
        seconds = 60 * seconds + int(part)
    return float(seconds)


def _date(text: str | None) -> float | None:
    """Unix time of qstat's ``Tue Nov 21 10:00:00 2023``, which is local time."""
    try:
        return time.mktime(time.strptime(text or "", "%a %b %d %H:%M:%S %Y"))
    except (ValueError, OverflowError):
        return None
