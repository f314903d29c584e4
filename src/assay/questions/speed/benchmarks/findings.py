"""Findings on the NAS Parallel Benchmarks: rates, scaling, and what limits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from assay.kernels import known_kernel
from assay.kernels.naming import benchmark_codes, kernel_name
from assay.kernels.npb import CLASS_ORDER
from assay.kernels.npb.own_code import done_per_operation, scaling_difference
from assay.model.placement import Placement
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.selection import (
    Point,
    best_by,
    best_by_cores,
    leading,
    on_any_memory,
    points,
    ratio,
    rivals,
    scaled,
)
from assay.questions.common.speedups import POOR_EFFICIENCY, Speedup, speedup_of
from assay.questions.speed.benchmarks.codes import (
    CodeScaling,
    code_scaling,
    code_suffix,
    of_codes,
)
from assay.questions.speed.benchmarks.phases import COMPUTE, NpbPhases, npb_phases
from assay.questions.speed.benchmarks.scaling import (
    Chip,
    Curve,
    ScalingFit,
    begins_to_fit,
    by_class,
    chip_of,
    curve_of,
    data_per_process,
    in_cache,
    speedups,
    superlinear,
)
from assay.questions.speed.memory.bandwidth import KERNEL as STREAM
from assay.stats.compare.directions import compared
from assay.stats.core.model import CellSummary
from assay.units import Interval

PROCESSES = "processes"
# Least share of the lost time at which communication counts as its cause.
_MAIN_PART = 0.5


@dataclass(frozen=True)
class StreamGrowth:
    """Growth of STREAM triad's bandwidth from ``base`` cores to ``cores`` cores."""

    #: Number of cores.
    cores: int
    #: Number of cores that ``ratio`` refers to.
    base: int
    #: Bandwidth on ``cores`` over bandwidth on ``base``.
    ratio: float


@dataclass(frozen=True)
class ScalingLoss:
    """The cause of a poor parallel efficiency on the most cores."""

    #: ``communication`` if it takes at least half of the lost time; else ``memory`` if STREAM's
    #: parallel efficiency is poor, too, and the data are not in cache; else ``computing`` if phases
    #: were timed; else ``unknown``.
    cause: Literal["communication", "memory", "computing", "unknown"]
    #: Phases on the most cores; None if no phase was timed.
    phases: NpbPhases | None
    #: Growth of STREAM's bandwidth; None unless memory is the cause.
    stream: StreamGrowth | None
    #: Differences from NASA's code that affect scaling; "" if there are none.
    code: str = ""
    #: Whether computing certainly takes more core time than on the fewest cores.
    slower: bool = False


@dataclass(frozen=True)
class CacheEffect:
    """A superlinear speedup, and whether caches explain it."""

    #: Superlinear speedup with the highest efficiency.
    best: Speedup
    #: Numbers of cores with a superlinear speedup, ascending.
    counts: tuple[int, ...]
    #: Least count at which the data of a process fit into its share of a cache; None if there is no
    #: such count.
    fit: ScalingFit | None
    #: Whether the sizes of the data and of the caches are known.
    sizes_known: bool


@dataclass(frozen=True)
class ClassScaling:
    """One class of a benchmark over numbers of cores."""

    #: Best point on each number of cores.
    curve: Curve
    #: Speedups over the fewest cores, by ascending number of cores.
    speedups: tuple[Speedup, ...]
    #: Shares of the time by number of cores, if phases were timed.
    phases: Mapping[int, NpbPhases]

    @property
    def title(self) -> str:
        """``CG class B``; ``IS class A, plain code``."""
        curve = self.curve
        return f"{kernel_name(curve.kernel)} class {curve.size}{code_suffix(curve)}"


@dataclass(frozen=True)
class ClassFindings:
    """One class of a benchmark, as the answer reports it."""

    #: Scaling over numbers of cores.
    scaling: ClassScaling
    #: Best point with several threads per rank on the most cores, if the curve is over processes.
    threaded: Point | None
    #: Best point of each other toolchain on its largest number of cores.
    rivals: tuple[Point, ...]
    #: Effect of caches; None if no speedup is superlinear.
    cache_effect: CacheEffect | None
    #: Cause of a poor efficiency, only for the largest class; None if the efficiency is good or
    #: unknown.
    loss: ScalingLoss | None
    #: Floating-point operations executed per official operation; None if there are none.
    per_operation: float | None = None
    #: Scaling of both codes; None if the plain code was not measured.
    codes: CodeScaling | None = None


