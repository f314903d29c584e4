"""Memory bandwidth: STREAM against the best ever seen, and how it grows with cores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.answers.model import Evidence
from assay.answers.select import (
    ARRIVED,
    Growth,
    Part,
    Point,
    best,
    best_by,
    evidence,
    labeller,
    leading,
    on_any_memory,
    points,
    rivals,
    speedup,
)
from assay.kernels import find_kernel
from assay.kernels.memory import STREAM_WORK
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.units import counted, format_quantity, format_share

KERNEL = "memory.stream"
# Edmundsson et al. (2004), 5.1: what the second processor of a node added to STREAM there.
SECOND_PROCESSOR = "17 to 45%"
# A median under this share of the cell's own best sample is no steady machine's.
STEADY = 0.9
# Below this gain from all cores over one, more ranks hardly help codes that stream through memory.
LITTLE_GAIN = 0.15


@dataclass(frozen=True)
class Ceiling:
    """The best bandwidth ever seen, in B/s, and where."""

    bandwidth: float
    source: str


def stream_part(
    cells: Sequence[CellSummary], history: Sequence[RunData] = ()
) -> tuple[Part, Point] | None:
    """STREAM's part of the answer and its headline point; None if no usable cell measured it."""
    found = points(cells, KERNEL, "bandwidth")
    found = on_any_memory(found) or found
    if not found:
        return None
    operation = _leading_operation(found)
    ceiling = _ceiling(found, history)
    of_lead = leading(_of(found, operation))
    lead = [p for p in found if p.summary.cell.toolchain == of_lead[0].summary.cell.toolchain]
    label = labeller(found)
    by_cores = best_by(of_lead, lambda point: point.cores)
    counts = list(by_cores)
    headline = by_cores[counts[-1]]
    part = Part(headline=[headline])
    for count in reversed(counts):
        operations = list(STREAM_WORK) if count == counts[-1] else [operation]
        for name in sorted(operations, key=lambda name: name != operation):
            of_count = [point for point in _of(lead, name) if point.cores == count]
            if of_count:
                part.evidence.append(_evidence(name, best(of_count), ceiling, label))
    part.evidence += [
        _evidence(operation, rival, ceiling, label) for rival in rivals(_of(found, operation))
    ]
    part.method = _method(headline)
    part.limits = [
        f"Best bandwidth seen: {format_quantity(ceiling.bandwidth, 'B/s')} ({ceiling.source}). "
        "The memory's own peak can't be read without privileges, so this is a floor of the limit."
    ]
    steady = headline.metric.median / headline.metric.max
    if steady < STEADY:
        part.advice.append(
            f"STREAM {operation} typically reaches {steady:.0%} of its own best pass: something "
            "takes the rest away at times. Look for other work on the node, and compare the "
            "covariates (steal time, load) of slow and fast launches."
        )
    if len(counts) > 1:
        _scaling(part, by_cores, operation)
    return part, headline


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


def _of(found: Sequence[Point], operation: str) -> list[Point]:
    return [point for point in found if point.parameter("op") == operation]


def _leading_operation(found: Sequence[Point]) -> str:
    """Triad if it was measured (the customary headline), else the first measured."""
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


def _evidence(
    operation: str, point: Point, ceiling: Ceiling, label: Callable[[Point], str]
) -> Evidence:
    return evidence(
        f"STREAM {operation}, {counted(point.cores, 'core')}",
        point,
        "bandwidth",
        limit=ceiling.bandwidth,
        limit_source=ceiling.source,
        note=label(point),
    )


def _method(headline: Point) -> list[str]:
    elements = headline.parameter("elements")
    stores = headline.parameter("stores")
    ranks = headline.summary.cell.placement.ranks
    size = ""
    if isinstance(elements, int) and elements > 0:
        whole = format_quantity(3 * 8.0 * elements * ranks, "B")
        size = f" Its three arrays hold {whole} together, {elements} elements a rank."
    how = f" Stores: {stores}." if isinstance(stores, str) and stores != "auto" else ""
    return [
        "STREAM (McCalpin): each pass over the arrays is a sample, timed on the slowest rank; the "
        "bandwidth counts the bytes that the operation names, not the write-allocate traffic."
        + size
        + how
    ]


def saturation(by_cores: Mapping[int, Point]) -> int:
    """The fewest cores measured that reach 95% of the best bandwidth; core counts ascend."""
    top = max(point.metric.median for point in by_cores.values())
    return next(c for c, point in by_cores.items() if point.metric.median >= ARRIVED * top)


def _scaling(part: Part, by_cores: dict[int, Point], operation: str) -> None:
    counts = list(by_cores)
    few, all_cores = counts[0], counts[-1]
    row = speedup(f"STREAM {operation}", by_cores, few, all_cores)
    part.evidence.append(row)
    gain, interval = row.value, row.ci95
    saturated = saturation(by_cores)
    part.growth = [Growth(few, all_cores, "memory bandwidth", gain)]
    if saturated < all_cores:
        part.remark = f"memory saturates at {saturated} of {counted(all_cores, 'core')}"
        part.advice.append(
            f"Beyond {counted(saturated, 'core')}, codes bound by memory bandwidth gain less than "
            f"{1 / ARRIVED - 1:.0%}: spread their ranks over more nodes before filling one."
        )
    more = format_share(gain - 1, (interval[0] - 1, interval[1] - 1) if interval else None)
    if gain - 1 < LITTLE_GAIN:
        part.advice.append(
            f"{counted(few, 'core')} already draws nearly all of the memory bandwidth ({more} "
            f"more from {all_cores}): run codes that stream through memory on fewer ranks a node, "
            "and fill the other cores with work that stays in cache."
        )
    else:
        part.advice.append(
            f"Going from {counted(few, 'core')} to {all_cores}, codes bound by memory bandwidth "
            f"gain about {more} at most; Edmundsson et al. (2004) found {SECOND_PROCESSOR} from "
            "the second processor of their nodes. Codes that compute in cache can gain up to "
            f"{all_cores / few - 1:.0%}."
        )
