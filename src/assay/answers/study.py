"""What "how steady is it" rests on: each cell's results over time, and how they spread.

Results of other runs of the same suite on the same machine count as much as the run's own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from assay.answers.benchmarks import TITLES
from assay.kernels import is_search, known_kernel, parameters_text
from assay.plans.model import Cell, Value
from assay.records.model import RunData
from assay.stats.intervals import Floats, smallest_size
from assay.units import counted, format_duration

if TYPE_CHECKING:
    from assay.stats.modes import Mode
    from assay.stats.repeats import Repeats
    from assay.stats.spread import Spread

# Fewest results of a cell whose spread is spoken of. The coefficient of variation of twenty normal
# results is known to between 0.76 and 1.46 times itself, of six to between 0.62 and 2.45 times.
ENOUGH = 20
# Fewer results aren't even counted: they carry no interval of the median either.
FEW = smallest_size()
# Chance that anything at all is claimed of the tails, or of the trends, of a run without any.
ALPHA = 0.01
# Greatest p of the dip test that counts: the least that its table knows, and a rounding error.
MODES_P = 0.001
_EPSILON = 1e-9
# Letters of a rank order that are told.
_LONG = 16
# Of noise the headline is a share, which varies in its own way and has its own part.
_APART = "noise."


@dataclass(frozen=True)
class Shape:
    """What is claimed of a cell's distribution, all cells of the study considered.

    ``modes``: two or more, or none; ``long_tail``: more slow runs far out than a bell curve has;
    ``drifts``: a trend in time.
    """

    modes: tuple[Mode, ...] = ()
    long_tail: bool = False
    drifts: bool = False

    def __bool__(self) -> bool:
        return bool(self.modes) or self.long_tail or self.drifts


@dataclass(frozen=True)
class Varied:
    """One cell that was measured often enough.

    ``times``: s of one operation, one a measurement, in order of time; in ``unit`` "" they are
    relative to their median, where an operation's work isn't known. ``label`` tells the cell from
    the others of the study. ``shape``: what sets it apart from a bell curve for sure.
    """

    repeats: Repeats
    label: str
    times: Floats
    unit: str
    spread: Spread
    shape: Shape

    @property
    def cell(self) -> Cell:
        """The cell."""
        return self.repeats.cell

    @cached_property
    def slower(self) -> Floats:
        """By which share of the median each is slower; negative is faster."""
        return np.asarray(self.times / np.median(self.times) - 1.0)


@dataclass(frozen=True)
class Study:
    """All cells of a run that can be studied.

    ``varied``: those measured often enough, in the plan's order. ``few``: how many cells were
    measured at least six times, and yet too rarely, with the median of their coefficients of
    variation and the greatest of their numbers of measurements. ``runs``: how many runs take part.
    ``complete``: whether the run is.
    """

    varied: tuple[Varied, ...]
    few: Few | None
    runs: int
    complete: bool

    @property
    def span(self) -> float:
        """Seconds from the first result to the last."""
        utc = [each.repeats.utc for each in self.varied]
        return max(float(u[-1]) for u in utc) - min(float(u[0]) for u in utc) if utc else 0.0

    @property
    def when(self) -> str:
        """``over 3 min 20 s``, ``over 8 days in 5 runs``."""
        runs = f" in {self.runs} runs" if self.runs > 1 else ""
        return f"over {format_duration(self.span)}{runs}"


@dataclass(frozen=True)
class Few:
    """Cells with too few results: how many, their median CoV, and the most results of one."""

    cells: int
    cov: float
    most: int


def study(run: RunData, history: Sequence[RunData] = ()) -> Study:
    """The study of a run; of ``history``, those runs count that are of the same suite.

    What ran beside a measurement is looked for in all of them.
    """
    from assay.stats.beside import measured_beside, with_beside
    from assay.stats.repeats import joined, repeats_of

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
    return study_of(with_beside(together, beside), resolved, complete=run.complete)


def study_of(
    repeats: Sequence[Repeats],
    resolved: Mapping[str, Mapping[str, Value]] | None = None,
    *,
    complete: bool = True,
) -> Study:
    """The study of such results, however they were found.

    ``resolved``: the parameters of cells, by id, as they were found on the machine, where the plan
    left them open. ``complete``: whether all that was asked for was measured.
    """
    from assay.stats.spread import describe
    from assay.stats.summary import coefficient_of_variation

    found = [each for each in repeats if _studied(each.cell)]
    enough = [each for each in found if len(each) >= ENOUGH]
    labels = labels_of([each.cell for each in enough])
    rest = [each for each in found if FEW <= len(each) < ENOUGH]
    covs = [cov for each in rest if (cov := coefficient_of_variation(each.cost)) is not None]
    timed = [_times(each, (resolved or {}).get(each.cell.id, {})) for each in enough]
    spreads = [describe(times, each.utc) for each, (times, _) in zip(enough, timed, strict=True)]
    shapes = shapes_of([times for times, _ in timed], spreads)
    return Study(
        varied=tuple(
            Varied(each, labels[each.cell.id], times, unit, spread, shape)
            for each, (times, unit), spread, shape in zip(
                enough, timed, spreads, shapes, strict=True
            )
        ),
        few=Few(len(covs), float(np.median(covs)), max(map(len, rest))) if covs else None,
        runs=len({name for each in enough for name in each.run}) or 1,
        complete=complete,
    )


def _of_cells(run: RunData, ids: Collection[str]) -> RunData:
    """The measurements of these cells alone: the samples of the others needn't be read."""
    return replace(run, measurements=tuple(m for m in run.measurements if m.cell.id in ids))


