"""Findings on floating-point speed: DGEMM, the peaks for comparison, and the best N."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import (
    ARRIVED,
    Point,
    best,
    best_by,
    best_by_cores,
    leading,
    points,
    rivals,
)
from assay.questions.common.speedups import Speedup, speedup_of
from assay.questions.speed.arithmetic.peak import DGEMM, PEAK, PeakLimit, theoretical_peak
from assay.records.model import RunData
from assay.stats.core.model import CellSummary

KERNELS = (DGEMM, PEAK)


@dataclass(frozen=True)
class PeakShare:
    """A rate and the theoretical peak of its cores."""

    #: Measured rate.
    point: Point
    #: Theoretical peak of the cores in use; None if unknown.
    peak: PeakLimit | None
    #: Smallest order N of DGEMM whose rate is at least 95% of the best, on the same number of cores
    #: with the same toolchain; None if only one order was measured.
    arrival: int | None = None


@dataclass(frozen=True)
class DgemmFindings:
    """DGEMM."""

    #: Best order on each number of cores, with the toolchain that is best on the most cores.
    by_cores: dict[int, PeakShare]
    #: Best rate of each other toolchain.
    rivals: Sequence[PeakShare]
    #: Largest N that was measured on several numbers of cores.
    order: int | None
    #: Speedup at this N, from the fewest cores to the most. Both are None if there is no such N.
    speedup: Speedup | None
    #: Rate of the headline over the measured peak of the same number of cores.
    of_measured_peak: Ratio | None
    #: Processor that OPENBLAS_CORETYPE names; None if the variable is not set.
    forced_core: str | None
    #: All points of DGEMM.
    measured: Sequence[Point] = field(metadata=INTERNAL)

    @property
    def headline(self) -> PeakShare:
        """The best order on the most cores."""
        return self.by_cores[max(self.by_cores)]


@dataclass(frozen=True)
class ArithmeticCurves:
    """Contents of the figures: usable cells, including candidates of a placement search."""

    #: Rates of DGEMM.
    dgemm: Sequence[Point]
    #: Smallest N with 95% of the best rate, by number of cores, if several orders were measured.
    arrivals: Mapping[int, int]
    #: Theoretical peak in flop/s, by number of cores, if known.
    peaks: Mapping[int, float]
    #: Rates of multiply-adds in registers, for every vector width.
    multiply_adds: Sequence[Point]


@dataclass(frozen=True)
class ArithmeticFindings:
    """Findings on floating-point speed."""

    #: Findings on DGEMM; None if no usable cell measured it.
    dgemm: DgemmFindings | None
    #: Fastest multiply-adds of any vector width, by number of cores.
    measured_peaks: dict[int, PeakShare]
    curves: ArithmeticCurves = field(metadata=INTERNAL)


def find(measured: Measured) -> ArithmeticFindings | None:
    """The findings on floating-point speed; None if nothing was measured."""
    own, run = measured.without_candidates().own_cells(), measured.run
    drawn = points(measured.cells, DGEMM, "rate")
    multiply_adds = points(measured.cells, PEAK, "rate")
    if not (drawn or multiply_adds):
        return None
    peaks = best_by(points(own.cells, PEAK, "rate"), lambda point: point.cores)
    return ArithmeticFindings(
        dgemm=_dgemm(own.cells, run, peaks),
        measured_peaks={
            cores: PeakShare(point, theoretical_peak(run, [point]))
            for cores, point in peaks.items()
        },
        curves=_curves(drawn, multiply_adds, run),
    )


def _curves(drawn: list[Point], multiply_adds: list[Point], run: RunData) -> ArithmeticCurves:
    by_count: dict[int, list[Point]] = {}
    for point in drawn:
        by_count.setdefault(point.cores, []).append(point)
    arrivals = {count: _arrival(alike) for count, alike in by_count.items()}
    peaks = {count: theoretical_peak(run, alike) for count, alike in by_count.items()}
    return ArithmeticCurves(
        drawn,
        {count: order for count, order in arrivals.items() if order is not None},
        {count: peak.rate for count, peak in peaks.items() if peak},
        multiply_adds,
    )


def _dgemm(
    cells: Sequence[CellSummary], run: RunData, peaks: Mapping[int, Point]
) -> DgemmFindings | None:
    found = points(cells, DGEMM, "rate")
    if not found:
        return None
    lead = leading(found)
    by_cores = best_by_cores(found)
    headline = by_cores[max(by_cores)]
    peak = peaks.get(headline.cores)

    def share(point: Point) -> PeakShare:
        toolchain = point.summary.cell.toolchain
        alike = [
            p for p in found if p.cores == point.cores and p.summary.cell.toolchain == toolchain
        ]
        return PeakShare(point, theoretical_peak(run, [point]), _arrival(alike))

    order, speedup = _speedup(lead)
    return DgemmFindings(
        by_cores={cores: share(point) for cores, point in by_cores.items()},
        rivals=[share(point) for point in rivals(found)],
        order=order,
        speedup=speedup,
        of_measured_peak=ratio_of(headline, peak) if peak else None,
        forced_core=_forced_core(run),
        measured=found,
    )


def _order(point: Point) -> int:
    return int(point.parameter("n") or 0)


def _arrival(alike: Sequence[Point]) -> int | None:
    """The smallest N whose median is at least 95% of the best median; None for a single order."""
    by_order = best_by(alike, _order)
    if len(by_order) < 2:
        return None
    arrived = ARRIVED * best(list(by_order.values())).metric.median
    return next(order for order, point in by_order.items() if point.metric.median >= arrived)


def _speedup(lead: Sequence[Point]) -> tuple[int | None, Speedup | None]:
    """The speedup at the largest N measured on several numbers of cores, from fewest to most."""
    for order in sorted({_order(point) for point in lead}, reverse=True):
        alike = [point for point in lead if _order(point) == order]
        by_cores = best_by(alike, lambda point: point.cores)
        if len(by_cores) > 1:
            return order, speedup_of(by_cores[min(by_cores)], by_cores[max(by_cores)])
    return None, None


def _forced_core(run: RunData) -> str | None:
    """The processor whose kernels OPENBLAS_CORETYPE forces OpenBLAS to use; None if not set."""
    tuning = run.manifest.system.get("tuning")
    core = tuning.get("OPENBLAS_CORETYPE") if isinstance(tuning, dict) else None
    return str(core) if core else None
