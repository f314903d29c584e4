"""Memory bandwidth: STREAM against the best sample of all runs, and growth with cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.kernels import find_kernel
from assay.kernels.memory import STREAM_WORK
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import (
    ARRIVED,
    Point,
    best_by,
    best_by_cores,
    chosen_best,
    on_any_memory,
    points,
    rivals,
)
from assay.questions.common.speedups import Speedup, speedup_of
from assay.records.model import RunData
from assay.stats.core.model import CellSummary
from assay.units import counted

KERNEL = "memory.stream"


@dataclass(frozen=True)
class Ceiling:
    """The best bandwidth of any sample, as a limit."""

    #: Highest bandwidth of any sample, in B/s.
    bandwidth: float
    #: Source of the sample, with its run.
    source: str


@dataclass(frozen=True)
class BandwidthFindings:
    """STREAM, in cells that are not bound to a NUMA node if there are such cells."""

    #: Leading operation: triad if it was measured, else the first one.
    operation: str
    #: Best point of ``operation`` on each number of cores, with the toolchain that is best on the
    #: most cores.
    by_cores: dict[int, Point]
    #: Best point of each other operation on the most cores.
    operations: Mapping[str, Point]
    #: Best point of each other toolchain.
    rivals: Sequence[Point]
    #: Best sample of this run and of stored runs.
    ceiling: Ceiling
    #: Median of the headline over its own best sample.
    of_best_pass: float
    #: Speedup from the fewest cores to the most; None for a single core count.
    speedup: Speedup | None
    #: Least number of cores beyond which the bandwidth certainly grows by less than 5%; the largest
    #: number of cores if there is none.
    saturated: int
    #: Whether the bandwidth certainly grows up to ``saturated`` cores, and these are not all.
    saturates: bool
    #: Bandwidth with non-temporal stores over ordinary stores, of the leading operation on the most
    #: cores that measured both; None unless a plan asks for ordinary ones and the kernel chose the
    #: others, or the plan asks for both.
    nontemporal: Ratio | None
    #: All points of STREAM.
    measured: Sequence[Point] = field(metadata=INTERNAL)

    @property
    def headline(self) -> Point:
        """The leading operation on the most cores."""
        return self.by_cores[max(self.by_cores)]


@dataclass(frozen=True)
class SaturationCurves:
    """STREAM triad against cores."""

    #: Best point on each number of cores, by binding (and by toolchain if there are several).
    lines: Mapping[str, Mapping[int, Point]]
    #: Number of cores at which the bandwidth saturates, as in ``BandwidthFindings``; None if it
    #: does not saturate.
    saturated: int | None


def find_bandwidth(
    cells: Sequence[CellSummary], history: Sequence[RunData] = ()
) -> BandwidthFindings | None:
    """Findings on STREAM; None if no usable cell measured it."""
    everything = points(cells, KERNEL, "bandwidth")
    everything = on_any_memory(everything) or everything
    found = with_chosen_stores(everything)
    if not found:
        return None
    operation = _leading_operation(found)
    by_cores = best_by_cores(_of(found, operation))
    few, most = min(by_cores), max(by_cores)
    toolchain = by_cores[most].summary.cell.toolchain
    on_most = [p for p in found if p.summary.cell.toolchain == toolchain and p.cores == most]
    headline = by_cores[most]
    saturated, saturates = saturation(by_cores)
    return BandwidthFindings(
        operation=operation,
        by_cores=by_cores,
        operations={
            name: chosen_best(alike)
            for name in STREAM_WORK
            if name != operation and (alike := _of(on_most, name))
        },
        rivals=rivals(_of(found, operation)),
        ceiling=_ceiling(found, history),
        of_best_pass=headline.metric.median / headline.metric.max,
        speedup=None if few == most else speedup_of(by_cores[few], headline),
        saturated=saturated,
        saturates=saturates,
        nontemporal=_nontemporal(_of(everything, operation)),
        measured=found,
    )


def find_saturation(measured: Measured) -> SaturationCurves | None:
    """STREAM triad's curves; None if no usable cell measured it."""
    found = on_any_memory(points(measured.cells, KERNEL, "bandwidth"))
    found = _of(with_chosen_stores(found), "triad")
    if not found:
        return None
    several = len({point.summary.cell.toolchain for point in found}) > 1
    lines: dict[str, list[Point]] = {}
    for point in found:
        cell = point.summary.cell
        binding = cell.placement.binding
        lines.setdefault(f"{binding} · {cell.toolchain}" if several else binding, []).append(point)
    saturated, saturates = saturation(best_by(found, lambda point: point.cores))
    return SaturationCurves(
        {name: best_by(line, lambda point: point.cores) for name, line in lines.items()},
        saturated if saturates else None,
    )


