"""How results of the same cell differ from run to run: their spread, and the walltime to request.

Results of other runs of the same suite on the same machine have equal weight. The method follows
Kramer & Ryan (2003): many runs of the same codes, coefficients of variation, shapes of
distributions, and the walltime that users must request.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from assay.arrays import Floats
from assay.kernels import is_search, known_kernel
from assay.kernels.naming import cell_labels
from assay.model.cell import Cell
from assay.model.placement import Value
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.steadiness.variation.cells import (
    CellVariation,
    components_of,
    shapes_of,
    slow_runs_of,
)
from assay.questions.steadiness.variation.distributions import (
    RunHistogram,
    SurvivalCurve,
    histograms_of,
    survival_of,
)
from assay.questions.steadiness.variation.level_changes import levels_of
from assay.questions.steadiness.variation.sequences import RunSequences, sequences_of
from assay.questions.steadiness.variation.walltime import WalltimeRequest, walltimes_of
from assay.records.model import RunData
from assay.stats.changes.courses import CellCourse
from assay.stats.core.intervals import smallest_size
from assay.stats.repeats.repeats import Repeats
from assay.units import format_duration

# Minimum number of results of a cell whose spread is reported. The 95% interval of the coefficient
# of variation is 0.76 to 1.46 times its value for 20 normal results, and 0.62 to 2.45 times for 6.
MIN_RESULTS = 20
# Cells with fewer results have no reported spread, because their median has no interval.
MIN_COUNTED = smallest_size()
# Noise kernels are left out: their headline metric is a share, and noise is a separate topic.
_OTHER_TOPIC = "noise."


@dataclass(frozen=True)
class TooFewResults:
    """Cells with too few results."""

    #: Number of these cells.
    cells: int
    #: Median coefficient of variation of the cells with at least six results; None without such
    #: cells.
    cov: float | None
    #: Maximum number of results of a cell.
    most: int
    #: Minimum number of results of a cell.
    least: int


@dataclass(frozen=True)
class VariationFindings:
    """How the cells of a run vary.

    Internal, for the figures: ``histograms``, ``survival`` and ``sequences``.
    """

    #: Cells with enough results, in the plan's order.
    varied: tuple[CellVariation, ...]
    #: Cells with results, but too few; None if there are none.
    few: TooFewResults | None
    #: Number of runs that contribute results.
    runs: int
    #: Whether the run is complete.
    complete: bool
    #: Time from the first result to the last, s.
    span: float
    #: Walltimes to request, the greatest multiple of the median first.
    walltimes: tuple[WalltimeRequest, ...]
    #: Histograms of the most notable cells.
    histograms: tuple[RunHistogram, ...] = field(metadata=INTERNAL)
    #: Survival curves of the most notable cells.
    survival: tuple[SurvivalCurve, ...] = field(metadata=INTERNAL)
    #: Results of the most notable cells in order of time.
    sequences: RunSequences | None = field(metadata=INTERNAL)

    @property
    def repeats(self) -> list[Repeats]:
        """The results of each cell."""
        return [each.repeats for each in self.varied]

    @property
    def when(self) -> str:
        """``over 3 min 20 s``, ``over 8 days in 5 runs``."""
        runs = f" in {self.runs} runs" if self.runs > 1 else ""
        return f"over {format_duration(self.span)}{runs}"


def find(measured: Measured) -> VariationFindings:
    """Analyse how the cells of a run vary, with the results of earlier runs of the same suite.

    Concurrent measurements are searched for in all runs of the history.
    """
    from assay.stats.attribution.concurrent_runs import measured_beside, with_beside
    from assay.stats.repeats.repeats import joined, repeats_of

    run, history = measured.run, measured.history
    own = repeats_of(run)
    wanted = {each.cell.id for each in own if _studied(each.cell)}
    others = [
        each
        for past in history
        if past.manifest.plan.name == run.manifest.plan.name
        for each in repeats_of(_of_cells(past, wanted))
    ]
    resolved = {m.cell.id: m.record.parameters for m in run.measurements if m.record.parameters}
    together = joined([*own, *others]) if others else own
    beside = measured_beside([run, *history])
    return variation_of(
        with_beside(together, beside),
        resolved,
        complete=run.complete,
        courses=measured.courses,
        own=run.manifest.run,
    )


def variation_of(
    repeats: Sequence[Repeats],
    resolved: Mapping[str, Mapping[str, Value]] | None = None,
    *,
    complete: bool = True,
    courses: Mapping[str, CellCourse] | None = None,
    own: str = "",
) -> VariationFindings:
    """Analyse how these results vary.

    ``resolved``: by cell id, the parameters that the plan left open, as determined on the machine.
    ``complete``: whether everything requested was measured. ``courses``: the cells in the history
    of the machine, by id. ``own``: the name of the present run.
    """
    from assay.stats.core.summary import coefficient_of_variation
    from assay.stats.repeats.spread import describe

    studied = [each for each in repeats if _studied(each.cell)]
    enough = [each for each in studied if len(each) >= MIN_RESULTS]
    labels = cell_labels([each.cell for each in enough])
    rest = [each for each in studied if len(each) < MIN_RESULTS]
    counted = [each for each in rest if len(each) >= MIN_COUNTED]
    covs = [cov for each in counted if (cov := coefficient_of_variation(each.cost)) is not None]
    timed = [_times(each, (resolved or {}).get(each.cell.id, {})) for each in enough]
    spreads = [describe(times, each.utc) for each, (times, _) in zip(enough, timed, strict=True)]
    levels = levels_of(
        [(each, times) for each, (times, _) in zip(enough, timed, strict=True)], courses or {}, own
    )
    within = [
        describe(of_cell.levelled, each.utc) if of_cell.changes else None
        for each, of_cell in zip(enough, levels, strict=True)
    ]
    shapes = shapes_of(levels, [a or b for a, b in zip(within, spreads, strict=True)])
    varied = tuple(
        CellVariation(
            cell=each.cell,
            label=labels[each.cell.id],
            unit=unit,
            spread=spread,
            shape=shape,
            slow=slow_runs_of(of_cell.levelled),
            components=components_of(each),
            repeats=each,
            times=times,
            within=around,
        )
        for each, (times, unit), spread, shape, of_cell, around in zip(
            enough, timed, spreads, shapes, levels, within, strict=True
        )
    )
    utc = [each.repeats.utc for each in varied]
    return VariationFindings(
        varied=varied,
        few=_too_few(rest, covs),
        runs=len({name for each in enough for name in each.run}) or 1,
        complete=complete,
        span=max(float(u[-1]) for u in utc) - min(float(u[0]) for u in utc) if utc else 0.0,
        walltimes=tuple(walltimes_of(varied)),
        histograms=tuple(histograms_of(varied)),
        survival=tuple(survival_of(varied)),
        sequences=sequences_of(varied),
    )


def _too_few(rest: Sequence[Repeats], covs: Sequence[float]) -> TooFewResults | None:
    if not rest:
        return None
    counts = [len(each) for each in rest]
    cov = float(np.median(covs)) if covs else None
    return TooFewResults(len(rest), cov, max(counts), min(counts))


def _of_cells(run: RunData, ids: Collection[str]) -> RunData:
    """The measurements of these cells only, so that the samples of other cells are not read."""
    return replace(run, measurements=tuple(m for m in run.measurements if m.cell.id in ids))


def _studied(cell: Cell) -> bool:
    return not cell.kernel.startswith(_OTHER_TOPIC) and not is_search(cell)


def _times(repeats: Repeats, resolved: Mapping[str, Value]) -> tuple[Floats, str]:
    """Seconds of one operation and "s", or the costs over their median and ""."""
    from assay.stats.cells.summarise import LeftOut, work_of

    kernel = known_kernel(repeats.cell.kernel)
    metric = kernel.metric(repeats.metric) if kernel else None
    if repeats.better == "less" and repeats.unit == "s":
        return repeats.cost, "s"
    if kernel is not None and metric is not None and metric.quantity is not None:
        try:
            work = work_of(kernel, metric.quantity, repeats.cell, resolved)
        except LeftOut:
            pass
        else:
            return repeats.cost * work, "s"
    return np.asarray(repeats.cost / np.median(repeats.cost)), ""
