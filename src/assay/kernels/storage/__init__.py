"""The storage family in the catalogue."""

from __future__ import annotations

from assay.kernels.storage import files, io500

KERNELS = (*files.KERNELS, *io500.KERNELS)

__all__ = ["KERNELS"]
