"""Launch lines for a placement, in the words of launchers and schedulers, ready to use.

Slurm: srun(1), sbatch(1), options --ntasks-per-node, --cpus-per-task, --cpu-bind, --distribution.
PBS: qsub(1B) and pbs_resources(7B), "select". Open MPI: mpirun(1), "--map-by", "--bind-to".
MPICH: Hydra's "-ppn", "-bind-to", "-map-by".
"""

from __future__ import annotations

from assay.plans.model import Placement

_PROGRAM = "./program"


def launch_lines(placement: Placement) -> dict[str, str]:
    """A line for each launcher and scheduler that can say it; ``./program`` stands for the program.

    Those that can't are left out: a rank order that is a list of seats has no line. The adapter is
    no part of them, for it is each MPI library's own matter.
    """
    if placement.order not in ("block", "cyclic"):
        return {}
    lines = {"Slurm": _slurm(placement), "PBS": _pbs(placement)}
    # Open MPI takes either so many ranks a node or an even spread over NUMA domains.
    if placement.binding != "spread" or placement.nodes == 1:
        lines["Open MPI"] = _open_mpi(placement)
    return {**lines, "MPICH": _mpich(placement)}


def _slurm(placement: Placement) -> str:
    sockets = "cyclic" if placement.binding == "spread" else "block"
    threads = f"OMP_NUM_THREADS={placement.threads} " if placement.threads > 1 else ""
    words = [
        f"{threads}srun --nodes={placement.nodes}",
        f"--ntasks-per-node={placement.ppn}",
        f"--cpus-per-task={placement.threads}",
        f"--distribution={placement.order}:{sockets}",
        f"--cpu-bind={'none' if placement.binding == 'none' else 'cores'}",
    ]
    return " ".join([*words, _PROGRAM])


def _pbs(placement: Placement) -> str:
    cpus = placement.ppn * placement.threads
    chunk = f"ncpus={cpus}:mpiprocs={placement.ppn}:ompthreads={placement.threads}"
    return f"#PBS -l select={placement.nodes}:{chunk} -l place=scatter:excl"


def _open_mpi(placement: Placement) -> str:
    where = "numa" if placement.binding == "spread" else f"ppr:{placement.ppn}:node"
    binding = "none" if placement.binding == "none" else "core"
    words = ["mpirun", f"-n {placement.ranks}", f"--map-by {where}:PE={placement.threads}"]
    words += ["--rank-by node"] if placement.order == "cyclic" else []
    words += [f"--bind-to {binding}"]
    words += [f"-x OMP_NUM_THREADS={placement.threads}"] if placement.threads > 1 else []
    return " ".join([*words, _PROGRAM])


def _mpich(placement: Placement) -> str:
    binding = "none" if placement.binding == "none" else f"core:{placement.threads}"
    # One rank a host, and round again: that is the cyclic order.
    ppn = 1 if placement.order == "cyclic" else placement.ppn
    words = ["mpirun", f"-n {placement.ranks}", f"-ppn {ppn}", f"-bind-to {binding}"]
    words += ["-map-by numa"] if placement.binding == "spread" else []
    words += [f"-genv OMP_NUM_THREADS {placement.threads}"] if placement.threads > 1 else []
    return " ".join([*words, _PROGRAM])
