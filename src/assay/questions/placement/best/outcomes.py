"""The outcome of each search for the best placement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.model.cell import Cell
from assay.models.placement.candidates import PlacementSearch, placement_searches
from assay.models.placement.search import SearchRule, SearchStatus
from assay.questions.common.findings import INTERNAL
from assay.questions.common.selection import Point, points
from assay.questions.placement.best.disturbance import OtherLoad, other_load
from assay.questions.placement.ratios.findings import PlacementRatio, compare
from assay.questions.placement.works import METRIC, costs_of, is_plain
from assay.records.model import RunData
from assay.stats.cells.summarise import launch_value
from assay.stats.compare.chosen import chosen_estimate
from assay.stats.core.intervals import Estimate
from assay.stats.core.model import CellSummary


@dataclass(frozen=True)
class PlacementOutcome:
    """The outcome of a search for the best placement."""

    #: Search of the plan.
    search: PlacementSearch = field(metadata=INTERNAL)
    #: State of the search: its choice and probability.
    status: SearchStatus = field(metadata=INTERNAL)
    #: First candidate; all candidates do the same work.
    work: Cell
    #: The stop rule of the search.
    rule: SearchRule
    #: Chosen candidate; None if no candidate could be measured.
    best: Cell | None
    #: Measured time of the chosen candidate.
    point: Point | None
    #: Probability that the chosen candidate is within the rule's ``within`` of the best.
    probability: float
    #: Whether the required probability and number of launches were reached.
    settled: bool
    #: Number of candidates.
    candidates: int
    #: Number of measured candidates.
    tried: int
    #: Number of launches of the measured candidates.
    measurements: int
    #: Number of launches of an exhaustive search, with the plan's minimum per candidate.
    exhaustive: int
    #: Candidates that can't be chosen, and the reason of each.
    failed: list[tuple[Cell, str]]
    #: The points of candidates by cell id.
    measured: Mapping[str, Point] = field(metadata=INTERNAL)
    #: One rank per node at a plain placement; None if not measured.
    one: Point | None = None
    #: Most ranks per node at a plain placement; None if not measured.
    full: Point | None = None
    #: Performance of the chosen candidate over ``one``.
    over_one: PlacementRatio | None = None
    #: Performance of the chosen candidate over ``full``.
    over_full: PlacementRatio | None = None
    #: Time of the chosen candidate, s, corrected for the choice among ``among`` comparable
    #: candidates (``chosen_estimate``).
    time: Estimate | None = None
    #: Number of comparable placements from which this one was chosen; 1 if it was clearly the best.
    among: int = 1
    #: Load by other processes; None if unknown.
    others: OtherLoad | None = None
    #: Whether there is a verdict: the search is settled, and other processes kept few CPUs busy.
    decided: bool = False

    @property
    def disturbed(self) -> bool:
        """Whether other processes kept too many CPUs busy for a verdict."""
        return self.others is not None and self.others.substantial


def relative_launches(outcome: PlacementOutcome) -> str:
    """Launches relative to an exhaustive search: ``25%``; ``6.0 times`` if there are more."""
    ratio = outcome.measurements / outcome.exhaustive
    return f"{ratio:.0%}" if ratio < 0.995 else f"{ratio:.1f} times"


def find_outcomes(cells: Sequence[CellSummary], run: RunData) -> list[PlacementOutcome]:
    """The present outcome of each search of the run's plan, in the plan's order."""
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
    # A cell with an impossible number has no summary here (``common.gate``).
    impossible = dict.fromkeys(search.ids - summaries.keys(), "its number is impossible")
    failed = {**failed, **impossible}
    status = search.find(costs, failed.keys())
    best = None if status.chosen is None else search.cells[status.chosen]
    point = None if best is None else _point(summaries[best.id])
    plain = [cell for cell in search.cells if is_plain(cell)]
    most = max((cell.placement.ppn for cell in plain), default=1)
    one, full = (_point_with(ppn, plain, summaries) for ppn in (1, most))
    tried = [cell for cell in search.cells if cell.id in costs and cell.id not in failed]
    kernel = search.cells[0].kernel
    time, among = None, 1
    if best is not None and point is not None:
        own = Estimate(point.metric.median, point.metric.ci95)
        values = [list(costs[cell.id].values()) for cell in tried]
        found = chosen_estimate(own, values, tried.index(best))
        time, among = Estimate(found.value, found.interval), found.among
    others = other_load(search, {cell.id for cell in tried}, run)
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
        over_one=gain_over(point, one, time),
        over_full=gain_over(point, full, time),
        time=time,
        among=among,
        others=others,
        decided=status.settled and (others is None or not others.substantial),
    )


def gain_over(
    point: Point | None, other: Point | None, time: Estimate | None = None
) -> PlacementRatio | None:
    """Performance at one point over another; None if one is missing or both are equal.

    ``time``: time at the first point if it differs from the median of its launches.
    """
    if point is None or other is None or point.summary.id == other.summary.id:
        return None
    return compare(point, other, time)


def _point_with(
    ppn: int, cells: Sequence[Cell], summaries: Mapping[str, CellSummary]
) -> Point | None:
    """The point of the first cell with this many ranks per node; None if not measured."""
    for cell in cells:
        if cell.placement.ppn == ppn and cell.id in summaries:
            return _point(summaries[cell.id])
    return None


def _point(summary: CellSummary) -> Point | None:
    usable = summary.status == "ok" and summary.verified is not False
    return Point(summary, summary.metrics[METRIC]) if usable and METRIC in summary.metrics else None


def failures(run: RunData, cells: Sequence[CellSummary]) -> dict[str, str]:
    """Why each cell failed: in any launch, or with a wrong result; by cell id."""
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