def _studied(cell: Cell) -> bool:
    return not cell.kernel.startswith(_APART) and not is_search(cell)


def shapes_of(times: Sequence[Floats], spreads: Sequence[Spread]) -> list[Shape]:
    """What can be claimed of each cell, so that of a hundred clean runs one is spoken ill of.

    Tails and trends: Holm's correction over all cells, at ``ALPHA`` each. Modes: the dip test at
    its table's end, which a uniform distribution reaches once in a thousand cells and bell curves
    far more rarely; a correction would leave no cell of eleven or more a chance.
    """
    from assay.stats.modes import dip, dip_p
    from assay.stats.multiple import corrected
    from assay.stats.tails import long_tail_p

    tails = corrected([long_tail_p(each.tail.right, each.n) for each in spreads])
    trends = corrected([each.trend.p if each.trend else 1.0 for each in spreads])
    return [
        Shape(
            modes=tuple(each.modes)
            if len(each.modes) > 1 and dip_p(dip(values), each.n) <= MODES_P + _EPSILON
            else (),
            long_tail=bool(tail <= ALPHA) and each.tail.right > each.tail.left,
            drifts=bool(drift <= ALPHA),
        )
        for values, each, tail, drift in zip(times, spreads, tails, trends, strict=True)
    ]


def _times(repeats: Repeats, resolved: Mapping[str, Value]) -> tuple[Floats, str]:
    """Seconds of one operation and "s", or the costs over their median and ""."""
    from assay.stats.cells import LeftOut, work_of

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


def title_of(cell: Cell) -> str:
    """``LU class W``, ``memory.stream op=triad``: kernel and parameters."""
    words = parameters_text(cell)
    if cell.kernel in TITLES:
        return f"{TITLES[cell.kernel]} {words.replace('class=', 'class ')}".rstrip()
    return f"{cell.kernel} {words}".rstrip()


def labels_of(cells: Sequence[Cell]) -> Mapping[str, str]:
    """A name for each cell, by id: no longer than it takes to tell it from the others."""
    made: dict[str, str] = {}
    for cell in cells:
        same = [other for other in cells if other.kernel == cell.kernel]
        title = title_of(cell)
        if cell.kernel in TITLES and len({title_of(other) for other in same}) == 1:
            title = TITLES[cell.kernel]
        alike = [other for other in same if other.parameters == cell.parameters]
        alone = len({other.placement.nodes for other in alike}) == 1
        words = [
            word
            for place, word in enumerate(_placed(cell, alone))
            if len({_placed(other, alone)[place] for other in alike}) > 1
        ]
        sets = {other.placement.node_set for other in alike if _nodes(other) == _nodes(cell)}
        if len(sets) > 1:
            words.append(f"node set {cell.placement.node_set}")
        made[cell.id] = " ".join([title, *words])
    return made


def _nodes(cell: Cell) -> int:
    return cell.placement.nodes


def _placed(cell: Cell, alone: bool) -> tuple[str, ...]:
    """What tells a cell's placement and toolchain from others, each in a few words.

    ``alone``: the number of nodes is the same for all, so that ranks tell the rest.
    """
    placement = cell.placement
    long = len(placement.order) > _LONG
    order = f"{placement.order[:_LONG]}…" if long else placement.order
    return (
        f"on {counted(placement.nodes, 'node')}",
        f"on {counted(placement.ranks, 'rank')}" if alone else f"{placement.ppn} per node",
        f"with {counted(placement.threads, 'thread')}",
        f"in {order} order",
        f"{placement.binding} binding",
        f"SMT {placement.smt}",
        f"over {placement.adapter or 'any adapter'}",
        f"by {cell.toolchain}",
    )
