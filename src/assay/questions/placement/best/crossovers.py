"""Crossovers: problem sizes and numbers of nodes at which the best placement changes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from assay.kernels.naming import cell_name, kernel_name
from assay.model.placement import Placement
from assay.questions.common.findings import INTERNAL
from assay.questions.common.selection import Point
from assay.questions.placement.best.choices import estimate_ratio
from assay.questions.placement.best.outcomes import PlacementOutcome
from assay.questions.placement.works import size_of, works_of
from assay.stats.core.intervals import Estimate
from assay.stats.core.model import CellSummary
from assay.units import counted

# Maximum number of doublings of nodes over which a shrinking lead is extrapolated.
_DOUBLINGS = 2.0
# A trend needs measurements on at least this many different numbers of nodes.
_MIN_STAGES = 3

Axis = Literal["sizes", "nodes"]


@dataclass(frozen=True)
class CrossoverStage:
    """One problem size, or one number of nodes, and the times of the placements there."""

    #: Position on the axis: the index of the size among its choices, or nodes.
    level: float
    #: Size or number of nodes, as text.
    name: str
    #: Seconds by placement, with the number of nodes set to 1.
    times: Mapping[Placement, Estimate] = field(metadata=INTERNAL)
    #: Placements that were measured, not estimated by the search.
    measured: frozenset[Placement] = field(metadata=INTERNAL)


@dataclass(frozen=True)
class Crossover:
    """From stage ``before`` to ``after`` the best placement changes from ``old`` to ``new``."""

    #: The stage before the change.
    before: CrossoverStage
    #: The stage after the change.
    after: CrossoverStage
    #: The best placement at ``before``.
    old: Placement
    #: The best placement at ``after``.
    new: Placement
    #: Performance of the new placement over the old one at ``after``, with a 95% interval.
    gain: Estimate
    #: Performance of the old placement over the new one at ``before``, with a 95% interval.
    loss: Estimate
    #: Whether both 95% intervals are above 1.
    sure: bool
    #: Whether one of these times was estimated by the search, not measured.
    estimated: bool


@dataclass(frozen=True)
class ShrinkingLead:
    """A lead of ``best`` over ``other`` that shrinks with the number of nodes."""

    #: The placement that leads.
    best: Placement
    #: The placement that catches up.
    other: Placement
    #: Performance of ``best`` over ``other`` on the smallest number of nodes.
    first: Estimate
    #: Performance of ``best`` over ``other`` on the largest number of nodes.
    last: Estimate
    #: Extrapolated number of nodes at which the ratio reaches 1.
    end: float


@dataclass(frozen=True)
class CrossoverSeries:
    """The best placement of a work (``name``) along an ``axis``, by ascending ``stages``."""

    #: Name of the work.
    name: str
    #: Quantity that changes from stage to stage: problem size or number of nodes.
    axis: Axis
    #: Stages in ascending order of size or number of nodes.
    stages: list[CrossoverStage]
    #: Best placement at the last stage, among the placements known at every stage.
    best: Placement
    #: Changes of the best placement between neighbouring stages.
    crossovers: list[Crossover]
    #: Lead that shrinks with the number of nodes; None if no lead shrinks at every stage.
    lead: ShrinkingLead | None


def find_series(
    axis: Axis, lines: Sequence[tuple[str, list[CrossoverStage]]]
) -> list[CrossoverSeries]:
    """A series for each work with two or more placements that are known at every stage."""
    found = []
    for name, stages in lines:
        common = [one for one in stages[-1].times if all(one in stage.times for stage in stages)]
        if len(common) > 1:
            best = best_of(stages[-1], common)
            lead = _lead(stages, best, common) if axis == "nodes" else None
            found.append(
                CrossoverSeries(
                    name=name,
                    axis=axis,
                    stages=stages,
                    best=best,
                    crossovers=crossovers(stages),
                    lead=lead,
                )
            )
    return found


def crossovers(stages: Sequence[CrossoverStage]) -> list[Crossover]:
    """Neighbouring stages with different best placements, among the placements known at both."""
    found = []
    for before, after in itertools.pairwise(stages):
        common = [one for one in before.times if one in after.times]
        if len(common) < 2:
            continue
        old, new = best_of(before, common), best_of(after, common)
        if old == new:
            continue
        gain = estimate_ratio(after.times[old], after.times[new])
        loss = estimate_ratio(before.times[new], before.times[old])
        sure = all(one.interval is not None and one.interval[0] > 1.0 for one in (gain, loss))
        estimated = old not in after.measured or new not in before.measured
        found.append(
            Crossover(
                before=before,
                after=after,
                old=old,
                new=new,
                gain=gain,
                loss=loss,
                sure=sure,
                estimated=estimated,
            )
        )
    return found


def best_of(stage: CrossoverStage, among: Sequence[Placement]) -> Placement:
    """The fastest of these placements at a stage; measured ones take precedence."""
    measured = [one for one in among if one in stage.measured]
    return min(measured or among, key=lambda one: stage.times[one].value)


def size_stages(outcomes: Sequence[PlacementOutcome]) -> list[tuple[str, list[CrossoverStage]]]:
    """Name and stages of each benchmark that was searched at several sizes on the most nodes."""
    most = max((outcome.work.placement.nodes for outcome in outcomes), default=1)
    groups: dict[tuple[str, str, str, int], list[CrossoverStage]] = {}
    for outcome in outcomes:
        work = outcome.work
        size = size_of(work)
        if size is None or outcome.point is None or work.placement.nodes < most:
            continue
        others = sorted((k, str(v)) for k, v in work.parameters.items() if k != "class")
        key = (work.kernel, work.toolchain, str(others), work.placement.node_set)
        groups.setdefault(key, []).append(_size_stage(outcome, size))
    return [
        (_benchmark_name(key[0], most), sorted(stages, key=lambda stage: stage.level))
        for key, stages in groups.items()
        if len(stages) > 1
    ]


def node_stages(cells: Sequence[CellSummary]) -> list[tuple[str, list[CrossoverStage]]]:
    """Name and stages of each work that ran with several ranks per node on several node counts.

    Only plain placements are used; these are measured on each number of nodes.
    """
    found = []
    for work in works_of(cells):
        by_nodes: dict[int, dict[Placement, Estimate]] = {}
        for point in work:
            placement = point.summary.cell.placement
            times = by_nodes.setdefault(placement.nodes, {})
            times[_on_one_node(placement)] = _time(point)
        stages = [
            CrossoverStage(nodes, counted(nodes, "node"), times, frozenset(times))
            for nodes, times in sorted(by_nodes.items())
            if len(times) > 1
        ]
        if len(stages) > 1:
            found.append((cell_name(work[0].summary.cell), stages))
    return found


def _size_stage(outcome: PlacementOutcome, size: float) -> CrossoverStage:
    """The times of a search's candidates; the search estimates those that were not measured."""
    failed = {cell.id for cell, _ in outcome.failed}
    status = outcome.status
    times = {}
    measured = set()
    for place, cell in enumerate(outcome.search.cells):
        point = outcome.measured.get(cell.id)
        if cell.id in failed:
            continue
        placement = _on_one_node(cell.placement)
        if point is not None:
            times[placement] = _time(point)
            measured.add(placement)
        elif math.isfinite(float(status.median[place])):
            interval = (float(status.low[place]), float(status.high[place]))
            times[placement] = Estimate(float(status.median[place]), interval)
    name = f"class {outcome.work.parameters['class']}"
    return CrossoverStage(size, name, times, frozenset(measured))


