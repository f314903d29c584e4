"""hpcg in the catalogue: conjugate gradients by the rules of HPCG."""

from __future__ import annotations

from assay.kernels.hpcg.entry import KERNELS

__all__ = ["KERNELS"]
