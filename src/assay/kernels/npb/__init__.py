"""Kernels of the NAS Parallel Benchmarks (Bailey et al., RNR-94-007)."""

from __future__ import annotations

from assay.kernels.npb import cg, ep, is_
from assay.kernels.npb.common import CLASS_ORDER, is_phase

__all__ = ["CLASS_ORDER", "KERNELS", "is_phase"]

KERNELS = (ep.KERNEL, cg.KERNEL, is_.KERNEL)
