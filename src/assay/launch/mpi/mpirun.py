"""The command lines of each MPI's mpirun, and of srun, for this machine or several hosts."""

from __future__ import annotations

import os
from pathlib import Path

from assay.config import ClusterConfig
from assay.errors import AssayError
from assay.kernels.builds.toolchain import Toolchain
from assay.kernels.device_libraries import device_library_variables
from assay.launch.mpi.adapter_variables import choose_adapters
from assay.launch.mpi.host_lists import hydra_hosts, open_mpi_hosts, srun_hosts
from assay.launch.node_sets import choose_hosts
from assay.model.placement import Placement
from assay.processes import POLITE_WAITING


def mpirun_command(
    toolchain: Toolchain,
    executable: Path,
    placement: Placement,
    job: Path,
    stream: Path,
    *,
    cluster: ClusterConfig | None = None,
    seed: int = 0,
    cores: int | None = None,
    root: bool | None = None,
    thread_multiple: bool = False,
) -> list[str]:
    """The command line of a launch; it can be run by hand.

    As ``launcher_words``, followed by the kernel program. ``thread_multiple``: whether it requests
    MPI_THREAD_MULTIPLE.
    """
    words = launcher_words(toolchain, placement, cluster=cluster, seed=seed, cores=cores, root=root)
    level = ["--thread-multiple"] if thread_multiple else []
    files = ["--job", str(job), "--out", str(stream)]
    return [*words, *toolchain.wrapper, str(executable), *files, *level]


def launcher_words(
    toolchain: Toolchain,
    placement: Placement,
    *,
    cluster: ClusterConfig | None = None,
    seed: int = 0,
    cores: int | None = None,
    root: bool | None = None,
) -> list[str]:
    """The command line of a launch up to the program.

    ``cluster``: the hosts, of which ``placement.nodes`` are used; None means only this machine.
    ``seed``: the plan's seed, for random node sets. ``cores`` and ``root`` default to this
    machine's and this process's. The harness itself pins and numbers the ranks, so every launcher
    fills host after host without binding. Raises AssayError for a placement that can't be launched.
    """
    hosts = hosts_of(placement, cluster, seed)
    if placement.adapter is not None and placement.nodes == 1:
        raise AssayError(
            f"A launch on one node can't use the network adapter '{placement.adapter}': "
            "its ranks communicate through shared memory.",
            fix="Leave 'adapter' out of the placement.",
        )
    root = os.geteuid() == 0 if root is None else root
    cores = _physical_cores() if cores is None else cores
    choice = choose_adapters(toolchain.mpi_flavour, placement.adapter)
    variables = {
        **_thread_variables(placement.threads),
        **device_library_variables(),
        **choice.environment,
    }
    site = dict(sorted(toolchain.variables.items()))
    launcher, count = launcher_of(toolchain, hosts, cluster), ["-n", str(placement.ranks)]
    own_agents = launcher != "srun" and uses_hydra(toolchain)
    if cluster is not None and cluster.starter == "slurm" and own_agents:
        site |= _STEP_OF_AGENTS
    match "srun" if launcher == "srun" else toolchain.mpi_flavour:
        case "srun":
            flags, count = _srun(hosts, placement), []
            # srun passes this environment on to all ranks.
            site |= variables
        case "mpich":
            if placement.ppn * placement.threads > cores:
                variables |= POLITE_WAITING
            # rmk user: the launch must not use a scheduler's allocation around this process.
            flags = [*_hydra(hosts, cluster, placement.ppn), "-bind-to", "none", *_genv(variables)]
        case "intel":
            flags = [*_intel(hosts, cluster), "-ppn", str(placement.ppn)]
            flags += _genv({"I_MPI_PIN": "0", **variables})
        case "openmpi":
            flags = [*_open_mpi(hosts, cluster, placement.ppn), "--bind-to", "none", *choice.flags]
            flags += ["--oversubscribe"] if placement.ppn > cores else []
            flags += ["--allow-run-as-root"] if root else []
            # Open MPI passes only its own variables on to other hosts automatically.
            own = dict(sorted(toolchain.variables.items()))
            merged = {**own, **variables} if hosts else variables
            flags += [word for name, value in merged.items() for word in ("-x", f"{name}={value}")]
        case _:
            flags = []
            site |= variables
            if hosts:
                raise AssayError(
                    "assay can't launch on several hosts with the mpirun of the toolchain "
                    f"'{toolchain.name}': it is not MPICH's, Open MPI's or Intel's.",
                    fix="Use another toolchain, or set nodes = 1 and leave [cluster] out; in a "
                    'Slurm job, launcher = "srun" in its section of assay.toml may work.',
                )
    prefix = ["env", *(f"{name}={value}" for name, value in site.items())] if site else []
    return [*prefix, launcher, *count, *flags, *toolchain.launch_flags]


def uses_hydra(toolchain: Toolchain) -> bool:
    """Whether the toolchain's mpirun is Hydra, which starts the ranks of a host through an agent on
    it.
    """
    return toolchain.mpi_flavour in ("mpich", "intel")