def _time(point: Point) -> Estimate:
    return Estimate(point.metric.median, point.metric.ci95)


def _on_one_node(placement: Placement) -> Placement:
    return msgspec.structs.replace(placement, nodes=1, node_set=0)


def _benchmark_name(kernel: str, nodes: int) -> str:
    name = kernel_name(kernel)
    return name if nodes == 1 else f"{name} on {nodes} nodes"


def _lead(
    stages: Sequence[CrossoverStage], best: Placement, among: Sequence[Placement]
) -> ShrinkingLead | None:
    """The shrinking lead that ends at the smallest number of nodes."""
    if len(stages) < _MIN_STAGES:
        return None
    found = []
    for other in among:
        leads = [estimate_ratio(stage.times[other], stage.times[best]) for stage in stages]
        end = _end_of_lead([stage.level for stage in stages], leads)
        if other != best and end is not None:
            found.append(ShrinkingLead(best, other, leads[0], leads[-1], end))
    return min(found, key=lambda lead: lead.end, default=None)


def _end_of_lead(nodes: Sequence[float], leads: Sequence[Estimate]) -> float | None:
    """The number of nodes at which a shrinking lead reaches 1.

    Extrapolated by the line through its logarithm at the first and the last number of nodes. None
    if the lead doesn't shrink at each step, if the two intervals overlap, or if the end is more
    than ``_DOUBLINGS`` away.
    """
    values = [lead.value for lead in leads]
    first, last = leads[0].interval, leads[-1].interval
    if any(b >= a for a, b in itertools.pairwise(values)) or min(values) <= 1.0:
        return None
    if first is None or last is None or last[1] >= first[0]:
        return None
    doublings = math.log2(nodes[-1] / nodes[0])
    slope = math.log(values[0] / values[-1]) / doublings
    more = math.log(values[-1]) / slope
    return nodes[-1] * 2.0**more if more <= _DOUBLINGS else None
