"""Kernels of the NAS Parallel Benchmarks (Bailey et al., RNR-94-007)."""

from __future__ import annotations

from assay.kernels.catalogue import is_phase
from assay.kernels.npb import bt, cg, ep, ft, is_, lu, mg, sp
from assay.kernels.npb.common import CLASS_ORDER

__all__ = ["CLASS_ORDER", "KERNELS", "is_phase"]

KERNELS = (
    ep.KERNEL,
    cg.KERNEL,
    mg.KERNEL,
    ft.KERNEL,
    is_.KERNEL,
    lu.KERNEL,
    bt.KERNEL,
    sp.KERNEL,
)
