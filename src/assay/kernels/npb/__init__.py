"""Kernels of the NAS Parallel Benchmarks (Bailey et al., RNR-94-007)."""

from __future__ import annotations

from assay.kernels.catalogue import is_phase
from assay.kernels.npb import bt, cg, ep, ft, is_, lu, mg, sp
from assay.kernels.npb.common import CLASS_ORDER
from assay.kernels.npb.own_code import with_code

__all__ = ["CLASS_ORDER", "KERNELS", "is_phase"]

KERNELS = tuple(with_code(module.KERNEL) for module in (ep, cg, mg, ft, is_, lu, bt, sp))
