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

    What one of them can't say is left out of its line's words, never guessed: orders that are lists
    of seats, and adapters, which depend on the MPI library.
    """
    return {
        "Slurm": _slurm(placement),
        "PBS": _pbs(placement),
        "Open MPI": _open_mpi(placement),
        "MPICH": _mpich(placement),
    }


def _threads(placement: Placement) -> str:
    return f"OMP_NUM_THREADS={placement.threads} " if placement.threads > 1 else ""


def _slurm(placement: Placement) -> str:
    over_nodes = {"cyclic": "cyclic"}.get(placement.order, "block")
    words = [
        f"{_threads(placement)}srun --nodes={placement.nodes}",
        f"--ntasks-per-node={placement.ppn}",
        f"--cpus-per-task={placement.threads}",
        f"--distribution={over_nodes}:{_sockets(placement)}",
        f"--cpu-bind={'none' if placement.binding == 'none' else 'cores'}",
    ]
    return " ".join([*words, _PROGRAM])


def _sockets(placement: Placement) -> str:
    return "cyclic" if placement.binding == "spread" else "block"


def _pbs(placement: Placement) -> str:
    cpus = placement.ppn * placement.threads
    chunk = f"ncpus={cpus}:mpiprocs={placement.ppn}:ompthreads={placement.threads}"
    return f"#PBS -l select={placement.nodes}:{chunk} -l place=scatter:excl"


def _open_mpi(placement: Placement) -> str:
    over = "numa" if placement.binding == "spread" else "core"
    binding = "none" if placement.binding == "none" else "core"
    mapped = f"ppr:{placement.ppn}:node:PE={placement.threads}"
    if placement.binding == "spread":
        mapped = f"{over}:PE={placement.threads}"
    words = ["mpirun", f"-n {placement.ranks}", f"--map-by {mapped}", f"--bind-to {binding}"]
    words += ["--rank-by node"] if placement.order == "cyclic" else []
    words += [f"-x OMP_NUM_THREADS={placement.threads}"] if placement.threads > 1 else []
    return " ".join([*words, _PROGRAM])


def _mpich(placement: Placement) -> str:
    binding = "none" if placement.binding == "none" else f"core:{placement.threads}"
    words = ["mpirun", f"-n {placement.ranks}", f"-ppn {placement.ppn}", f"-bind-to {binding}"]
    words += ["-map-by numa"] if placement.binding == "spread" else []
    words += (
        [f"-genv OMP_NUM_THREADS {placement.threads}"] if placement.threads > 1 else []
    )
    return " ".join([*words, _PROGRAM])
