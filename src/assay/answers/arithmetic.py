"""Floating-point speed: DGEMM against the theoretical peak, and the N that gets there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.answers.model import Evidence
from assay.answers.select import (
    ARRIVED,
    Growth,
    Part,
    Point,
    best,
    best_by,
    covariate,
    evidence,
    labeller,
    leading,
    points,
    quantity_text,
    ratio,
    rivals,
    scaled,
    speedup,
)
from assay.errors import AssayError
from assay.plans.model import Placement
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.units import counted, format_share

if TYPE_CHECKING:
    from assay.system.model import System

KERNEL = "compute.dgemm"
PEAK = "compute.peak"
_PEAK_METHOD = (
    "Measured peak: independent multiply-adds that stay in registers, on every thread at once; the "
    "fastest vector width counts."
)
# A tuned BLAS on large matrices reaches 85 to 95% of peak; far below that, something is wrong.
LOW_SHARE = 0.7
# Above the peak by more than this, the clock that the peak was computed with must have been wrong.
ABOVE_PEAK = 1.02


@dataclass(frozen=True)
class Limit:
    """The theoretical peak of the cores in use in flop/s, where it comes from, if it is a guess."""

    rate: float
    source: str
    assumed: bool


def dgemm_part(cells: Sequence[CellSummary], run: RunData) -> tuple[Part, Point] | None:
    """DGEMM's part of the answer and its headline point; None if no usable cell measured it."""
    found = points(cells, KERNEL, "rate")
    if not found:
        return None
    label = labeller(found)
    lead = leading(found)
    by_cores = best_by(lead, lambda point: point.cores)
    headline = by_cores[max(by_cores)]
    part = Part(headline=[headline])
    peaks = measured_peaks(cells)
    for point in [*reversed(by_cores.values()), *rivals(found)]:
        limit = theoretical_peak(run, [point])
        part.evidence.append(
            evidence(
                f"DGEMM N = {point.parameter('n')}, {counted(point.cores, 'core')}",
                point,
                "rate",
                limit=limit.rate if limit else None,
                limit_source=limit.source if limit else None,
                note=label(point) + _arrival(found, point),
            )
        )
    _scaling(part, lead)
    part.evidence += _peak_rows(peaks, run)
    part.method = [
        "DGEMM: C ← A B + C on square matrices, one product on every rank at once, 2 N³ flop each, "
        "timed on the slowest rank; each result is checked by its residual."
    ]
    _judge(part, headline, theoretical_peak(run, [headline]), _forced_core(run))
    _judge_by_measured_peak(part, headline, peaks)
    return part, headline


def measured_peaks(cells: Sequence[CellSummary]) -> dict[int, Point]:
    """For each number of cores the fastest multiply-add rate of any vector width."""
    return best_by(points(cells, PEAK, "rate"), lambda point: point.cores)


def peak_part(cells: Sequence[CellSummary], run: RunData) -> Part | None:
    """The measured peak where there is no DGEMM to set against it."""
    peaks = measured_peaks(cells)
    if not peaks:
        return None
    count, point = max(peaks.items())
    rate = quantity_text(point.metric.median, "flop/s", point.metric.ci95)
    return Part(
        headline=[point],
        evidence=_peak_rows(peaks, run),
        method=[_PEAK_METHOD],
        remark=f"multiply-adds out of registers reach {rate} on {counted(count, 'core')}",
    )


def _peak_rows(peaks: Mapping[int, Point], run: RunData) -> list[Evidence]:
    rows = []
    for count, point in reversed(list(peaks.items())):
        limit = theoretical_peak(run, [point])
        rows.append(
            evidence(
                f"Multiply-adds out of registers, {counted(count, 'core')}",
                point,
                "rate",
                limit=limit.rate if limit else None,
                limit_source=limit.source if limit else None,
                note=f"{point.parameter('width')}-bit vectors: the measured peak",
            )
        )
    return rows


def _judge_by_measured_peak(part: Part, headline: Point, peaks: Mapping[int, Point]) -> None:
    """DGEMM against what multiply-adds alone reach on as many cores."""
    peak = peaks.get(headline.cores)
    if peak is None:
        return
    share, interval = ratio(headline.metric, peak.metric)
    part.method.append(_PEAK_METHOD)
    part.limits.append(
        f"Measured peak of {counted(headline.cores, 'core')}: "
        f"{quantity_text(peak.metric.median, 'flop/s', peak.metric.ci95)} with "
        f"{peak.parameter('width')}-bit vectors; DGEMM reaches {format_share(share, interval)} "
        "of it."
    )
    if not part.remark or "assumed" in part.remark:
        part.remark = f"{share:.0%} of measured peak"