def best_bandwidth(run: RunData) -> float | None:
    """The best single sample of any STREAM operation in a stored run, in B/s."""
    kernel = find_kernel(KERNEL)
    seen: list[float] = []
    for measurement in run.measurements:
        record = measurement.record
        if record.kernel != KERNEL or record.status != "ok" or record.verified is False:
            continue
        placement = measurement.cell.placement
        parameters = {**measurement.cell.parameters, **record.parameters}
        moved = kernel.work(parameters, placement.ranks, placement.threads)["bytes"]
        for series in record.series:
            steady = series.values[record.warmup or 0 :]
            if series.metric == "time" and series.rank is None and steady and min(steady) > 0:
                seen.append(moved / min(steady))
    return max(seen, default=None)


def saturation(by_cores: Mapping[int, Point]) -> tuple[int, bool]:
    """The least number of cores beyond which bandwidth certainly grows by less than 5%.

    On more cores the range that decides on the ratio to these cores is below 1/0.95. The result is
    the largest number of cores if there is none: without intervals, saturation can't be shown. The
    second value says whether the bandwidth saturates there: it also certainly grows from the fewest
    cores to these. ``by_cores`` is in ascending order.
    """
    counts = list(by_cores)
    pairs = len(counts) * (len(counts) - 1) // 2
    first = by_cores[counts[0]]
    for number, few in enumerate(counts[:-1]):
        ratios = [ratio_of(by_cores[more], by_cores[few]) for more in counts[number + 1 :]]
        ends = (each.compared(equal=1 / ARRIVED, comparisons=pairs) for each in ratios)
        if all(each.direction == "less" for each in ends):
            grown = ratio_of(by_cores[few], first).compared(comparisons=pairs)
            return few, number > 0 and grown.direction == "more"
    return counts[-1], False


def with_chosen_stores(found: Sequence[Point]) -> list[Point]:
    """The points whose plan left the kind of stores to the kernel, if there are any; else all.

    Cells that name a kind compare kinds. They must not give the headline a second chance.
    """
    free = [p for p in found if p.summary.cell.parameters.get("stores", "auto") == "auto"]
    return free or list(found)


def _nontemporal(found: Sequence[Point]) -> Ratio | None:
    """Non-temporal over ordinary stores on the most cores, as named or as the kernel chose them."""
    kinds: dict[tuple[int, str], dict[str, Point]] = {}
    for point in found:
        cell = point.summary.cell
        if cell.placement.binding == "compact":
            key = (point.cores, cell.toolchain)
            kinds.setdefault(key, {})[str(point.parameter("stores"))] = point
    both = [key for key, kind in kinds.items() if {"nontemporal", "ordinary"} <= kind.keys()]
    return ratio_of(*(kinds[max(both)][k] for k in ("nontemporal", "ordinary"))) if both else None


def _of(found: Sequence[Point], operation: str) -> list[Point]:
    return [point for point in found if point.parameter("op") == operation]


def _leading_operation(found: Sequence[Point]) -> str:
    """Triad, the customary headline, if it was measured; else the first measured operation."""
    measured = [str(point.parameter("op")) for point in found]
    return "triad" if "triad" in measured else measured[0]


def _ceiling(found: Sequence[Point], history: Sequence[RunData]) -> Ceiling:
    here = max(found, key=lambda point: point.metric.max)
    seen = [
        Ceiling(
            here.metric.max,
            f"best single sample of this run, {here.parameter('op')} on "
            f"{counted(here.cores, 'core')}",
        )
    ]
    for run in history:
        bandwidth = best_bandwidth(run)
        if bandwidth is not None:
            seen.append(Ceiling(bandwidth, f"best single sample of run {run.manifest.run}"))
    return max(seen, key=lambda ceiling: ceiling.bandwidth)
