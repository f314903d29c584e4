"""Launch lines for a placement, in the words of launchers and schedulers, ready to use.

Slurm: srun(1), sbatch(1), options --ntasks-per-node, --cpus-per-task, --cpu-bind, --distribution,
--threads-per-core. PBS: qsub(1B) and pbs_resources(7B), "select". Open MPI: mpirun(1), "--map-by",
"--bind-to", "--use-hwthread-cpus". MPICH: Hydra's "-ppn", "-bind-to", "-map-by".
"""

from __future__ import annotations

from assay.plans.model import Placement

_PROGRAM = "./program"
# Bindings that part a node's ranks among its NUMA nodes.
_APART = ("spread", "per-numa")


def launch_lines(placement: Placement, per_core: int = 1) -> dict[str, str]:
    """A line for each launcher and scheduler that can say it; ``./program`` stands for the program.

    ``per_core``: hardware threads of a core. Those that can't are left out: a rank order that is a
    list of seats has no line. The adapter is no part of them, for it is each MPI library's own
    matter.
    """
    if placement.order not in ("block", "cyclic"):
        return {}
    lines = {"Slurm": _slurm(placement, per_core), "PBS": _pbs(placement)}
    # Open MPI takes either so many ranks a node or an even spread over NUMA domains.
    if placement.binding not in _APART or placement.nodes == 1:
        lines["Open MPI"] = _open_mpi(placement)
    return {**lines, "MPICH": _mpich(placement)}


def job_lines(placement: Placement, per_core: int = 1) -> dict[str, str]:
    """What a job script asks a scheduler for, whose command has a launcher of its own."""
    words = [
        f"#SBATCH --nodes={placement.nodes}",
        f"--ntasks-per-node={placement.ppn}",
        f"--cpus-per-task={placement.threads}",
        *_slurm_threads(placement, per_core),
        "--exclusive",
    ]
    return {"Slurm": " ".join(words), "PBS": _pbs(placement)}


def _slurm_threads(placement: Placement, per_core: int) -> list[str]:
    """How many of a core's hardware threads are used, where it has several."""
    if per_core == 1:
        return []
    return [f"--threads-per-core={per_core if placement.smt == 'on' else 1}"]


def _slurm(placement: Placement, per_core: int) -> str:
    sockets = "cyclic" if placement.binding in _APART else "block"
    threads = f"OMP_NUM_THREADS={placement.threads} " if placement.threads > 1 else ""
    bind = "threads" if placement.smt == "on" else "cores"
    words = [
        f"{threads}srun --nodes={placement.nodes}",
        f"--ntasks-per-node={placement.ppn}",
        f"--cpus-per-task={placement.threads}",
        *_slurm_threads(placement, per_core),
        f"--distribution={placement.order}:{sockets}",
        f"--cpu-bind={'none' if placement.binding == 'none' else bind}",
    ]
    return " ".join([*words, _PROGRAM])


def _pbs(placement: Placement) -> str:
    cpus = placement.ppn * placement.threads
    chunk = f"ncpus={cpus}:mpiprocs={placement.ppn}:ompthreads={placement.threads}"
    return f"#PBS -l select={placement.nodes}:{chunk} -l place=scatter:excl"


def _open_mpi(placement: Placement) -> str:
    shared = placement.smt == "on"
    where = "numa" if placement.binding in _APART else f"ppr:{placement.ppn}:node"
    binding = "hwthread" if shared else "core"
    words = ["mpirun", f"-n {placement.ranks}"]
    words += ["--use-hwthread-cpus"] if shared else []
    words += [f"--map-by {where}:PE={placement.threads}"]
    words += ["--rank-by node"] if placement.order == "cyclic" else []
    words += [f"--bind-to {'none' if placement.binding == 'none' else binding}"]
    words += [f"-x OMP_NUM_THREADS={placement.threads}"] if placement.threads > 1 else []
    return " ".join([*words, _PROGRAM])


def _mpich(placement: Placement) -> str:
    unit = "hwthread" if placement.smt == "on" else "core"
    binding = "none" if placement.binding == "none" else f"{unit}:{placement.threads}"
    # One rank a host, and round again: that is the cyclic order.
    ppn = 1 if placement.order == "cyclic" else placement.ppn
    words = ["mpirun", f"-n {placement.ranks}", f"-ppn {ppn}", f"-bind-to {binding}"]
    words += ["-map-by numa"] if placement.binding in _APART else []
    words += [f"-genv OMP_NUM_THREADS {placement.threads}"] if placement.threads > 1 else []
    return " ".join([*words, _PROGRAM])
