"""Environment variables that tune MPI, OpenMP, BLAS or the C library."""

from __future__ import annotations

from collections.abc import Mapping

_PREFIXES = (
    "BLIS_",
    "FI_",
    "FLEXIBLAS",
    "GOMP_",
    "GOTO_",
    "HYDRA_",
    "I_MPI_",
    "KMP_",
    "MALLOC_",
    "MKL_",
    "MPICH_",
    "MPIR_CVAR_",
    "NVPL_",
    "OMPI_",
    "OMP_",
    "OPENBLAS_",
    "PRTE_MCA_",
    "UCX_",
)
_NAMES = {"GLIBC_TUNABLES", "LD_PRELOAD"}
# The launcher overrides these for each placement.
_OVERRIDDEN = {
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
}


def tuning_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The tuning variables that are set and that the launcher doesn't override, by name."""
    return {
        name: value
        for name, value in sorted(environ.items())
        if name not in _OVERRIDDEN and (name in _NAMES or name.startswith(_PREFIXES))
    }
