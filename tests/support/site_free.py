"""Removes a site's settings from the environment, so that tests run alike on all machines.

HPC machines set variables that describe the job, the modules and the compilers of a shell. MPI
libraries and schedulers on PATH do no harm: tests name their own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, MutableMapping
from pathlib import Path

# Of jobs and ranks, of module systems, and for launchers and threaded libraries.
_PREFIXES = (
    *("SLURM", "SBATCH", "SALLOC", "SRUN", "PBS", "LSB_", "LSF_", "FLUX_", "SGE_", "COBALT_"),
    *("PMI", "OMPI_", "ORTE_", "PRTE_", "OPAL_", "MPI", "HYDRA_", "I_MPI_", "FI_", "UCX_"),
    *("MODULE", "LMOD", "__LMOD", "_LMFILES_", "LOADEDMODULES", "EBROOT", "EBVERSION"),
    *("OMP_", "GOMP_", "KMP_", "OPENBLAS", "MKL", "BLIS", "BLAS"),
)
# Of compilers, and of assay's own settings.
_NAMES = {
    *("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "C_INCLUDE_PATH"),
    *("CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LD_PRELOAD", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH"),
    *("BASH_ENV", "ASSAY_CONFIG"),
}


def site_variables(names: Iterable[str]) -> list[str]:
    """The variables that a site's software sets or reads."""
    return [name for name in names if name in _NAMES or name.startswith(_PREFIXES)]


def forget_the_site(environment: MutableMapping[str, str]) -> None:
    """Remove the site's variables and the user's settings from the environment."""
    for name in site_variables(list(environment)):
        del environment[name]
    environment["XDG_CONFIG_HOME"] = str(Path(tempfile.gettempdir()) / "assay-tests-no-settings")
