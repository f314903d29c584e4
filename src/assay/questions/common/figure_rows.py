"""Points as the rows of figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.charts.marks import Row
from assay.kernels.naming import placement_text
from assay.questions.common.selection import Point


def statistics(point: Point, per: int = 1) -> Row:
    """A point's numbers as fields of a row, in SI base units, divided by ``per``."""
    metric = point.metric
    low, high = metric.ci95 or (None, None)
    return {
        "median": metric.median / per,
        "low": None if low is None else low / per,
        "high": None if high is None else high / per,
        "launches": metric.n,
    }


def intervals_text(rows: Sequence[Row], mark: Literal["band", "whiskers"]) -> str:
    """The sentence of a caption on the intervals in the figure, or on their absence.

    ``rows``: rows of the figure; ``low`` is None in the row of a point without an interval.
    """
    known = sum(row["low"] is not None for row in rows)
    if not known:
        return "No 95% intervals: too few launches."
    what = "The band is the 95% interval" if mark == "band" else "The whiskers are 95% intervals"
    return f"{what}." if known == len(rows) else f"{what}, where there are enough launches."


def by_size(point: Point) -> tuple[int, str, int]:
    """Sort key: cores, then placement and toolchain, then matrix order."""
    order = point.parameter("n")
    return (
        point.cores,
        placement_text(point.summary.cell.placement) + point.summary.cell.toolchain,
        order if isinstance(order, int) else 0,
    )
