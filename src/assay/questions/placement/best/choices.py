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
from assay.stats.core.intervals import Estimate, ratio_interval
from assay.stats.core.model import CellSummary

Aim = Literal["speed", "cost", "energy"]
AIMS: tuple[Aim, ...] = ("speed", "cost", "energy")


@dataclass(frozen=True)
class PlacementChoice:
    """The best placement of a work for one aim.

    ``amount``: what one execution takes there: seconds, node-seconds or joules. ``over``: that
    over what the fastest placement takes, and ``slower``: its time over the fastest's; None for
    the fastest itself. ``over_one``, ``over_full``: its performance over one rank per node and over
    one rank per core on as many nodes; None where that is the same, or was not measured.

    ``aim``: speed, cost or energy; ``point``: the cell.
    """

    aim: Aim
    point: Point
    amount: Estimate
    over: Estimate | None
    slower: Estimate | None
    over_one: PlacementRatio | None = None
    over_full: PlacementRatio | None = None


@dataclass(frozen=True)
class WorkChoices:
    """``work``: a cell that stands for it; ``choices``: the best placement for each aim known."""

    work: Cell
    choices: tuple[PlacementChoice, ...]


@dataclass(frozen=True)
class CheapestPlacement:
    """The placement with the fewest node-seconds: nodes times time, in s, with 95% interval.

    ``point``: the cell; ``node_seconds``: what it takes.
    """

    point: Point
    node_seconds: Estimate


@dataclass(frozen=True)
class LeastEnergy:
    """The placement of a work that takes the least energy for one execution.

    ``cell``: the placement; ``energy``: what it takes.
    """

    cell: Cell
    energy: Energy


def by_work(outcomes: Sequence[PlacementOutcome]) -> list[list[PlacementOutcome]]:
    """The searches of the same work on several numbers of nodes together."""
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
    """For each work whose searches are all settled: the best for each aim that can be judged.

    Speed and cost are among what each search chose and what was measured on numbers of nodes
    without a search; energy is among all measured placements, for a search considers time alone.
    Placements that failed (``failed``: ids of cells) are in neither.
    """
    found = []
    for group in by_work(outcomes):
        if any(outcome.point is None or not outcome.settled for outcome in group):
            continue
        measured = _measured(group[0].work, cells, failed)
        searched = {name for outcome in group for name in outcome.search.ids}
        chosen = [outcome.point for outcome in group if outcome.point is not None]
        placed = [*chosen, *(point for point in measured if point.summary.id not in searched)]
        fastest = min(placed, key=lambda point: point.metric.median)
        last = max(group, key=lambda outcome: outcome.work.placement.nodes)
        among = {"speed": placed, "cost": placed, "energy": measured}
        choices = [_choice(aim, among[aim], fastest, energy, last) for aim in AIMS]
        kept = tuple(choice for choice in choices if choice is not None)
        found.append(WorkChoices(last.work, kept))
    return found


def _choice(
    aim: Aim,
    among: Sequence[Point],
    fastest: Point,
    energy: Mapping[str, Energy],
    outcome: PlacementOutcome,
) -> PlacementChoice | None:
    """The least of an aim's amount; None where it is unknown of any: that might be less."""
    amounts = [_amount(aim, point, energy) for point in among]
    known = [(a, point) for a, point in zip(amounts, among, strict=True) if a is not None]
    base = _amount(aim, fastest, energy)
    if len(known) < len(among) or base is None:
        return None
    amount, point = min(known, key=lambda pair: pair[0].value)
    over = slower = None
    if point.summary.id != fastest.summary.id:
        over, slower = estimate_ratio(amount, base), estimate_ratio(_time(point), _time(fastest))
    nodes = point.summary.cell.placement.nodes
    over_one, over_full = (
        gain_over(point, other)
        if other is not None and other.summary.cell.placement.nodes == nodes
        else None
        for other in (outcome.one, outcome.full)
    )
    return PlacementChoice(aim, point, amount, over, slower, over_one, over_full)


def _amount(aim: Aim, point: Point, energy: Mapping[str, Energy]) -> Estimate | None:
    """What one execution takes at a point: s, node-seconds or J."""
    if aim == "cost":
        return node_seconds(point)
    if aim == "energy":
        found = energy.get(point.summary.id)
        return Estimate(found.value, found.interval) if found else None
    return _time(point)


def node_seconds(point: Point) -> Estimate:
    """Nodes times time: the charged amount where whole nodes are allocated."""
    nodes = point.summary.cell.placement.nodes
    return Estimate(nodes * point.metric.median, scaled(point.metric.ci95, nodes))


def _time(point: Point) -> Estimate:
    return Estimate(point.metric.median, point.metric.ci95)


def estimate_ratio(above: Estimate, below: Estimate) -> Estimate:
    """The ratio of two estimates; without interval where either has none."""
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


def find_cheapest(cells: Sequence[CellSummary]) -> list[CheapestPlacement]:
    """For each work that was measured on several numbers of nodes: the fewest node-seconds."""
    groups: dict[str, list[Point]] = {}
    for kernel in dict.fromkeys(cell.kernel for cell in cells):
        for point in points(cells, kernel, METRIC):
            groups.setdefault(work_key(point.summary.cell), []).append(point)
    found = []
    for group in groups.values():
        if len({point.summary.cell.placement.nodes for point in group}) > 1:
            cheapest = min(group, key=lambda point: node_seconds(point).value)
            found.append(CheapestPlacement(cheapest, node_seconds(cheapest)))
    return found


def find_least_energy(
    outcomes: Sequence[PlacementOutcome], energy: Mapping[str, Energy]
) -> list[LeastEnergy]:
    """For each work whose placements recorded energy: the least that one execution takes."""
    found = []
    for group in by_work(outcomes):
        failed = {cell.id for outcome in group for cell, _ in outcome.failed}
        cells = {cell.id: cell for outcome in group for cell in outcome.search.cells}
        known = {name: energy[name] for name in cells if name in energy and name not in failed}
        if known:
            best = min(known, key=lambda name: known[name].value)
            found.append(LeastEnergy(cells[best], known[best]))
    return found
