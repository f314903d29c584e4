"""Findings on hpcg: the rating, its parts, and the rate that STREAM's bandwidth allows."""

from __future__ import annotations

from dataclasses import dataclass

from assay.kernels import find_kernel
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio
from assay.questions.common.selection import Point, best_by_cores, points, ratio, scaled
from assay.questions.common.speedups import Speedup, speedup_of
from assay.questions.speed.memory.findings import MemoryFindings
from assay.stats.cells.summarise import LeftOut, work_of

KERNEL = "hpcg"
# Parts with a rate of their own, as the catalogue names them, and in words.
PARTS = {
    "rate.spmv": "products of matrix and vector",
    "rate.mg": "preconditioner",
    "rate.symgs": "Gauss-Seidel sweeps",
    "rate.waxpby": "combinations of vectors",
    "rate.ddot": "scalar products",
}


@dataclass(frozen=True)
class BandwidthShare:
    """A rate and the limit that memory bandwidth sets."""

    #: Rate of all iterations, without the charge for preparation.
    raw: Point
    #: STREAM's best rate on the same number of cores; None if it was not measured there.
    stream: Point | None
    #: Flops per byte that an iteration must move; None if the size is unknown.
    flops_per_byte: float | None
    #: The rate over the limit ``flops_per_byte`` times STREAM's bandwidth; None without either.
    of_limit: Ratio | None

    @property
    def limit(self) -> float | None:
        """The limit in flop/s; None if unknown."""
        if self.stream is None or self.flops_per_byte is None:
            return None
        return self.flops_per_byte * self.stream.metric.median


@dataclass(frozen=True)
class HpcgFindings:
    """Findings on hpcg."""

    #: Best rating on each number of cores.
    by_cores: dict[int, Point]
    #: Rate of the same cell and its limit, by number of cores.
    shares: dict[int, BandwidthShare]
    #: Rates of the parts of the headline, by metric.
    parts: dict[str, Point]
    #: Speedup of the rating from the fewest cores to the most; None for a single number of cores.
    speedup: Speedup | None

    @property
    def headline(self) -> Point:
        """The rating on the most cores."""
        return self.by_cores[max(self.by_cores)]


def find(measured: Measured, memory: MemoryFindings | None) -> HpcgFindings | None:
    """The findings on hpcg; None if no usable cell measured it."""
    cells = measured.without_candidates().own_cells().cells
    found = points(cells, KERNEL, "rate")
    if not found:
        return None
    by_cores = best_by_cores(found)
    few, most = min(by_cores), max(by_cores)
    streams = memory.bandwidth.by_cores if memory and memory.bandwidth else {}
    headline = by_cores[most]
    return HpcgFindings(
        by_cores=by_cores,
        shares={
            cores: share
            for cores, point in by_cores.items()
            if (share := _share(point, streams.get(cores))) is not None
        },
        parts={
            name: Point(headline.summary, headline.summary.metrics[name])
            for name in PARTS
            if name in headline.summary.metrics
        },
        speedup=None if few == most else speedup_of(by_cores[few], headline),
    )


def _share(point: Point, stream: Point | None) -> BandwidthShare | None:
    summary = point.summary
    metric = summary.metrics.get("rate.raw")
    if metric is None:
        return None
    raw = Point(summary, metric)
    kernel = find_kernel(KERNEL)
    try:
        done, moved = (
            work_of(kernel, quantity, summary.cell, summary.parameters)
            for quantity in ("done", "bytes")
        )
    except LeftOut:
        return BandwidthShare(raw, stream, None, None)
    of_limit = None
    if stream is not None:
        value, interval = ratio(metric, stream.metric)
        per_byte = done / moved
        of_limit = Ratio(raw, stream, value / per_byte, scaled(interval, 1 / per_byte))
    return BandwidthShare(raw, stream, done / moved, of_limit)
