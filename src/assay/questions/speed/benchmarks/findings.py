"""What a run holds of the NAS Parallel Benchmarks: rates, scaling, and what limits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from assay.kernels.naming import benchmark_codes, kernel_name
from assay.kernels.npb import CLASS_ORDER
from assay.model.placement import Placement
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.selection import (
    Point,
    best_by,
    leading,
    on_any_memory,
    points,
    rivals,
)
from assay.questions.common.speedups import Speedup
from assay.questions.speed.benchmarks.phases import NpbPhases, npb_phases
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
from assay.stats.core.model import CellSummary

PROCESSES = "processes"
# Parallel efficiency below which the cause is looked for.
POOR_EFFICIENCY = 0.75
# Share of the lost time from which communication counts as its cause.
_MAIN_PART = 0.5


@dataclass(frozen=True)
class StreamGrowth:
    """STREAM triad on ``cores`` cores: ``ratio`` of its bandwidth to that on ``base`` cores."""

    cores: int
    base: int
    ratio: float


@dataclass(frozen=True)
class ScalingLoss:
    """Why the parallel efficiency on the most cores is poor.

    ``cause``: ``communication`` where its share of the time beyond that on the fewest cores is at
    least half of the loss; else ``memory`` where STREAM scales as poorly and the data are not in
    cache; else ``computing`` where phases were timed; else ``unknown``. ``phases``: on the most
    cores, None where none were timed. ``stream``: None unless memory is the cause.
    """

    cause: Literal["communication", "memory", "computing", "unknown"]
    phases: NpbPhases | None
    stream: StreamGrowth | None


@dataclass(frozen=True)
class CacheEffect:
    """Superlinear speedup, and whether caches account for it.

    ``best``: the superlinear speedup with the highest efficiency. ``counts``: of cores with a
    superlinear speedup, ascending. ``fit``: from which count on the data of a process fit into its
    share of a cache, None where they do from no count. ``sizes_known``: whether the sizes of data
    and caches are known.
    """

    best: Speedup
    counts: tuple[int, ...]
    fit: ScalingFit | None
    sizes_known: bool


@dataclass(frozen=True)
class ClassScaling:
    """One class of a benchmark over counts of cores.

    ``curve``: the best point at each count. ``speedups``: over the fewest cores, ascending.
    ``phases``: where the time goes, by count of cores, where phases were timed.
    """

    curve: Curve
    speedups: tuple[Speedup, ...]
    phases: Mapping[int, NpbPhases]

    @property
    def title(self) -> str:
        """``CG class B``."""
        return f"{kernel_name(self.curve.kernel)} class {self.curve.size}"


@dataclass(frozen=True)
class ClassFindings:
    """One class of a benchmark, as the answer judges it.

    ``scaling``: over counts of cores. ``threaded``: where the curve is over processes, the best
    point with several threads per rank on the most cores. ``rivals``: the best point of each other
    toolchain on its most cores. ``cache_effect``: None where no speedup is superlinear. ``loss``:
    of the largest class alone, None where its efficiency is good or not known.
    """

    scaling: ClassScaling
    threaded: Point | None
    rivals: tuple[Point, ...]
    cache_effect: CacheEffect | None
    loss: ScalingLoss | None


@dataclass(frozen=True)
class RateLine:
    """The best points over counts of cores, ascending, of one class, kind and toolchain.

    ``kind``: what uses the cores, such as ``processes`` or ``threads``.
    """

    size: str
    kind: str
    toolchain: str
    points: Mapping[int, Point]


@dataclass(frozen=True)
class BenchmarkFindings:
    """One benchmark.

    ``kernel``: its name in the catalogue. ``title``: for people. ``classes``: the largest first;
    candidates of a placement search (few launches each) are left out. ``measured``, ``lines`` and
    ``drawn``: all points, and lines and curves through them, candidates included, for figures and
    tables.
    """

    kernel: str
    title: str
    classes: tuple[ClassFindings, ...]
    measured: tuple[Point, ...] = field(metadata=INTERNAL)
    lines: tuple[RateLine, ...] = field(metadata=INTERNAL)
    drawn: tuple[ClassScaling, ...] = field(metadata=INTERNAL)


@dataclass(frozen=True)
class BenchmarksFindings:
    """The NAS Parallel Benchmarks. ``benchmarks``: those measured, in the catalogue's order."""

    benchmarks: tuple[BenchmarkFindings, ...]


