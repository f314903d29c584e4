"""Launching the site's executable of a benchmark on the seats of the kernel beside it.

The launcher belongs to the MPI that the executable is linked with. It binds nothing, as for
kernels; ``seat.py`` binds each rank to the CPUs that a kernel's rank would have.
"""

from __future__ import annotations

import shlex
import sys
from typing import cast

from assay.config import ClusterConfig
from assay.kernels.builds.toolchain import Flavour, Toolchain
from assay.kernels.outside import BESIDE, HPCG_INPUT, HPL_INPUT
from assay.launch.commands import result_reader, seat
from assay.launch.executor import LaunchOrder
from assay.launch.isolated import python_words
from assay.launch.mpi.mpirun import launcher_words
from assay.model.cell import OWN_TOOLCHAIN
from assay.records.schema import MeasurementOrder

_HPCG = BESIDE + "hpcg"
# Files that an executable writes outside of its timed part, of all versions and vendors: HPCG's
# results and its log.
_REPORTS = {_HPCG: ("*.txt", "*.yaml", "*.yml")}


def site_entry(
    entry: MeasurementOrder, order: LaunchOrder, cluster: ClusterConfig | None
) -> dict[str, object]:
    """The runner's entry of a measurement. Raises AssayError for an impossible placement."""
    parameters, placement = entry.parameters, order.placement
    program = str(parameters["program"])
    mpi, mpirun = str(parameters["mpi"]), str(parameters["mpirun"])
    launcher = (
        launcher_words(_site_mpi(mpi, mpirun), placement, cluster=cluster, seed=order.seed)
        if mpirun
        else []
    )
    seated = [
        *(sys.executable, "-I", "-S", seat.__file__),
        *(str(placement.ppn), str(placement.threads), placement.binding, placement.smt),
    ]
    text = str(parameters["input"])
    return {
        "measurement": entry.measurement,
        "kernel": entry.kernel,
        "parameters": parameters,
        "words": [*launcher, *seated, program, *shlex.split(str(parameters["arguments"]))],
        "environment": {"OMP_NUM_THREADS": str(placement.threads)},
        "site": {
            "folder": str(order.stream.with_suffix(".work").absolute()),
            "files": {HPCG_INPUT if entry.kernel == _HPCG else HPL_INPUT: text} if text else {},
            "reports": _REPORTS.get(entry.kernel, ()),
            "program": program,
            "sha256": parameters["sha256"],
            "reader": python_words(result_reader.__name__),
            "expected": {
                "kernel": entry.kernel,
                "benchmark": parameters["benchmark"],
                "at": parameters["at"],
                "work": parameters["work"],
                "ranks": placement.ranks,
                "threads": placement.threads,
            },
        },
    }


def _site_mpi(mpi: str, mpirun: str) -> Toolchain:
    return Toolchain(
        name=OWN_TOOLCHAIN,
        kind="site",
        mpicxx="",
        mpirun=mpirun,
        mpi_flavour=cast("Flavour", mpi),
        mpi_version=None,
        cxx="",
        cxx_version=None,
        blas=None,
    )
