"""Cells whose launches are drawn around planted medians, without a stream or a run."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from assay.arrays import Floats
from assay.stats.core.intervals import median_interval
from assay.stats.core.model import CellSummary, MetricSummary

# The noise of a launch: numbers with median 0 and deviation 1, as many as asked for.
Noise = Callable[[np.random.Generator, int], Floats]
_LOG_SIGMA = 0.6


def normal(rng: np.random.Generator, count: int) -> Floats:
    return rng.standard_normal(count)


def lognormal(rng: np.random.Generator, count: int) -> Floats:
    """A long tail of high times."""
    square = np.exp(_LOG_SIGMA**2)
    drawn: Floats = np.exp(_LOG_SIGMA * rng.standard_normal(count)) - 1.0
    return drawn / np.sqrt((square - 1.0) * square)


def t3(rng: np.random.Generator, count: int) -> Floats:
    """Student's t with three degrees of freedom."""
    return rng.standard_t(3, count) / np.sqrt(3.0)


def drawn(
    summary: CellSummary,
    rng: np.random.Generator,
    *,
    cov: float = 0.01,
    launches: int = 6,
    noise: Noise = normal,
) -> CellSummary:
    """The cell with its metrics measured in this many launches, whose times scatter by ``cov``.

    The planted medians of the cell are the true ones. All metrics of a launch follow its time.
    """
    times = 1.0 + cov * noise(rng, launches)
    metrics = {
        name: _measured(metric, metric.median * (times if metric.better == "less" else 1.0 / times))
        for name, metric in summary.metrics.items()
    }
    return msgspec.structs.replace(summary, metrics=metrics)


def _measured(planted: MetricSummary, values: Floats) -> MetricSummary:
    ordered, mean = np.sort(values), float(values.mean())
    middle = (ordered[(values.size - 1) // 2] + ordered[values.size // 2]) / 2.0
    return msgspec.structs.replace(
        planted,
        median=float(middle),
        ci95=median_interval(values),
        min=float(ordered[0]),
        max=float(ordered[-1]),
        p05=float(ordered[0]),
        p95=float(ordered[-1]),
        cov=float(values.std(ddof=1)) / mean if mean else None,
        n=values.size,
        samples=values.size,
        stop="launches",
    )
