"""The environment variable of an MPI library that sets the size at which its protocol changes."""

from __future__ import annotations

from dataclasses import dataclass

from assay.questions.network.messages.sweeps import MessageSweep
from assay.records.model import RunData

_MPICH = "UCX_RNDV_THRESH (MPICH over UCX) or MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD (over libfabric)"


@dataclass(frozen=True)
class ThresholdVariables:
    """The variables of an MPI library: ``within`` a node and ``between`` nodes."""

    within: str
    between: str


# MPICH: `mpivars`; Open MPI: `ompi_info --all` (btl_sm was btl_vader before 5.0); UCX, under
# either: `ucx_info -cf`; Intel MPI's transports are libfabric's.
_BY_FLAVOUR = {
    "mpich": ThresholdVariables(within=_MPICH, between=_MPICH),
    "openmpi": ThresholdVariables(
        within="OMPI_MCA_btl_sm_eager_limit (btl_vader before Open MPI 5) or, over UCX, "
        "UCX_RNDV_THRESH",
        between="OMPI_MCA_btl_tcp_eager_limit (over TCP) or, over UCX, UCX_RNDV_THRESH",
    ),
}


def threshold_variable(sweep: MessageSweep, run: RunData) -> str | None:
    """The environment variable of the sweep's MPI library; None if the library is unknown."""
    toolchain = run.manifest.toolchains.get(sweep.toolchain, {})
    known = _BY_FLAVOUR.get(str(toolchain.get("mpi_flavour", "")))
    if known is None:
        return None
    return known.between if sweep.reach == "between nodes" else known.within
