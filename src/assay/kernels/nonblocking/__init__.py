"""Non-blocking messages in the catalogue: overlap with computation, and message rate."""

from __future__ import annotations

from assay.kernels.nonblocking import overlap, rate

KERNELS = (*overlap.KERNELS, *rate.KERNELS)

__all__ = ["KERNELS"]
