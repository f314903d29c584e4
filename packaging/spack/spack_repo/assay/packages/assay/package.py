"""The Spack recipe of assay.

Python packages come from wheels: several (Polars, Vega-Lite's converter) are not in Spack's
repository in the versions that assay needs. The site's compiler and MPI library are found on PATH
when kernels are compiled.
"""

try:  # Spack 1.0 and later
    from spack_repo.builtin.build_systems.python import PythonPackage
except ImportError:
    from spack.package import PythonPackage

from spack.package import *


class Assay(PythonPackage):
    """Measure a machine or a cluster, and report how fast it is and with what confidence."""

    pypi = "hpc-assay/hpc_assay-1.0.0.tar.gz"
    license("MIT")

    version("1.0.0")

    variant("mpi", default=True, description="Compile kernels with the site's MPI library, too")

    depends_on("cxx", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-pip", type=("build", "run"))
    depends_on("cmake@4:", type="run")
    depends_on("ninja@1.13:", type="run")
    depends_on("mpi", type="run", when="+mpi")

    def install(self, spec, prefix):
        pip("install", "--prefix", str(prefix), "--no-warn-script-location", ".")

    def setup_run_environment(self, env):
        env.prepend_path("MANPATH", self.prefix.share.man)
