"""Latency under load: the curve from idle memory to saturated memory, its knee, and programs on it.

The knee is where the curve is farthest below its chord, with both axes scaled to 0 … 1 (Satopää,
Albrecht, Irwin & Raghavan 2011, *Finding a "Kneedle" in a Haystack*): below it more traffic costs
little latency, above it much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.kernels import known_kernel
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import Point, leading, on_any_memory, points
from assay.questions.speed.memory.hierarchy import KERNEL as LATENCY
from assay.questions.speed.memory.hierarchy import working_set
from assay.stats.cells.summarise import work_of
from assay.stats.core.model import CellSummary, MetricSummary

LOADED = "memory.loaded_latency"
STREAM = "memory.stream"
# A curve needs this number of loads, idle included.
MIN_LOADS = 4
# With a smaller ratio of the latencies at both ends, the curve has no knee.
GROWS = 1.25
# A curve that is nowhere farther below its chord than this is straight.
BENT = 0.1
# Programs are measured on all cores, and the curve on all cores too; NPB codes have the bytes.
_PROGRAMS = ("npb.", "hpcg")


@dataclass(frozen=True)
class LoadPoint:
    """The latency at one rate of the streams."""

    #: Rate of the streaming threads in percent of their full rate; 0 is idle memory.
    load: int
    #: Bytes per second of the streams, as STREAM counts them, with its interval; None at load 0.
    traffic: MetricSummary | None
    #: Latency of a load.
    latency: Point

    @property
    def rate(self) -> float:
        """Bytes per second of the streams; 0 for idle memory."""
        return self.traffic.median if self.traffic else 0.0


@dataclass(frozen=True)
class Standing:
    """Where a program of the run stands on the curve."""

    #: Time of the program.
    program: Point
    #: Bytes per second by the program's work formula.
    traffic: float
    #: Latency of the curve at this traffic, in s, by linear interpolation; that of the last point
    #: if the program moves more.
    latency: float
    #: Whether it is beyond the knee; None if the curve has no knee.
    beyond_knee: bool | None


@dataclass(frozen=True)
class LoadedFindings:
    """The latency of dependent loads while other cores stream."""

    #: By ascending load.
    curve: Sequence[LoadPoint]
    #: Number of cores that stream at loads above 0.
    streaming: int
    #: Latency at the highest load over the latency of idle memory.
    growth: Ratio
    #: The point at which the latency begins to grow fast; None if there is none.
    knee: LoadPoint | None
    #: Idle latency over that of memory.latency on the same working set; None if not measured.
    idle_over_latency: Ratio | None
    #: Traffic at the highest load over memory.stream on as many cores; None if not measured.
    full_over_stream: Ratio | None
    #: Programs on as many cores as the curve, with known bytes, the least traffic first.
    programs: Sequence[Standing]


def find_loaded(cells: Sequence[CellSummary]) -> LoadedFindings | None:
    """The curve with the most loads, with its knee; None without an idle and a loaded point."""
    found = on_any_memory(points(cells, LOADED, "latency"))
    groups: dict[tuple[object, ...], dict[int, LoadPoint]] = {}
    for point in leading(found) if found else []:
        load = int(point.parameter("load") or 0)
        key = (point.parameter("op"), point.parameter("bytes"), point.summary.cell.placement)
        at = LoadPoint(load, point.summary.metrics.get("traffic") if load else None, point)
        if load == 0 or at.traffic is not None:
            groups.setdefault(key, {})[load] = at
    whole = max(groups.values(), key=len, default={})
    curve = [whole[load] for load in sorted(whole)]
    if len(curve) < 2 or curve[0].load != 0:
        return None
    growth = ratio_of(curve[-1].latency, curve[0].latency)
    knee = _knee(curve, growth)
    cores = curve[0].latency.cores
    return LoadedFindings(
        curve=curve,
        streaming=cores - 1,
        growth=growth,
        knee=knee,
        idle_over_latency=_idle(cells, curve[0].latency),
        full_over_stream=_full(cells, curve[-1], cores - 1),
        programs=_programs(cells, curve, knee, cores),
    )


def _knee(curve: Sequence[LoadPoint], growth: Ratio) -> LoadPoint | None:
    """The point farthest below the chord from the first point to the one with the most traffic."""
    if len(curve) < MIN_LOADS or growth.compared(equal=GROWS).direction != "more":
        return None
    x = np.array([point.rate for point in curve])
    y = np.array([point.latency.metric.median for point in curve])
    x, y = x / x.max(), (y - y[0]) / (y.max() - y[0])
    below = x - y
    place = int(below.argmax())
    return curve[place] if below[place] > BENT else None


def latency_at(curve: Sequence[LoadPoint], traffic: float) -> float:
    """The latency in s at this traffic in B/s, between the measured points."""
    ordered = sorted(curve, key=lambda point: point.rate)
    return float(
        np.interp(
            traffic,
            [point.rate for point in ordered],
            [point.latency.metric.median for point in ordered],
        )
    )


def _idle(cells: Sequence[CellSummary], idle: Point) -> Ratio | None:
    alike = [
        point
        for point in on_any_memory(points(cells, LATENCY, "latency"))
        if point.cores == 1
        and point.parameter("pages") == "huge"
        and working_set(point) == working_set(idle)
        and point.summary.cell.toolchain == idle.summary.cell.toolchain
    ]
    return ratio_of(idle, alike[0]) if alike else None


def _full(cells: Sequence[CellSummary], top: LoadPoint, streaming: int) -> Ratio | None:
    if top.traffic is None or top.load != 100:
        return None
    alike = [
        point
        for point in on_any_memory(points(cells, STREAM, "bandwidth"))
        if point.cores == streaming
        and point.parameter("op") == top.latency.parameter("op")
        and point.parameter("stores") == top.latency.parameter("stores")
        and point.summary.cell.toolchain == top.latency.summary.cell.toolchain
    ]
    if not alike:
        return None
    return ratio_of(Point(top.latency.summary, top.traffic), alike[0])


def _programs(
    cells: Sequence[CellSummary], curve: Sequence[LoadPoint], knee: LoadPoint | None, cores: int
) -> list[Standing]:
    """The programs on one node and as many cores as the curve, whose formulas have the bytes."""
    found = []
    for cell in cells:
        kernel = known_kernel(cell.kernel)
        placement = cell.cell.placement
        if (
            kernel is None
            or not cell.kernel.startswith(_PROGRAMS)
            or "traffic" not in kernel.work_units
            or placement.nodes != 1
            or placement.ranks * placement.threads != cores
        ):
            continue
        for point in points([cell], cell.kernel, "time"):
            moved = work_of(kernel, "traffic", cell.cell, cell.parameters)
            traffic = moved / point.metric.median
            beyond = None if knee is None else traffic > knee.rate
            found.append(Standing(point, traffic, latency_at(curve, traffic), beyond))
    return sorted(found, key=lambda each: each.traffic)
