"""The best placement of each work for speed, for cost and for energy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.model.cell import Cell
from assay.questions.common.selection import Point, points, scaled
from assay.questions.placement.best.energy import Energy
from assay.questions.placement.best.outcomes import PlacementOutcome, gain_over
from assay.questions.placement.ratios.findings import PlacementRatio
from assay.questions.placement.works import METRIC, work_key
from assay.stats.compare.chosen import chosen_estimate
from assay.stats.core.intervals import Estimate, ratio_interval
from assay.stats.core.model import CellSummary

Aim = Literal["speed", "cost", "energy"]
AIMS: tuple[Aim, ...] = ("speed", "cost", "energy")


@dataclass(frozen=True)
class PlacementChoice:
    """The best placement of a work for one aim."""

    #: Aim of the choice: speed, cost or energy.
    aim: Aim
    #: Measured cell of the placement.
    point: Point
    #: Cost of one execution: seconds for speed, node-seconds for cost, joules for energy.
    amount: Estimate
    #: Ratio of this amount to the amount of the fastest placement; None for the fastest itself.
    over: Estimate | None
    #: Ratio of this placement's time to the time of the fastest; None for the fastest itself.
    slower: Estimate | None
    #: Performance over one rank per node on the same number of nodes; None if that is this
    #: placement or was not measured.
    over_one: PlacementRatio | None = None
    #: Performance over one rank per core on the same number of nodes; None if that is this
    #: placement or was not measured.
    over_full: PlacementRatio | None = None


@dataclass(frozen=True)
class WorkChoices:
    """The best placements of one work, by aim."""

    #: One cell of the work.
    work: Cell
    #: Best placement for each aim whose cost is known.
    choices: tuple[PlacementChoice, ...]


@dataclass(frozen=True)
class CheapestPlacement:
    """The placement with the fewest node-seconds: number of nodes times time."""

    #: Measured cell of the placement.
    point: Point
    #: Node-seconds of one execution, with a 95% interval. They are corrected for the choice among
    #: ``among`` comparable placements.
    node_seconds: Estimate
    #: Number of comparable placements from which this one was chosen; 1 if it was clearly the best.
    among: int


@dataclass(frozen=True)
class LeastEnergy:
    """The placement of a work with the least energy for one execution."""

    #: Cell of the placement.
    cell: Cell
    #: Energy of one execution, J, corrected for the choice among ``among`` comparable placements.
    energy: Energy
    #: Number of comparable placements from which this one was chosen; 1 if it was clearly the best.
    among: int


def by_work(outcomes: Sequence[PlacementOutcome]) -> list[list[PlacementOutcome]]:
    """The searches grouped by work; a group may contain several numbers of nodes."""
    groups: dict[str, list[PlacementOutcome]] = {}
    for outcome in outcomes:
        groups.setdefault(work_key(outcome.work), []).append(outcome)
    return list(groups.values())


def find_choices(
    outcomes: Sequence[PlacementOutcome],
    cells: Sequence[CellSummary],
    failed: Collection[str],
    energy: Mapping[str, Energy],
) -> list[WorkChoices]:
    """For each work whose searches all have a verdict: the best placement for each known aim.

    For speed and cost, candidates are the choice of each search and the placements that were
    measured without a search. For energy they are all measured placements, since a search considers
    time only. Placements that failed (``failed``: ids of cells) are left out. Times of chosen
    placements are corrected for the choice.
    """
    times = chosen_times(outcomes)
    found = []
    for group in by_work(outcomes):
        if any(outcome.point is None or not outcome.decided for outcome in group):
            continue
        measured = _measured(group[0].work, cells, failed)
        searched = {name for outcome in group for name in outcome.search.ids}
        chosen = [outcome.point for outcome in group if outcome.point is not None]
        placed = [*chosen, *(point for point in measured if point.summary.id not in searched)]
        fastest = min(placed, key=lambda point: _time(point, times).value)
        last = max(group, key=lambda outcome: outcome.work.placement.nodes)
        among = {"speed": placed, "cost": placed, "energy": measured}
        choices = [
            _choice(
                aim=aim, among=among[aim], fastest=fastest, energy=energy, outcome=last, times=times
            )
            for aim in AIMS
        ]
        kept = tuple(choice for choice in choices if choice is not None)
        found.append(WorkChoices(last.work, kept))
    return found


def _choice(
    aim: Aim,
    among: Sequence[Point],
    fastest: Point,
    energy: Mapping[str, Energy],
    outcome: PlacementOutcome,
    times: Mapping[str, Estimate],
) -> PlacementChoice | None:
    """The placement with the least amount; None if the amount of any placement is unknown."""
    amounts = [_amount(aim, point, energy, times) for point in among]
    known = [(a, point) for a, point in zip(amounts, among, strict=True) if a is not None]
    base = _amount(aim, fastest, energy, times)
    if len(known) < len(among) or base is None:
        return None
    amount, point = min(known, key=lambda pair: pair[0].value)
    if aim == "energy":
        others = {one.summary.id: energy[one.summary.id] for one in among}
        least, _ = least_energy(others, point.summary.id)
        amount = Estimate(least.value, least.interval)
    over = slower = None
    if point.summary.id != fastest.summary.id:
        over = estimate_ratio(amount, base)
        slower = estimate_ratio(_time(point, times), _time(fastest, times))
    nodes = point.summary.cell.placement.nodes
    over_one, over_full = (
        gain_over(point, other, times.get(point.summary.id))
        if other is not None and other.summary.cell.placement.nodes == nodes
        else None
        for other in (outcome.one, outcome.full)
    )
    return PlacementChoice(
        aim=aim,
        point=point,
        amount=amount,
        over=over,
        slower=slower,
        over_one=over_one,
        over_full=over_full,
    )


def _amount(
    aim: Aim, point: Point, energy: Mapping[str, Energy], times: Mapping[str, Estimate]
) -> Estimate | None:
    """The cost of one execution at a point: s, node-seconds or J."""
    if aim == "cost":
        return node_seconds(point, times)
    if aim == "energy":
        found = energy.get(point.summary.id)
        return Estimate(found.value, found.interval) if found else None
    return _time(point, times)


def chosen_times(outcomes: Sequence[PlacementOutcome]) -> dict[str, Estimate]:
    """The time of each search's choice, corrected for the choice, by cell id."""
    return {
        outcome.best.id: outcome.time
        for outcome in outcomes
        if outcome.best is not None and outcome.time is not None
    }


