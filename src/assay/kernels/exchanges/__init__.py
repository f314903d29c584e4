"""Exchanges other than sends, receives and collectives: one-sided, and between neighbours."""

from __future__ import annotations

from assay.kernels.exchanges import neighbour, onesided

KERNELS = (*onesided.KERNELS, *neighbour.KERNELS)