def launcher_of(toolchain: Toolchain, hosts: tuple[str, ...], cluster: ClusterConfig | None) -> str:
    """The program that starts the ranks: the toolchain's mpirun, or srun if that is configured or
    there is no mpirun. Raises AssayError if there is neither.
    """
    in_slurm = bool(hosts) and cluster is not None and cluster.starter == "slurm"
    if toolchain.launcher == "srun" and not in_slurm:
        raise AssayError(
            f"The toolchain '{toolchain.name}' launches by srun, which needs a Slurm job around "
            "it.",
            fix="Start assay inside one (salloc, sbatch, `assay run --submit`), or take "
            f'launcher = "srun" out of [toolchains.{toolchain.name}].',
        )
    if toolchain.launcher == "srun" or (toolchain.mpirun is None and in_slurm):
        return "srun"
    if toolchain.mpirun is None:
        raise AssayError(
            f"The toolchain '{toolchain.name}' has no mpirun next to its mpicxx or on PATH.",
            fix=f'Add mpirun = "…" to [toolchains.{toolchain.name}] in assay.toml.',
        )
    return toolchain.mpirun


def hosts_of(placement: Placement, cluster: ClusterConfig | None, seed: int = 0) -> tuple[str, ...]:
    """The hosts that a placement uses; empty if it uses only this machine.

    ``seed``: the plan's seed, for random node sets. Raises AssayError if there are too few hosts.
    """
    if cluster is None and placement.nodes == 1:
        return ()
    if cluster is None:
        raise AssayError(
            f"There is one node, this machine, but the placement needs {placement.nodes}.",
            fix="Name the hosts in [cluster] of assay.toml, or set nodes = 1.",
        )
    if placement.nodes > len(cluster.hosts):
        raise AssayError(
            f"There are {len(cluster.hosts)} hosts, but the placement needs {placement.nodes}.",
            fix="Name more hosts in [cluster] of assay.toml, request a larger job, or set fewer "
            "nodes.",
        )
    return choose_hosts(cluster.hosts, placement.nodes, placement.node_set, seed)


# Environment options (srun(1)) of the srun by which an mpirun starts its agents: share the nodes
# with other steps, bind nothing.
_STEP_OF_AGENTS = {"SLURM_CPU_BIND": "none", "SLURM_MPI_TYPE": "none", "SLURM_OVERLAP": "1"}


def _srun(hosts: tuple[str, ...], placement: Placement) -> list[str]:
    return [
        *(f"--nodes={placement.nodes}", f"--ntasks={placement.ranks}"),
        *(f"--ntasks-per-node={placement.ppn}", *srun_hosts(hosts)),
        *("--distribution=block", "--cpu-bind=none", "--overlap", "--overcommit"),
        *("--kill-on-bad-exit=1", "--input=none", "--quiet"),
    ]


def _hydra(hosts: tuple[str, ...], cluster: ClusterConfig | None, ppn: int) -> list[str]:
    if not hosts or cluster is None:
        return ["-launcher", "fork", "-rmk", "user"]
    address = ["-localhost", cluster.local_address] if cluster.local_address else []
    if cluster.starter == "slurm":  # one srun for all its agents
        reached = ["-launcher", "slurm", "-rmk", "user", *address]
        return [*reached, *hydra_hosts(hosts), "-ppn", str(ppn)]
    reached = ["-launcher", "ssh", "-launcher-exec", cluster.remote_shell, "-rmk", "user", *address]
    return [*reached, *hydra_hosts(hosts), "-ppn", str(ppn)]


def _intel(hosts: tuple[str, ...], cluster: ClusterConfig | None) -> list[str]:
    if not hosts or cluster is None:
        return ["-bootstrap", "fork"]
    if cluster.starter == "slurm":
        return ["-bootstrap", "slurm", *hydra_hosts(hosts)]
    shell = cluster.remote_shell
    return ["-bootstrap", "ssh", "-bootstrap-exec", shell, *hydra_hosts(hosts)]


def _open_mpi(hosts: tuple[str, ...], cluster: ClusterConfig | None, ppn: int) -> list[str]:
    if not hosts or cluster is None:
        return []
    words = [*open_mpi_hosts(hosts, ppn), "--mca", "plm_rsh_agent", cluster.remote_shell]
    if cluster.starter == "slurm":
        # Open MPI's Slurm components use the job's number of tasks as slots per host, and treat
        # more ranks than that as oversubscription, with yielding instead of polling. With the agent
        # it uses the hosts and slots given here, and starts its daemons as a tree.
        words += ["--mca", "ras", "^slurm", "--mca", "plm", "^slurm"]
    return words


def _genv(variables: dict[str, str]) -> list[str]:
    return [word for name, value in variables.items() for word in ("-genv", name, value)]


def _thread_variables(threads: int) -> dict[str, str]:
    """Sets the same number of threads for OpenMP and for the thread pool of every BLAS."""
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
    """Cores that this process may use, without hardware threads: Open MPI's default slots."""
    import psutil

    allowed = len(os.sched_getaffinity(0))
    return min(psutil.cpu_count(logical=False) or allowed, allowed)
