"""Findings on Linpack: Rmax, its limits, its scaling, and its rank on the TOP500."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.models.half_performance import HalfOrder
from assay.models.linpack.sizing import KERNEL, LargestOrder
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.selection import (
    Point,
    best_by,
    chosen_best,
    points,
    ratio,
    rivals,
)
from assay.questions.common.speedups import Speedup, speedup_of
from assay.questions.speed.arithmetic.peak import DGEMM, PeakLimit, theoretical_peak
from assay.questions.speed.benchmarks.phases import CellPhases, cell_phases
from assay.questions.speed.linpack.losses import PhaseLoss, loss_of
from assay.questions.speed.linpack.results import (
    Results,
    alike,
    asked_alike,
    by_cores,
    curves,
    growing,
    measurements_of,
    results,
)
from assay.questions.speed.linpack.search import LinpackSearch, largest_of, search_of
from assay.questions.speed.linpack.shares import (
    DGEMM_CORES,
    DGEMM_RANKS,
    Price,
    RmaxShare,
    price_of,
    shares,
)
from assay.questions.speed.linpack.top500_own_kind import OwnKind, own_kinds
from assay.questions.speed.linpack.top500_places import Top500Places, find_places
from assay.records.model import RunData, system_name
from assay.stats.compare.directions import Comparison, compared
from assay.stats.core.model import CellSummary
from assay.units import Interval


@dataclass(frozen=True)
class LimitedRate:
    """A rate and the theoretical peak of its cores."""

    #: Measured rate.
    point: Point
    #: Theoretical peak of the cores in use; None if unknown.
    peak: PeakLimit | None


@dataclass(frozen=True)
class Gain:
    """The rate of Rmax over another rate."""

    #: Rate for comparison, the denominator.
    other: Point
    #: Ratio of the two rates.
    value: float
    #: 95% interval; None where there is none.
    interval: Interval | None
    #: Number of launches of both cells.
    launches: int

    def compared(self, comparisons: int = 1) -> Comparison:
        """The direction of the ratio (``stats.compare.directions``)."""
        return compared(self.value, self.interval, launches=self.launches, comparisons=comparisons)


@dataclass(frozen=True)
class DgemmOnAllCores:
    """DGEMM on all cores of Rmax concurrently."""

    #: Rate of DGEMM.
    point: Point
    #: Name of the reference: the rate of a single rank or core times their number.
    single: str
    #: Rate of ``point`` over the reference.
    of_single: float
    #: Rmax over the rate of ``point``.
    rmax_ratio: float
    #: 95% interval; None where there is none.
    interval: Interval | None


@dataclass(frozen=True)
class LinpackFindings:
    """Linpack on one machine."""

    #: Fastest result.
    rmax: Point
    #: Order of Rmax.
    nmax: int
    #: Best result at each order, with the placement and toolchain of Rmax.
    curve: Mapping[int, Point]
    #: N½ on ``curve``; None for fewer than two orders.
    half: HalfOrder | None
    #: Theoretical peak of the cores of Rmax.
    peak: PeakLimit | None
    #: Rmax over the theoretical peak.
    peak_ratio: float | None
    #: Rmax over peaks, DGEMM and one node.
    shares: tuple[RmaxShare, ...]
    #: Price per flop/s; None if no price of a node is configured.
    price: Price | None
    #: Largest number of cores on which Linpack was measured.
    most_cores: int
    #: Best results on other numbers of cores, the most cores first, and of each other toolchain.
    others: tuple[LimitedRate, ...]
    #: Points by number of cores, with the same planned parameters if there are such points.
    scaling: Mapping[int, Point]
    #: Speedup from the fewest cores of ``scaling`` to the most; None for a single number of cores.
    speedup: Speedup | None
    #: Phase that causes a poor efficiency; None if the efficiency is good or no phase was timed.
    loss: PhaseLoss | None
    #: Largest order according to the search; None without a search or if the plan gives N.
    sizing: LargestOrder | None
    #: Rmax over the rate at the next smaller order, if Rmax is at the largest order.
    last_gain: Gain | None
    #: Rmax over the rate at the largest order of ``curve``; None if Rmax is at this order.
    over_largest: Gain | None
    #: Rmax over the best rate on ``most_cores``; None if Rmax was reached on them.
    over_most_cores: Gain | None
    #: Shares of the time by order, along ``curve``.
    phases: Mapping[int, CellPhases]
    #: Search of the settings; None if there was none.
    search: LinpackSearch | None
    #: Rmax over the best rate with each other number of threads per rank on its cores.
    same_cores: tuple[Gain, ...]
    #: DGEMM on all cores concurrently; None if not measured.
    dgemm: DgemmOnAllCores | None
    #: Orders that the launches of Rmax solved, ascending.
    launch_orders: tuple[int, ...]
    #: Rank that Rmax would have had on each TOP500 list.
    top500: Top500Places
    #: Rank of Rmax among listed systems with the same kind of processor and interconnect, and among
    #: self-made systems; empty if Rmax would have been on no list.
    own_kinds: tuple[OwnKind, ...]
    #: All Linpack results.
    measured: tuple[Point, ...] = field(metadata=INTERNAL)
    #: Curves over two or more orders, one per placement and toolchain.
    curves: tuple[Mapping[int, Point], ...] = field(metadata=INTERNAL)
    #: Shares of the time of Rmax; None if no phase was timed.
    rmax_phases: CellPhases | None = field(metadata=INTERNAL)
    #: Name of the machine.
    system: str = field(metadata=INTERNAL)

    def share(self, name: str) -> RmaxShare | None:
        """The share with this name; None if it is unknown."""
        return next((share for share in self.shares if share.name == name), None)


def find(measured: Measured) -> LinpackFindings | None:
    """Findings on Linpack; None if no usable cell measured it.

    Candidates of a placement search, which have few launches each, are left out.
    """
    run, cells = measured.run, measured.without_candidates().cells
    known = results(cells)
    if known is None:
        return None
    rmax = known.rmax
    peak = theoretical_peak(run, [rmax])
    of_limits = tuple(shares(known, cells, peak))
    at_counts, line = by_cores(known), growing(known)
    most_cores = max(at_counts)
    speedup = speedup_of(line[min(line)], line[max(line)]) if len(line) > 1 else None
    phases = {order: cell_phases(point) for order, point in known.curve.items()}
    others = [point for point in reversed(at_counts.values()) if point.cores != rmax.cores]
    return LinpackFindings(
        rmax=rmax,
        nmax=known.nmax,
        curve=known.curve,
        half=known.half,
        peak=peak,
        peak_ratio=rmax.metric.median / peak.rate if peak is not None else None,
        shares=of_limits,
        price=price_of(rmax, run.manifest.prices),
        most_cores=most_cores,
        others=tuple(
            LimitedRate(point, theoretical_peak(run, [point]))
            for point in [*others, *rivals(known.found)]
        ),
        scaling=line,
        speedup=speedup,
        loss=loss_of(speedup) if speedup is not None else None,
        sizing=largest_of(run, rmax),
        last_gain=_last_gain(known),
        over_largest=_over_largest(known),
        over_most_cores=(_gain(rmax, at_counts[most_cores]) if rmax.cores < most_cores else None),
        phases={order: timed for order, timed in phases.items() if timed is not None},
        search=search_of(run, rmax),
        same_cores=_same_cores(known),
        dgemm=_on_all_cores(rmax, of_limits, cells),
        launch_orders=_launch_orders(rmax, run),
        top500=find_places(rmax.metric.median, rmax.metric.ci95),
        own_kinds=own_kinds(run, rmax.metric.median, rmax.summary.cell.placement.nodes),
        measured=tuple(known.found),
        curves=tuple(curves(known)),
        rmax_phases=cell_phases(rmax),
        system=system_name(run.manifest),
    )


def _gain(rmax: Point, other: Point) -> Gain:
    launches = rmax.metric.n + other.metric.n
    return Gain(other, *ratio(rmax.metric, other.metric), launches)


def _last_gain(known: Results) -> Gain | None:
    orders = list(known.curve)
    if len(orders) < 2 or known.nmax != orders[-1]:
        return None
    return _gain(known.rmax, known.curve[orders[-2]])


def _over_largest(known: Results) -> Gain | None:
    largest = max(known.curve, default=known.nmax)
    return None if largest == known.nmax else _gain(known.rmax, known.curve[largest])


def _same_cores(known: Results) -> tuple[Gain, ...]:
    rmax = known.rmax
    found = [p for p in asked_alike(known) if p.cores == rmax.cores]
    by_threads = best_by(found, lambda point: point.summary.cell.placement.threads)
    del by_threads[rmax.summary.cell.placement.threads]
    return tuple(_gain(rmax, other) for other in by_threads.values())


def _on_all_cores(
    rmax: Point, of_limits: Sequence[RmaxShare], cells: Sequence[CellSummary]
) -> DgemmOnAllCores | None:
    """DGEMM on all cores of Rmax, against the rate of single ranks or cores times their number."""
    single = next((s for s in of_limits if s.name in (DGEMM_RANKS, DGEMM_CORES)), None)
    together = [
        p
        for p in alike(points(cells, DGEMM, "rate"), rmax)
        if p.summary.cell.placement.nodes == rmax.summary.cell.placement.nodes
        and p.cores == rmax.cores > 1
    ]
    if single is None or not together:
        return None
    top = chosen_best(together)
    of_single = top.metric.median / single.of
    return DgemmOnAllCores(top, single.name, of_single, *ratio(rmax.metric, top.metric))


def _launch_orders(rmax: Point, run: RunData) -> tuple[int, ...]:
    orders = {
        int(measurement.record.parameters.get("n") or 0)
        for measurement in measurements_of(run, KERNEL, rmax)
        if measurement.cell.id == rmax.summary.id
    }
    return tuple(sorted(orders - {0}))