@dataclass(frozen=True)
class RateLine:
    """The best points of one class, kind and toolchain, by ascending number of cores."""

    size: str
    #: Kind of the placement, such as ``processes`` or ``threads``.
    kind: str
    toolchain: str
    points: Mapping[int, Point]


@dataclass(frozen=True)
class DoneRate:
    """The floating-point operations that a benchmark executes, beside its official rate."""

    #: Benchmark.
    title: str
    #: Rate of official operations.
    point: Point
    #: Executed flop/s.
    flops: float | None
    #: 95% interval of the executed flop/s; None if there is none.
    interval: Interval | None
    #: Floating-point operations executed per official operation (``kernels/npb/own_code.py``). All
    #: three fields are None for a benchmark without floating-point operations.
    per_operation: float | None


@dataclass(frozen=True)
class BenchmarkFindings:
    """One benchmark."""

    #: Name in the catalogue.
    kernel: str
    #: Display name.
    title: str
    #: Results by class, the largest first, without candidates of a placement search (few launches
    #: each).
    classes: tuple[ClassFindings, ...]
    #: Executed operations of each class on each number of cores, including candidates.
    done: tuple[DoneRate, ...]
    #: ``measured``, ``lines``, ``drawn``: all points, lines and curves for figures and tables,
    #: including candidates.
    measured: tuple[Point, ...] = field(metadata=INTERNAL)
    lines: tuple[RateLine, ...] = field(metadata=INTERNAL)
    drawn: tuple[ClassScaling, ...] = field(metadata=INTERNAL)


@dataclass(frozen=True)
class BenchmarksFindings:
    """The NAS Parallel Benchmarks."""

    #: Measured benchmarks, in the catalogue's order.
    benchmarks: tuple[BenchmarkFindings, ...]


def find(measured: Measured) -> BenchmarksFindings | None:
    """Findings on the NPB; None if no usable cell measured any.

    ``measured`` includes the candidates of a placement search, if there was one.
    """
    judged = measured.without_candidates()
    chip = chip_of(measured.run)
    found = []
    for kernel, title in benchmark_codes().items():
        drawn, plain = of_codes(points(measured.cells, kernel, "rate"))
        if not drawn:
            continue
        scalings = _scalings(drawn, kernel)
        own = drawn
        if judged is not measured:
            own, plain = of_codes(points(judged.cells, kernel, "rate"))
        of_own = scalings if own is drawn else _scalings(own, kernel)
        classes, of_plain = by_class(own), by_class(plain)
        found.append(
            BenchmarkFindings(
                kernel=kernel,
                title=title,
                classes=tuple(
                    _class_findings(
                        scaling,
                        classes[scaling.curve.size],
                        of_plain.get(scaling.curve.size, []),
                        judged.cells if number == 0 else None,
                        chip,
                    )
                    for number, scaling in enumerate(of_own)
                ),
                done=tuple(
                    _done_rate(scaling.title, point)
                    for scaling in scalings
                    for point in scaling.curve.points.values()
                ),
                measured=tuple(drawn),
                lines=_lines(drawn),
                drawn=scalings,
            )
        )
    return BenchmarksFindings(tuple(found)) if found else None


def _per_operation(point: Point) -> float | None:
    cell = point.summary.cell
    kernel = known_kernel(cell.kernel)
    return done_per_operation(kernel, cell.parameters) if kernel is not None else None


def _done_rate(title: str, point: Point) -> DoneRate:
    share = _per_operation(point)
    if share is None:
        return DoneRate(title, point, None, None, None)
    flops, interval = point.metric.median * share, scaled(point.metric.ci95, share)
    return DoneRate(title, point, flops, interval, share)


def _lines(found: Sequence[Point]) -> tuple[RateLine, ...]:
    """Sort key: descending class, then processes before other kinds, which are in order of name."""
    lines: dict[tuple[str, str, str], list[Point]] = {}
    for size, of_size in by_class(found).items():
        for point in of_size:
            line = (size, _kind(point.summary.cell.placement), point.summary.cell.toolchain)
            lines.setdefault(line, []).append(point)
    ranked = sorted(
        lines, key=lambda line: (-CLASS_ORDER.index(line[0]), line[1] != PROCESSES, *line[1:])
    )
    return tuple(
        RateLine(*line, best_by(lines[line], lambda point: point.cores)) for line in ranked
    )


def _kind(placement: Placement) -> str:
    """The kind of a placement: processes (per node on several nodes), threads, or both."""
    if placement.threads == 1:
        return PROCESSES if placement.nodes == 1 else f"{PROCESSES}, {placement.ppn} per node"
    if placement.ranks == 1:
        return "threads"
    return f"{PROCESSES} of {placement.threads} threads"


