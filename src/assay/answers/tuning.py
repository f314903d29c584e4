"""Which variable of an MPI library moves the size at which its protocol changes."""

from __future__ import annotations

from assay.answers.sweeps import MessageSweep

# By flavour, then within a node and between nodes. MPICH: `mpivars`; Open MPI: `ompi_info --all`
# (btl_sm was btl_vader before 5.0); UCX, under either: `ucx_info -cf`; Intel MPI's transports are
# libfabric's.
_VARIABLES = {
    "mpich": (
        "UCX_RNDV_THRESH (MPICH over UCX) or MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD (over libfabric)",
        "UCX_RNDV_THRESH (MPICH over UCX) or MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD (over libfabric)",
    ),
    "openmpi": (
        "OMPI_MCA_btl_sm_eager_limit (btl_vader before Open MPI 5) or, over UCX, UCX_RNDV_THRESH",
        "OMPI_MCA_btl_tcp_eager_limit (over TCP) or, over UCX, UCX_RNDV_THRESH",
    ),
}


def threshold_variable(sweep: MessageSweep) -> str | None:
    """The environment variable of the sweep's MPI library; None for one that isn't known."""
    toolchain = sweep.run.manifest.toolchains.get(sweep.toolchain, {})
    known = _VARIABLES.get(str(toolchain.get("mpi_flavour", "")))
    if known is None:
        return None
    return known[1 if sweep.reach == "between nodes" else 0]
