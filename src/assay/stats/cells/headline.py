"""The headline metric of a cell's summary."""

from __future__ import annotations

from assay.kernels import known_kernel
from assay.stats.core.model import CellSummary, MetricSummary


def headline_metric(cell: CellSummary) -> MetricSummary | None:
    """The cell's headline metric, of an outside program its first one; None without a result."""
    kernel = known_kernel(cell.kernel)
    first = next(iter(cell.metrics.values()), None)
    return first if kernel is None else cell.metrics.get(kernel.headline, first)
