"""The words by which each MPI's mpirun launches ranks, on this machine or on several hosts."""

from __future__ import annotations

import os
from pathlib import Path

from assay.config import ClusterConfig
from assay.errors import AssayError
from assay.kernels.toolchains import Toolchain
from assay.launch.adapters import choose_adapters
from assay.plans.model import Placement

# MPICH's ranks poll while they wait. Where they outnumber the cores, each poll is time that a rank
# with work does not get, so they are told to sleep a little when nothing has come. Open MPI does so
# by itself when it is told that it is oversubscribed.
POLITE_WAITING = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "true",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "10",
}


def mpirun_command(
    toolchain: Toolchain,
    executable: Path,
    placement: Placement,
    job: Path,
    stream: Path,
    *,
    cluster: ClusterConfig | None = None,
    cores: int | None = None,
    root: bool | None = None,
) -> list[str]:
    """The launch line, ready to paste.

    ``cluster``: the hosts, of which the first ``placement.nodes`` are used; None is this machine
    alone. ``cores`` and ``root`` default to this machine's and this process's. The harness pins and
    numbers ranks by itself, so that every MPI is treated alike: each launcher fills host after host
    and is told to bind nothing. Raises AssayError for what can't be launched.
    """
    hosts = hosts_of(placement, cluster)
    if placement.adapter is not None and placement.nodes == 1:
        raise AssayError(
            f"A launch on one node can't use the network adapter '{placement.adapter}': "
            "its ranks talk through memory.",
            mend="Leave 'adapter' out of the placement.",
        )
    if toolchain.mpirun is None:
        raise AssayError(
            f"The toolchain '{toolchain.name}' has no mpirun beside its mpicxx or on PATH.",
            mend=f'Add mpirun = "…" to [toolchains.{toolchain.name}] in assay.toml.',
        )
    root = os.geteuid() == 0 if root is None else root
    cores = _physical_cores() if cores is None else cores
    choice = choose_adapters(toolchain.mpi_flavour, placement.adapter)
    variables = {**_thread_variables(placement.threads), **choice.environment}
    site = dict(sorted(toolchain.environment.items()))
    match toolchain.mpi_flavour:
        case "mpich":
            if placement.ppn * placement.threads > cores:
                variables |= POLITE_WAITING
            # user: a scheduler's allocation around this process is no concern of this launch.
            flags = [*_hydra(hosts, cluster, placement.ppn), "-bind-to", "none", *_genv(variables)]
        case "intel":
            flags = [*_intel(hosts, cluster), "-ppn", str(placement.ppn)]
            flags += _genv({"I_MPI_PIN": "0", **variables})
        case "openmpi":
            flags = [*_open_mpi(hosts, cluster, placement.ppn), "--bind-to", "none", *choice.flags]
            flags += ["--oversubscribe"] if placement.ppn > cores else []
            flags += ["--allow-run-as-root"] if root else []
            # Its own variables apart, it hands none on to other hosts unless told.
            told = {**site, **variables} if hosts else variables
            flags += [word for name, value in told.items() for word in ("-x", f"{name}={value}")]
        case "other":
            flags = []
            site |= variables
            if hosts:
                raise AssayError(
                    "No way is known to launch on several hosts with the mpirun of the toolchain "
                    f"'{toolchain.name}': it is neither MPICH's, Open MPI's nor Intel's.",
                    mend="Take another toolchain, or set nodes = 1 and leave [cluster] out.",
                )
    program = [str(executable), "--job", str(job), "--out", str(stream)]
    prefix = ["env", *(f"{name}={value}" for name, value in site.items())] if site else []
    count = ["-n", str(placement.ranks)]
    return [*prefix, toolchain.mpirun, *count, *flags, *toolchain.launch_flags, *program]


def hosts_of(placement: Placement, cluster: ClusterConfig | None) -> tuple[str, ...]:
    """The hosts that a placement uses; empty for this machine alone. Raises AssayError."""
    if cluster is None and placement.nodes == 1:
        return ()
    if cluster is None:
        raise AssayError(
            f"There is one node, this machine, and the placement needs {placement.nodes}.",
            mend="Name the hosts in [cluster] of assay.toml, or set nodes = 1.",
        )
    if placement.nodes > len(cluster.hosts):
        raise AssayError(
            f"[cluster] names {len(cluster.hosts)} hosts, and the placement needs "
            f"{placement.nodes}.",
            mend="Name more hosts in assay.toml, or set fewer nodes.",
        )
    return cluster.hosts[: placement.nodes]


def _hydra(hosts: tuple[str, ...], cluster: ClusterConfig | None, ppn: int) -> list[str]:
    if not hosts or cluster is None:
        return ["-launcher", "fork", "-rmk", "user"]
    address = ["-localhost", cluster.local_address] if cluster.local_address else []
    reached = ["-launcher", "ssh", "-launcher-exec", cluster.remote_shell, "-rmk", "user", *address]
    return [*reached, "-hosts", ",".join(hosts), "-ppn", str(ppn)]


def _intel(hosts: tuple[str, ...], cluster: ClusterConfig | None) -> list[str]:
    if not hosts or cluster is None:
        return ["-bootstrap", "fork"]
    shell = cluster.remote_shell
    return ["-bootstrap", "ssh", "-bootstrap-exec", shell, "-hosts", ",".join(hosts)]


def _open_mpi(hosts: tuple[str, ...], cluster: ClusterConfig | None, ppn: int) -> list[str]:
    if not hosts or cluster is None:
        return []
    slots = ",".join(f"{_bracketed(host)}:{ppn}" for host in hosts)
    return ["--host", slots, "--mca", "plm_rsh_agent", cluster.remote_shell]


def _genv(variables: dict[str, str]) -> list[str]:
    return [word for name, value in variables.items() for word in ("-genv", name, value)]


def _bracketed(host: str) -> str:
    """Open MPI takes what follows a colon for the number of slots, unless it stands in brackets."""
    return f"[{host}]" if ":" in host else host


def _thread_variables(threads: int) -> dict[str, str]:
    """The same number of threads for OpenMP and for every BLAS's own pool."""
    count = str(threads)
    return {
        "OMP_NUM_THREADS": count,
        "OMP_DYNAMIC": "false",
        "OMP_PROC_BIND": "false",
        "OPENBLAS_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "BLIS_NUM_THREADS": count,
    }


def _physical_cores() -> int:
    """Cores that this process may use, hardware threads not counted: what Open MPI calls slots."""
    import psutil

    allowed = len(os.sched_getaffinity(0))
    return min(psutil.cpu_count(logical=False) or allowed, allowed)
