"""Launch lines for a placement, with the options of each launcher and scheduler.

Open MPI: mpirun(1), "--map-by", "--bind-to", "--use-hwthread-cpus". MPICH: Hydra's "-ppn",
"-bind-to", "-map-by". The lines of schedulers are in their modules of ``assay.schedulers``.
"""

from __future__ import annotations

from assay.model.placement import Placement
from assay.schedulers import systems
from assay.schedulers.script import APART, PROGRAM


def launch_lines(placement: Placement, per_core: int = 1) -> dict[str, str]:
    """A line for each launcher and scheduler that can express the placement, with ``./program``.

    ``per_core``: hardware threads per core. A rank order that is a list of seats has no line. Lines
    don't select the adapter, because that option depends on the MPI library.
    """
    if placement.order not in ("block", "cyclic"):
        return {}
    lines = {
        system.title: system.launch_line(placement, per_core)
        for system in systems()
        if system.launch_line is not None
    }
    # Open MPI accepts either a number of ranks per node or an even spread over NUMA domains.
    if placement.binding not in APART or placement.nodes == 1:
        lines["Open MPI"] = _open_mpi(placement)
    return {**lines, "MPICH": _mpich(placement)}


def job_lines(placement: Placement, per_core: int = 1) -> dict[str, str]:
    """The resource request in a job script for each scheduler, for commands with a launcher."""
    return {
        system.title: system.job_line(placement, per_core)
        for system in systems()
        if system.job_line is not None
    }


def _open_mpi(placement: Placement) -> str:
    shared = placement.smt == "on"
    where = "numa" if placement.binding in APART else f"ppr:{placement.ppn}:node"
    binding = "hwthread" if shared else "core"
    words = ["mpirun", f"-n {placement.ranks}"]
    words += ["--use-hwthread-cpus"] if shared else []
    words += [f"--map-by {where}:PE={placement.threads}"]
    words += ["--rank-by node"] if placement.order == "cyclic" else []
    words += [f"--bind-to {'none' if placement.binding == 'none' else binding}"]
    words += [f"-x OMP_NUM_THREADS={placement.threads}"] if placement.threads > 1 else []
    return " ".join([*words, PROGRAM])


def _mpich(placement: Placement) -> str:
    unit = "hwthread" if placement.smt == "on" else "core"
    binding = "none" if placement.binding == "none" else f"{unit}:{placement.threads}"
    # One rank per host in each round is the cyclic order.
    ppn = 1 if placement.order == "cyclic" else placement.ppn
    words = ["mpirun", f"-n {placement.ranks}", f"-ppn {ppn}", f"-bind-to {binding}"]
    words += ["-map-by numa"] if placement.binding in APART else []
    words += [f"-genv OMP_NUM_THREADS {placement.threads}"] if placement.threads > 1 else []
    return " ".join([*words, PROGRAM])
