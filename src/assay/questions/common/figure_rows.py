"""Points as the rows of figures."""

from __future__ import annotations

from assay.charts.marks import Row
from assay.kernels.naming import placement_text
from assay.questions.common.selection import Point


def statistics(point: Point, per: int = 1) -> Row:
    """A point's numbers as a row's fields, in SI base units, divided by ``per``."""
    metric = point.metric
    low, high = metric.ci95 or (None, None)
    return {
        "median": metric.median / per,
        "low": None if low is None else low / per,
        "high": None if high is None else high / per,
        "launches": metric.n,
    }


def by_size(point: Point) -> tuple[int, str, int]:
    """Sorting key: few cores first, then by name, then by matrix order."""
    order = point.parameter("n")
    return (
        point.cores,
        placement_text(point.summary.cell.placement) + point.summary.cell.toolchain,
        order if isinstance(order, int) else 0,
    )
