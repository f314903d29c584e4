"""The trials of a launch: its samples in order, with the first ones, which other numbers leave out.

Luecke, Li & Cuma (2005, figure 12) show that the first trial of a launch takes longer than the
others, and leave it out. assay leaves out the warm-up that its kernels detect. Its kernels touch
their memory beforehand, so that the first trial need not be slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.kernels import find_kernel
from assay.questions.common.selection import Point
from assay.questions.papers.points import RunCells
from assay.units import Interval

if TYPE_CHECKING:
    from assay.arrays import Floats

#: Number of trials that the paper's figure shows.
SHOWN = 100
# Fewer trials show no usual time beside the first.
_FEWEST = 3


def trials_of(run: RunCells, point: Point, name: str) -> list[Floats]:
    """The samples of a metric in each launch of a point's cell, in its unit, with the warm-up.

    Launches are in order of time. The metric must be a series that the kernel measures.
    """
    import numpy as np

    from assay.stats.cells.summarise import find_series

    metric = find_kernel(point.summary.kernel).metric(name)
    if metric is None:
        return []
    found = []
    for measurement in sorted(run.measured.run.measurements, key=lambda each: each.utc):
        record = measurement.record
        if measurement.cell.id != point.summary.id or record.status != "ok":
            continue
        series = find_series(record, metric.series)
        if series is not None and record.verified is not False and len(series.values) >= _FEWEST:
            found.append(np.asarray(series.values, dtype=np.float64))
    return found


def first_over_rest(trials: list[Floats]) -> tuple[float, Interval | None, str] | None:
    """The first trial of a launch over the median of its other trials, without a unit.

    The value is the median over launches. The interval needs six launches.
    """
    import numpy as np

    from assay.stats.core.intervals import median_interval

    if not trials:
        return None
    ratios = np.array([float(each[0] / np.median(each[1:])) for each in trials])
    return float(np.median(ratios)), median_interval(ratios), ""
