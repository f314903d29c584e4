"""The scheduler's allocation around this process: its hosts, how to reach them, when it ends.

The parts specific to a batch system are in its module of ``assay.schedulers``.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.config import HOST_NAME, ClusterConfig
from assay.errors import AssayError
from assay.launch.kept_script import kept_script
from assay.schedulers import systems
from assay.schedulers.model import Ask, BatchSystem, Granted

# Seconds for a scheduler's command to answer a query about this job.
_PATIENCE = 15.0


@dataclass(frozen=True)
class Allocation:
    """The hosts that a scheduler has allocated to this job, in its order."""

    #: The batch system's name, such as ``"slurm"``.
    scheduler: str
    job: str
    hosts: tuple[str, ...]
    #: The hosts, and how mpirun reaches them.
    cluster: ClusterConfig
    #: End of the job's time (Unix time, s), None if unknown.
    ends: float | None


def find_allocation(
    environ: Mapping[str, str] | None = None, ask: Ask | None = None
) -> Allocation | None:
    """The allocation that this process runs in, by its environment; None outside an allocation.

    ``ask`` runs a scheduler's command and returns its output, None if it failed. Raises AssayError
    if there is an allocation and its hosts can't be parsed.
    """
    environ = os.environ if environ is None else environ
    ask = ask or _ask
    for system in systems():
        found = system.granted(environ, ask)
        if found is not None:
            _check(system, found)
            reached = _reached(system, found.hosts, environ)
            return Allocation(system.name, found.job, found.hosts, reached, found.ends)
    return None


def _check(system: BatchSystem, found: Granted) -> None:
    wrong = next((host for host in found.hosts if not HOST_NAME.fullmatch(host)), None)
    if wrong is None and found.hosts:
        return
    what = f"'{wrong}' is not a host name." if found.hosts else "It names no host."
    raise AssayError(
        f"The hosts of the {system.title} job can't be determined: {what}",
        where=f"job {found.job}",
        fix="Start assay from the job's own script, or name the hosts in [cluster] of assay.toml "
        "and unset the job's variables.",
    )


# ---- how its hosts are reached ---------------------------------------------------------------

_SHELL = """\
#!/bin/sh
# HOST COMMAND…: runs a command on a host of this job, as ssh would: joins its words and passes them
# to a shell there. Input from a pipe is passed on, where the scheduler can.
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
{body}
"""


def remote_shell_script(system: BatchSystem, program: str) -> str:
    """A script called like ssh (``HOST COMMAND…``) that uses a scheduler's own remote launch."""
    return _SHELL.format(body=system.shell_line.format(program=shlex.quote(program)))


def _reached(
    system: BatchSystem, hosts: tuple[str, ...], environ: Mapping[str, str]
) -> ClusterConfig:
    """The hosts, reached by the scheduler's own program if it is found, else by ssh."""
    program = shutil.which(system.shell_program, path=environ.get("PATH", ""))
    if program is None:
        return ClusterConfig(hosts, "ssh", own_address(), "shell")
    # A file that all hosts see: some MPIs also start agents from other hosts.
    shell = str(kept_script("shells", "remote-shell", remote_shell_script(system, program)))
    return ClusterConfig(hosts, shell, own_address(), system.starter)


def own_address() -> str | None:
    """This machine's first IPv4 address if its own host name can't be resolved; else None.

    mpirun passes this machine's name to its agents, which connect back to mpirun. If the name can't
    be resolved, the address is passed instead.
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


# ---- queries to schedulers --------------------------------------------------------------------


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