def node_seconds(point: Point, times: Mapping[str, Estimate]) -> Estimate:
    """Nodes times time: the cost if whole nodes are charged."""
    nodes, time = point.summary.cell.placement.nodes, _time(point, times)
    return Estimate(nodes * time.value, scaled(time.interval, nodes))


def _time(point: Point, times: Mapping[str, Estimate]) -> Estimate:
    """The time at a point: corrected if a search chose it (``times``), else as measured."""
    if point.summary.id in times:
        return times[point.summary.id]
    return Estimate(point.metric.median, point.metric.ci95)


def estimate_ratio(above: Estimate, below: Estimate) -> Estimate:
    """The ratio of two estimates; without an interval if either has none."""
    interval = None
    if above.interval is not None and below.interval is not None:
        interval = ratio_interval(above, below)
    return Estimate(above.value / below.value, interval)


def _measured(work: Cell, cells: Sequence[CellSummary], failed: Collection[str]) -> list[Point]:
    """All placements of a work that were measured and never failed."""
    return [
        point
        for point in points(cells, work.kernel, METRIC)
        if point.summary.cell.parameters == work.parameters
        and point.summary.cell.toolchain == work.toolchain
        and point.summary.id not in failed
    ]


def find_cheapest(
    cells: Sequence[CellSummary], costs: Mapping[str, Mapping[int, float]]
) -> list[CheapestPlacement]:
    """The placement with the fewest node-seconds of each work on several numbers of nodes.

    ``costs``: the time of each launch in s, by cell id and replicate.
    """
    groups: dict[str, list[Point]] = {}
    for kernel in dict.fromkeys(cell.kernel for cell in cells):
        for point in points(cells, kernel, METRIC):
            groups.setdefault(work_key(point.summary.cell), []).append(point)
    found = []
    for group in groups.values():
        if len({point.summary.cell.placement.nodes for point in group}) > 1:
            amounts = [node_seconds(point, {}) for point in group]
            place = min(range(len(group)), key=lambda place: amounts[place].value)
            values = [
                [point.summary.cell.placement.nodes * cost for cost in own.values()]
                for point in group
                if (own := costs.get(point.summary.id))
            ]
            least, among = amounts[place], 1
            if len(values) == len(group):
                value, interval, among = chosen_estimate(least, values, place)
                least = Estimate(value, interval)
            found.append(CheapestPlacement(group[place], least, among))
    return found


def least_energy(known: Mapping[str, Energy], best: str) -> tuple[Energy, int]:
    """The least of these energies, corrected for the choice, and the number of comparable ones."""
    own = known[best]
    values = [energy.values for energy in known.values()]
    if not all(values):
        return own, 1
    place = list(known).index(best)
    value, interval, among = chosen_estimate(Estimate(own.value, own.interval), values, place)
    return Energy(value, interval, own.launches, own.values), among


def find_least_energy(
    outcomes: Sequence[PlacementOutcome], energy: Mapping[str, Energy]
) -> list[LeastEnergy]:
    """The placement with the least energy per execution, for each work with recorded energy."""
    found = []
    for group in by_work(outcomes):
        failed = {cell.id for outcome in group for cell, _ in outcome.failed}
        cells = {cell.id: cell for outcome in group for cell in outcome.search.cells}
        known = {name: energy[name] for name in cells if name in energy and name not in failed}
        if known:
            best = min(known, key=lambda name: known[name].value)
            least, among = least_energy(known, best)
            found.append(LeastEnergy(cells[best], least, among))
    return found
