"""Floating-point speed: DGEMM against the theoretical peak, and the N that gets there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.answers.select import (
    ARRIVED,
    Part,
    Point,
    best,
    best_by,
    counted,
    covariate,
    evidence,
    labeller,
    leading,
    points,
    rivals,
    scaled,
)
from assay.errors import AssayError
from assay.plans.model import Placement
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.units import format_share

if TYPE_CHECKING:
    from assay.system.model import System

KERNEL = "compute.dgemm"
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
    part.method = [
        "DGEMM: C ← A B + C on square matrices, one product on every rank at once, 2 N³ flop each, "
        "timed on the slowest rank; each result is checked by its residual."
    ]
    _judge(part, headline, theoretical_peak(run, [headline]), _forced_core(run))
    return part, headline


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
