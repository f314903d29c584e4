"""Running programs on a lab's hosts; assay itself measures a lab from its first host."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

import msgspec

from assay.config import ClusterConfig, Config
from assay.errors import AssayError, nearest
from assay.lab import network
from assay.lab.cluster import Cluster, Host
from assay.lab.store import check_root, find_lab, slurm_of
from assay.processes import POLITE_WAITING
from assay.schedulers import job_variables

# A lab may have more hosts than the machine has cores; launches on them can't detect that.
_POLITE = {
    **POLITE_WAITING,
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMP_WAIT_POLICY": "passive",
}


def run_on(
    name: str, host: str | None, command: Sequence[str], user: str | None = None
) -> NoReturn:
    """Replace this process by a command on a lab's host (default: the first), as ``user``.

    Raises AssayError.
    """
    check_root()
    cluster = find_lab(name)
    found = cluster.hosts[0] if host is None else cluster.host(host)
    if found is None:
        raise AssayError(
            f"The lab '{name}' has no host '{host}'.",
            fix=nearest(host or "", (each.name for each in cluster.hosts)),
        )
    if not command:
        raise AssayError(
            "There is no command to run.", fix=f"Such as `assay lab run {name} -- uname -n`."
        )
    as_user, home = _as_user(user) if user is not None else ([], {})
    _become(cluster, found, [*as_user, *command], home)


def _as_user(user: str) -> tuple[list[str], dict[str, str]]:
    """The prefix that runs a command as a user of this machine, and the command's variables."""
    try:
        known = pwd.getpwnam(user)
    except KeyError:
        raise AssayError(
            f"There is no user '{user}' on this machine.",
            where="--user",
            fix=nearest(user, (each.pw_name for each in pwd.getpwall())),
        ) from None
    words = ["setpriv", f"--reuid={known.pw_uid}", f"--regid={known.pw_gid}", "--init-groups"]
    # The machine's own Slurm commands. Those on a lab's PATH enter a host, and only root may do so.
    path = os.environ.get("PATH", os.defpath)
    return words, {"HOME": known.pw_dir, "USER": user, "LOGNAME": user, "PATH": path}


def on_lab(name: str, config: Config) -> Config:
    """The config for measuring on a lab from its first host.

    If this process is not on that host, it executes itself there with the same command line. The
    lab's hosts replace the config's, and the system is named after the lab. Raises AssayError.
    """
    check_root()
    cluster = find_lab(name)
    if not network.is_inside(cluster.hosts[0].namespace):
        _become(cluster, cluster.hosts[0], _own_words())
    hosts = ClusterConfig(
        tuple(host.addresses[0] for host in cluster.hosts),
        str(cluster.remote_shell),
        cluster.hosts[0].addresses[0],
        slowest_link=cluster.spec.trunk.rate,
    )
    system = msgspec.structs.replace(config.system, name=f"lab {name}")
    return replace(config, cluster=hosts, scheduler=None, system=system)


def _own_words() -> list[str]:
    """This process's command line, still without the current folder on Python's path."""
    safe = [] if sys.flags.safe_path else ["-P"]
    return [sys.executable, *safe, *sys.orig_argv[1:]]


def environment(cluster: Cluster, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program on a host of the lab, from ``environ``.

    Variables of a scheduler outside the lab are removed, because its nodes are not the lab's.
    """
    if not any(network.is_inside(space) for space in cluster.namespaces):
        environ = {k: v for k, v in environ.items() if not k.startswith(job_variables())}
    slurm = slurm_of(cluster).environment() if cluster.spec.slurm else {}
    return {**(_POLITE if cluster.crowded else {}), **environ, **slurm}


def _become(
    cluster: Cluster, host: Host, words: Sequence[str], variables: Mapping[str, str] | None = None
) -> NoReturn:
    command = cluster.command(host, *words)
    sys.stdout.flush()
    sys.stderr.flush()
    environ = {**environment(cluster, os.environ), **(variables or {})}
    os.execvpe(command[0], command, environ)