def _scaling(part: Part, lead: Sequence[Point]) -> None:
    """Parallel efficiency at the largest order that was measured on several numbers of cores."""
    by_order: dict[int, dict[int, Point]] = {}
    for order in {int(point.parameter("n") or 0) for point in lead}:
        alike = [point for point in lead if point.parameter("n") == order]
        by_order[order] = best_by(alike, lambda point: point.cores)
    several = [order for order, by_cores in by_order.items() if len(by_cores) > 1]
    if not several:
        return
    order = max(several)
    counts = list(by_order[order])
    row = speedup(
        f"DGEMM N = {order}",
        by_order[order],
        counts[0],
        counts[-1],
        note="parallel efficiency",
    )
    part.evidence.append(row)
    part.growth = [Growth(counts[0], counts[-1], "DGEMM", row.value)]


def theoretical_peak(run: RunData, found: Sequence[Point]) -> Limit | None:
    """The peak of the cores that these points used, at the clock measured while they ran.

    The points share a placement's size. None where the system's facts don't say enough.
    """
    from assay.models.peak import peak_flops
    from assay.system.model import System

    try:
        system = System.from_dict(run.manifest.system)
    except AssayError:  # described by another version: no peak, and the report goes on
        return None
    clock = covariate(run, (point.summary.id for point in found), "clock_rate")
    peak = peak_flops(system, _physical_cores(found[0].summary.cell.placement, system), clock)
    return Limit(peak.value, peak.explanation, peak.assumed) if peak else None


def _physical_cores(placement: Placement, system: System) -> int:
    """Cores with pipes of their own: hardware threads beyond a node's cores add none."""
    per_node = placement.ppn * placement.threads
    return placement.nodes * min(per_node, system.processor.cores or per_node)


def arriving_order(found: Sequence[Point], count: int) -> int:
    """The smallest N measured on so many cores whose median is at 95% of the best N's."""
    by_order = best_by(
        (point for point in found if point.cores == count),
        lambda point: int(point.parameter("n") or 0),
    )
    enough = ARRIVED * best(list(by_order.values())).metric.median
    return next(order for order, point in by_order.items() if point.metric.median >= enough)


def _arrival(found: Sequence[Point], of: Point) -> str:
    """From which N the rate is near its best, where more than one N was measured."""
    toolchain = of.summary.cell.toolchain
    alike = [p for p in found if p.cores == of.cores and p.summary.cell.toolchain == toolchain]
    if len({point.parameter("n") for point in alike}) < 2:
        return ""
    return f"; {ARRIVED:.0%} of its best from N = {arriving_order(alike, of.cores)}"


def _forced_core(run: RunData) -> str | None:
    """The kernels that OpenBLAS was told to use from outside, if it was."""
    tuning = run.manifest.system.get("tuning")
    core = tuning.get("OPENBLAS_CORETYPE") if isinstance(tuning, dict) else None
    return str(core) if core else None


def _judge(part: Part, headline: Point, limit: Limit | None, forced_core: str | None) -> None:
    if limit is None:
        part.limits.append(
            "The theoretical peak is unknown: it needs the vector width and the clock of the "
            "cores, and this machine tells too little of them."
        )
        return
    share = headline.metric.median / limit.rate
    interval = scaled(headline.metric.ci95, 1 / limit.rate)
    kind = "assumed" if limit.assumed else "theoretical"
    part.remark = f"{share:.0%} of {kind} peak"
    part.limits.append(f"Theoretical peak: {limit.source}.")
    if limit.assumed:
        part.caveats.append(
            f"The theoretical peak rests on a guess ({limit.source}), and so does DGEMM's share."
        )
    if share < LOW_SHARE and forced_core:
        part.advice.append(
            f"DGEMM reaches only {format_share(share, interval)} of the theoretical peak, and "
            f"OPENBLAS_CORETYPE={forced_core} keeps OpenBLAS from choosing its kernels for this "
            "processor: unset it and measure again."
        )
    elif share < LOW_SHARE:
        part.advice.append(
            f"DGEMM reaches only {format_share(share, interval)} of the theoretical peak: check "
            "that the BLAS is built for this processor and runs one thread per core, and that the "
            "governor lets the clock rise (`assay doctor`)."
        )
    elif share > ABOVE_PEAK:
        part.caveats.append(
            f"DGEMM runs at {format_share(share)} of the theoretical peak, which can't be: the "
            "true clock must be above the one the peak was computed with."
        )