def find(measured: Measured) -> BenchmarksFindings | None:
    """What was measured of the NPB; None if no usable cell measured any.

    ``measured``: with the candidates of a placement search, if there was one.
    """
    judged = measured.without_candidates()
    chip = chip_of(measured.run)
    found = []
    for kernel, title in benchmark_codes().items():
        drawn = points(measured.cells, kernel, "rate")
        if not drawn:
            continue
        scalings = _scalings(drawn, kernel)
        own = drawn if judged is measured else points(judged.cells, kernel, "rate")
        of_own = scalings if own is drawn else _scalings(own, kernel)
        classes = by_class(own)
        found.append(
            BenchmarkFindings(
                kernel,
                title,
                tuple(
                    _class_findings(
                        scaling,
                        classes[scaling.curve.size],
                        judged.cells if number == 0 else None,
                        chip,
                    )
                    for number, scaling in enumerate(of_own)
                ),
                tuple(drawn),
                _lines(drawn),
                scalings,
            )
        )
    return BenchmarksFindings(tuple(found)) if found else None


def _lines(found: Sequence[Point]) -> tuple[RateLine, ...]:
    """Large classes first, then plain processes, then other kinds by name."""
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
    """What uses the cores: processes, the threads of each, or both; and how many per node."""
    if placement.threads == 1:
        return PROCESSES if placement.nodes == 1 else f"{PROCESSES}, {placement.ppn} per node"
    if placement.ranks == 1:
        return "threads"
    return f"{PROCESSES} of {placement.threads} threads"


def _scalings(found: Sequence[Point], kernel: str) -> tuple[ClassScaling, ...]:
    """Each class of one benchmark's points, the largest first."""
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
    cells: Sequence[CellSummary] | None,
    chip: Chip,
) -> ClassFindings:
    """One class. ``cells``: of the run, if the cause of a poor efficiency is to be found."""
    return ClassFindings(
        scaling,
        _threaded(scaling.curve, of_size),
        tuple(rivals(of_size)),
        _cache_effect(scaling, chip),
        None if cells is None else _loss(scaling, cells, chip),
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
    """What takes the time that is lost on the most cores; None where the efficiency is good."""
    if not scaling.speedups or scaling.speedups[-1].efficiency >= POOR_EFFICIENCY:
        return None
    curve, efficiency = scaling.curve, scaling.speedups[-1].efficiency
    few, most = scaling.phases.get(curve.few), scaling.phases.get(curve.most)
    if most is not None:
        # With perfect scaling each phase would take its share of before in as much less time.
        before = few.communication * efficiency if few is not None else 0.0
        if most.communication - before >= _MAIN_PART * (1 - efficiency):
            return ScalingLoss("communication", most, None)
    stream = _stream_growth(cells, curve)
    if stream is not None and not in_cache(curve.points[curve.most], chip):
        return ScalingLoss("memory", most, stream)
    return ScalingLoss("computing" if most is not None else "unknown", most, None)


def _stream_growth(cells: Sequence[CellSummary], curve: Curve) -> StreamGrowth | None:
    """STREAM over the curve's counts of cores; None where it scales well or was not measured."""
    found = on_any_memory(points(cells, STREAM, "bandwidth"))
    triad = [p for p in found if p.parameter("op") == "triad"]
    if not triad:
        return None
    by_cores = best_by(leading(triad), lambda point: point.cores)
    most = max((count for count in by_cores if count <= curve.most), default=0)
    if most <= curve.few or curve.few not in by_cores:
        return None
    ratio = by_cores[most].metric.median / by_cores[curve.few].metric.median
    poor = ratio / (most / curve.few) < POOR_EFFICIENCY
    return StreamGrowth(most, curve.few, ratio) if poor else None
