"""The outcome of each search for the best placement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.model.cell import Cell
from assay.models.placement.candidates import PlacementSearch, placement_searches
from assay.models.placement.search import SearchRule, SearchStatus
from assay.questions.common.findings import INTERNAL
from assay.questions.common.selection import Point, points
from assay.questions.placement.ratios.findings import PlacementRatio, compare
from assay.questions.placement.works import METRIC, costs_of, is_plain
from assay.records.model import RunData
from assay.stats.cells.summarise import launch_value
from assay.stats.core.model import CellSummary


@dataclass(frozen=True)
class PlacementOutcome:
    """How a search for the best placement ended.

    ``work``: a cell that stands for the work, which all candidates have in common. ``rule``: when
    the search ends. ``best``: the chosen one; None where none could be measured. ``point``: its
    time. ``probability``: that it is within the rule's ``within`` of the best; ``settled``: that
    this is as much as required, with as many launches. ``candidates``: how many there are;
    ``tried`` of them were measured, in ``measurements``, where all with as many launches as the
    plan's minimum take ``exhaustive``. ``failed``: candidates that can't be chosen, and why.
    ``measured``: the points of candidates by cell id. ``one``, ``full``: one rank per node, and the
    most ranks per node, at plain placements; None where not measured. ``over_one``, ``over_full``:
    the performance of the chosen one over these.
    """

    search: PlacementSearch = field(metadata=INTERNAL)
    status: SearchStatus = field(metadata=INTERNAL)
    work: Cell
    rule: SearchRule
    best: Cell | None
    point: Point | None
    probability: float
    settled: bool
    candidates: int
    tried: int
    measurements: int
    exhaustive: int
    failed: list[tuple[Cell, str]]
    measured: Mapping[str, Point] = field(metadata=INTERNAL)
    one: Point | None = None
    full: Point | None = None
    over_one: PlacementRatio | None = None
    over_full: PlacementRatio | None = None


def find_outcomes(cells: Sequence[CellSummary], run: RunData) -> list[PlacementOutcome]:
    """Every search of the run's plan, in its order, with its present status."""
    searches = placement_searches(run.manifest.plan)
    if not searches:
        return []
    costs = costs_of(run)
    summaries = {cell.id: cell for cell in cells}
    failed = failures(run, cells)
    return [_outcome(search, summaries, costs, failed, run) for search in searches]


def _outcome(
    search: PlacementSearch,
    summaries: Mapping[str, CellSummary],
    costs: Mapping[str, Mapping[int, float]],
    failed: Mapping[str, str],
    run: RunData,
) -> PlacementOutcome:
    status = search.find(costs, failed.keys())
    best = None if status.chosen is None else search.cells[status.chosen]
    point = None if best is None else _point(summaries[best.id])
    plain = [cell for cell in search.cells if is_plain(cell)]
    most = max((cell.placement.ppn for cell in plain), default=1)
    one, full = (
        next((_point(summaries[cell.id]) for cell in plain if cell.placement.ppn == ppn), None)
        for ppn in (1, most)
    )
    tried = [cell for cell in search.cells if cell.id in costs and cell.id not in failed]
    kernel = search.cells[0].kernel
    return PlacementOutcome(
        search=search,
        status=status,
        work=search.cells[0],
        rule=search.rule,
        best=best,
        point=point,
        probability=status.probability,
        settled=status.settled,
        candidates=len(search.cells),
        tried=len(tried),
        measurements=sum(len(costs[cell.id]) for cell in tried),
        exhaustive=len(search.cells) * run.manifest.plan.replication.min_launches,
        failed=[(cell, failed[cell.id]) for cell in search.cells if cell.id in failed],
        measured={
            found.summary.id: found
            for found in points(list(summaries.values()), kernel, METRIC)
            if found.summary.id in search.ids
        },
        one=one,
        full=full,
        over_one=gain_over(point, one),
        over_full=gain_over(point, full),
    )


def gain_over(point: Point | None, other: Point | None) -> PlacementRatio | None:
    """Performance at one point over that at another; None where either is missing or both same."""
    if point is None or other is None or point.summary.id == other.summary.id:
        return None
    return compare(point, other)


def _point(summary: CellSummary) -> Point | None:
    usable = summary.status == "ok" and summary.verified is not False
    return Point(summary, summary.metrics[METRIC]) if usable and METRIC in summary.metrics else None


def failures(run: RunData, cells: Sequence[CellSummary]) -> dict[str, str]:
    """The cells that failed in any launch, or were not verified, by id, and why."""
    known = {cell.id for cell in cells}
    found = {}
    for measurement in run.measurements:
        record = measurement.record
        if record.status == "failed":
            found[measurement.cell.id] = record.error or "it failed"
        elif record.verified is False:
            found[measurement.cell.id] = "its result was wrong"
        elif launch_value(measurement) is None:
            found[measurement.cell.id] = "it has no time"
    for launch in run.launches:
        if launch.outcome in ("crash", "timeout") and launch.blamed:
            found.setdefault(launch.blamed.rpartition("-")[0], launch.error or launch.outcome)
    return {name: why for name, why in found.items() if name in known}