def _scalings(found: Sequence[Point], kernel: str) -> tuple[ClassScaling, ...]:
    """The scaling of each class of one benchmark, the largest first."""
    scalings = []
    for size, of_size in by_class(found).items():
        curve = curve_of(of_size, kernel, size)
        phases = {count: npb_phases(point) for count, point in curve.points.items()}
        timed = {count: known for count, known in phases.items() if known is not None}
        scalings.append(ClassScaling(curve, tuple(speedups(curve)), timed))
    return tuple(scalings)


def _class_findings(
    scaling: ClassScaling,
    of_size: Sequence[Point],
    plain: Sequence[Point],
    cells: Sequence[CellSummary] | None,
    chip: Chip,
) -> ClassFindings:
    """The findings on one class.

    ``plain``: points with the plain code. ``cells``: all cells, to find the cause of a poor
    efficiency; None to skip the search.
    """
    return ClassFindings(
        scaling=scaling,
        threaded=_threaded(scaling.curve, of_size),
        rivals=tuple(rivals(of_size)),
        cache_effect=_cache_effect(scaling, chip),
        loss=None if cells is None else _loss(scaling, cells, chip),
        per_operation=_per_operation(scaling.curve.points[scaling.curve.most]),
        codes=code_scaling(scaling.curve, plain),
    )


def _threaded(curve: Curve, found: Sequence[Point]) -> Point | None:
    others = [p for p in leading(found) if p.summary.cell.placement.threads > 1]
    if not curve.processes or not others:
        return None
    by_cores = best_by(others, lambda point: point.cores)
    return by_cores[max(by_cores)]


def _cache_effect(scaling: ClassScaling, chip: Chip) -> CacheEffect | None:
    beyond = superlinear(scaling.speedups)
    if not beyond:
        return None
    best = max(beyond, key=lambda speedup: speedup.efficiency)
    return CacheEffect(
        best,
        tuple(speedup.most.cores for speedup in beyond),
        begins_to_fit(scaling.curve, chip, best.most.cores),
        chip.known and data_per_process(best.most) is not None,
    )


def _loss(scaling: ClassScaling, cells: Sequence[CellSummary], chip: Chip) -> ScalingLoss | None:
    """The cause of the lost time on the most cores; None if the efficiency is good."""
    if not scaling.speedups or not scaling.speedups[-1].poor:
        return None
    curve, efficiency = scaling.curve, scaling.speedups[-1].efficiency
    code = "" if code_suffix(curve) else scaling_difference(curve.kernel)
    few, most = scaling.phases.get(curve.few), scaling.phases.get(curve.most)
    if most is not None:
        # The share of a perfectly scaling phase is its share on the fewest cores times the
        # efficiency.
        before = few.communication * efficiency if few is not None else 0.0
        if most.communication - before >= _MAIN_PART * (1 - efficiency):
            return ScalingLoss("communication", most, None, code)
    stream = _stream_growth(cells, curve)
    if stream is not None and not in_cache(curve.points[curve.most], chip):
        return ScalingLoss("memory", most, stream, code)
    if most is None:
        return ScalingLoss("unknown", None, None, code)
    return ScalingLoss("computing", most, None, code, few is not None and _slower(few, most))


def _slower(few: NpbPhases, most: NpbPhases) -> bool:
    """Whether computing certainly takes more core time, summed over cores, on the most cores."""
    one, other = few.seconds.get(COMPUTE), most.seconds.get(COMPUTE)
    if one is None or other is None or one.median <= 0.0:
        return False
    value, interval = ratio(other, one)
    by = most.point.cores / few.point.cores
    found = compared(value * by, scaled(interval, by), launches=one.n + other.n)
    return found.direction == "more"


def _stream_growth(cells: Sequence[CellSummary], curve: Curve) -> StreamGrowth | None:
    """STREAM's growth from the curve's fewest cores; None if it may scale well or is unknown."""
    found = on_any_memory(points(cells, STREAM, "bandwidth"))
    triad = [p for p in found if p.parameter("op") == "triad"]
    if not triad:
        return None
    by_cores = best_by_cores(triad)
    most = max((count for count in by_cores if count <= curve.most), default=0)
    if most <= curve.few or curve.few not in by_cores:
        return None
    growth = speedup_of(by_cores[curve.few], by_cores[most])
    certainly = growth.compared(equal=POOR_EFFICIENCY * growth.perfect).direction == "less"
    return StreamGrowth(most, curve.few, growth.value) if certainly else None
