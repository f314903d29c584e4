"""Who arrives when at a barrier, and what waiting for the last costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.answers.model import Evidence
from assay.answers.select import Part, Point, evidence, leading, placement_text, points
from assay.kernels.noise import LATENESS_LEVELS
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.stats.noise import BARRIER
from assay.units import counted, format_quantity, format_share

# Last so many times as often as its fair share, a rank is singled out.
OFTEN = 1.5


@dataclass(frozen=True)
class Lateness:
    """One rank's arrivals over all launches. ``last``: share of barriers it reached last.

    ``levels``: quantiles (of ``LATENESS_LEVELS``) of its lateness behind the first, s, medians over
    launches. ``worst``: the greatest lateness of all, s.
    """

    rank: int
    host: str | None
    cpu: int | None
    last: float
    levels: tuple[float, ...]
    worst: float

    @property
    def place(self) -> str:
        """``rank 1 (CPU 1)``."""
        return f"rank {self.rank}" + (f" (CPU {self.cpu})" if self.cpu is not None else "")

    def level(self, level: float) -> float:
        """The lateness at one of ``LATENESS_LEVELS``."""
        return self.levels[LATENESS_LEVELS.index(level)]


@dataclass(frozen=True)
class Arrivals:
    """The barrier cell with the most ranks, and its ranks' lateness. ``clock``: one for all."""

    point: Point
    ranks: tuple[Lateness, ...]
    clock: bool


def arrivals_of(cells: Sequence[CellSummary], run: RunData) -> Arrivals | None:
    """Arrivals of the cell with the most ranks; None if no usable cell measured them."""
    found = points(cells, BARRIER, "lost")
    if not found:
        return None
    of_lead = leading(found)
    point = max(of_lead, key=lambda each: each.cores)
    records = [
        m
        for m in run.measurements
        if m.cell.id == point.summary.id and m.record.status == "ok" and m.record.verified
    ]
    import numpy as np

    last: dict[int, list[float]] = {}
    levels: dict[int, list[list[float]]] = {}
    worst: dict[int, float] = {}
    seats: dict[int, tuple[str | None, int | None]] = {}
    for measurement in records:
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
    ranks = tuple(
        Lateness(
            rank,
            *seats.get(rank, (None, None)),
            float(np.mean(last[rank])),
            tuple(float(each) for each in np.median(levels[rank], axis=0)),
            worst.get(rank, 0.0),
        )
        for rank in sorted(last.keys() & levels.keys())
    )
    clock = all(m.record.facts.get("clocks") == "one clock" for m in records)
    return Arrivals(point, ranks, clock)


def arrivals_part(arrivals: Arrivals) -> Part:
    """The part of the barriers. ``remark`` is its clause of the verdict."""
    point = arrivals.point
    part = Part(headline=[point])
    placement = point.summary.cell.placement
    where = placement_text(placement)
    work = format_quantity(float(point.parameter("quantum") or 0.0), "s")
    part.evidence.append(
        evidence(f"Time waited for the last to arrive, steps of {work}", point, "lost", note=where)
    )
    for name, label in (
        ("spread", "From first to last arrival at a barrier"),
        ("barrier", "From last arrival to leaving the barrier"),
    ):
        if name in point.summary.metrics:
            of_metric = Point(point.summary, point.summary.metrics[name])
            part.evidence.append(evidence(label, of_metric, name, note=where))
    lost = format_share(point.metric.median)
    if arrivals.ranks:
        latest = max(arrivals.ranks, key=lambda each: each.last)
        part.evidence.append(_late_row(latest, point, placement.ranks))
        fair = 1.0 / placement.ranks
        if latest.last >= min(OFTEN * fair, 0.5 * (1.0 + fair)):
            who = f"{latest.place} is the last at {format_share(latest.last)} of the barriers"
            if point.metric.median >= 0.01:
                part.advice.append(
                    f"{latest.place[:1].upper()}{latest.place[1:]} keeps the others waiting: see "
                    "what else uses its core (interrupts, daemons), or whether it runs slower."
                )
        else:
            who = "no rank is late at barriers much more often than the others"
        part.remark = f"{who}, and waiting for the last takes {lost} of steps of {work}"
    else:
        part.remark = f"waiting for the last at a barrier takes {lost} of steps of {work}"
    clock = (
        "arrivals by the one clock of the node"
        if arrivals.clock
        else "arrivals by how long each rank waited, as if all left a barrier at the same moment"
    )
    part.method = [
        f"Arrivals: {counted(placement.ranks, 'rank')} do the same work of {work} and meet in a "
        f"barrier, over and over; {clock} (the experiment that Kramer & Ryan 2003, section 13, "
        "ask for)."
    ]
    return part


def _late_row(latest: Lateness, point: Point, ranks: int) -> Evidence:
    fair = 1.0 / ranks
    return Evidence(
        label=f"Barriers that {latest.place} reaches last",
        metric="last",
        unit="1",
        value=latest.last,
        ci95=None,
        limit=fair,
        limit_source="all ranks alike",
        share=latest.last / fair,
        share_ci95=None,
        cells=[point.summary.id],
        note=f"half the time {format_quantity(latest.level(0.5), 's')} behind the first or less, "
        f"at worst {format_quantity(latest.worst, 's')}",
    )
