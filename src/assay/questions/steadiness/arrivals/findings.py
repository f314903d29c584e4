"""Ranks that arrive late at barriers, and the cost of waiting for the last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.kernels.noise import LATENESS_LEVELS
from assay.questions.common.question import Measured
from assay.questions.common.selection import Point, leading, points
from assay.records.model import Measurement
from assay.stats.compare.chosen import chosen_interval
from assay.stats.compare.directions import compared
from assay.stats.core.intervals import Estimate, median_interval
from assay.stats.noise.detours import BARRIER
from assay.units import Interval

# The answer names a rank if it arrives last at least this many times its fair share.
OFTEN = 1.5


@dataclass(frozen=True)
class Lateness:
    """One rank's arrivals over all launches."""

    #: Number of the rank.
    rank: int
    #: Host on which the rank runs.
    host: str | None
    #: CPU on which the rank runs.
    cpu: int | None
    #: Share of the barriers that the rank reached last.
    last: float
    #: 95% interval of ``last`` across launches; None if there are too few launches.
    last_ci95: Interval | None
    #: Number of launches.
    launches: int
    #: Quantiles (at ``LATENESS_LEVELS``) of the lateness behind the first rank, s; medians over
    #: launches.
    levels: tuple[float, ...]
    #: Maximum lateness, s.
    worst: float

    @property
    def place(self) -> str:
        """``rank 1 (CPU 1)``."""
        return f"rank {self.rank}" + (f" (CPU {self.cpu})" if self.cpu is not None else "")

    def level(self, level: float) -> float:
        """The lateness at one of ``LATENESS_LEVELS``."""
        return self.levels[LATENESS_LEVELS.index(level)]


@dataclass(frozen=True)
class ArrivalFindings:
    """The arrivals at barriers, of the cell with the most ranks."""

    #: Share of the time spent waiting for the last rank.
    lost: Point
    #: Time from the first to the last arrival, s.
    spread: Point | None
    #: Time from the last arrival to leaving the barrier, s.
    barrier: Point | None
    #: Lateness of each rank.
    ranks: tuple[Lateness, ...]
    #: Share of the barriers that each rank would reach last if all ranks were equal.
    fair: float
    #: Whether one clock of the node times all arrivals.
    one_clock: bool

    @property
    def latest(self) -> Lateness | None:
        """The rank that arrives last most often."""
        return max(self.ranks, key=lambda each: each.last, default=None)

    @property
    def late(self) -> Lateness | None:
        """The latest rank if it arrives last clearly more often than its fair share, else None.

        Its share exceeds the fair share also beyond its range, among all ranks.
        """
        latest = self.latest
        least = min(OFTEN * self.fair, 0.5 * (1.0 + self.fair))
        if latest is None or latest.last < least:
            return None
        # One value per launch has one more degree of freedom than two groups of launches.
        found = compared(
            latest.last,
            latest.last_ci95,
            launches=latest.launches + 1,
            comparisons=len(self.ranks),
            equal=self.fair,
        )
        return latest if found.direction == "more" else None

    @property
    def latest_ci95(self) -> tuple[Interval | None, int]:
        """The 95% interval of the latest rank's share, which allows for its choice, and the number
        of comparable ranks.
        """
        shares = [each.last for each in self.ranks]
        if not shares or min(shares) <= 0.0:
            return (self.latest.last_ci95 if self.latest else None), 1
        known = [Estimate(each.last, each.last_ci95) for each in self.ranks]
        return chosen_interval(known, shares.index(max(shares)))


def find(measured: Measured) -> ArrivalFindings | None:
    """Find the arrivals of the cell with the most ranks; None without usable results."""
    found = points(measured.cells, BARRIER, "lost")
    if not found:
        return None
    point = max(leading(found), key=lambda each: each.cores)
    records = [
        m
        for m in measured.run.measurements
        if m.cell.id == point.summary.id and m.record.status == "ok" and m.record.verified
    ]
    return ArrivalFindings(
        lost=point,
        spread=_other(point, "spread"),
        barrier=_other(point, "barrier"),
        ranks=_lateness(records),
        fair=1.0 / point.summary.cell.placement.ranks,
        one_clock=all(m.record.facts.get("clocks") == "one clock" for m in records),
    )


def _interval(shares: Floats) -> Interval | None:
    """The 95% interval of the median share, with the mean share in it."""
    ends = median_interval(shares)
    mean = float(np.mean(shares))
    return None if ends is None else (min(ends[0], mean), max(ends[1], mean))


def _other(point: Point, metric: str) -> Point | None:
    """Another metric of the point's cell."""
    found = point.summary.metrics.get(metric)
    return None if found is None else Point(point.summary, found)


def _lateness(measurements: list[Measurement]) -> tuple[Lateness, ...]:
    last: dict[int, list[float]] = {}
    levels: dict[int, list[list[float]]] = {}
    worst: dict[int, float] = {}
    seats: dict[int, tuple[str | None, int | None]] = {}
    for measurement in measurements:
        for series in measurement.record.series:
            if series.rank is None or not series.values:
                continue
            if series.metric == "last":
                last.setdefault(series.rank, []).append(series.values[0])
            elif series.metric == "lateness" and len(series.values) == len(LATENESS_LEVELS):
                levels.setdefault(series.rank, []).append(series.values)
            elif series.metric == "latest":
                worst[series.rank] = max(worst.get(series.rank, 0.0), series.values[0])
        for seat in measurement.ranks:
            cpu = seat.cpus[0] if seat.cpus and seat.pinned else None
            seats.setdefault(seat.rank, (seat.host, cpu))
    return tuple(
        Lateness(
            rank=rank,
            host=seats.get(rank, (None, None))[0],
            cpu=seats.get(rank, (None, None))[1],
            last=float(np.mean(last[rank])),
            last_ci95=_interval(np.array(last[rank])),
            launches=len(last[rank]),
            levels=tuple(float(each) for each in np.median(levels[rank], axis=0)),
            worst=worst.get(rank, 0.0),
        )
        for rank in sorted(last.keys() & levels.keys())
    )
