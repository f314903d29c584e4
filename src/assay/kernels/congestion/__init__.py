"""network.congestion in the catalogue: operations beside the traffic of other nodes."""

from __future__ import annotations

from assay.kernels.congestion.entry import (
    AGGRESSORS,
    KERNELS,
    LEVELS,
    VICTIMS,
    active_nodes,
    message_bytes,
)

__all__ = ["AGGRESSORS", "KERNELS", "LEVELS", "VICTIMS", "active_nodes", "message_bytes"]
