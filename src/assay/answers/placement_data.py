"""What a run tells of placements: where its searches stand, and ratios between placements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from assay.answers.select import Interval, Point, points, ratio
from assay.kernels import known_kernel, parameters_text
from assay.models.placement_search import Finding
from assay.models.placements import PlacementSearch, placement_searches
from assay.plans.model import Cell, Placement
from assay.records.model import RunData
from assay.stats.cells import launch_value
from assay.stats.model import CellSummary
from assay.units import counted

METRIC = "time"
# Characters of a command by which it is named.
_NAME = 40


@dataclass(frozen=True)
class Outcome:
    """How a search for the best placement ended.

    ``best``: the chosen one; None where none could be measured. ``point`` of it. ``tried``: how
    many candidates were measured, in ``made`` measurements, where all of them would have taken
    ``exhaustive``. ``failed``: candidates that can't be chosen, and why. ``one``, ``full``: one
    rank a node, and the most ranks a node of one thread, placed the plainest way; None where that
    was not measured.
    """

    search: PlacementSearch
    finding: Finding
    best: Cell | None
    point: Point | None
    tried: int
    made: int
    exhaustive: int
    failed: list[tuple[Cell, str]]
    one: Point | None = None
    full: Point | None = None

    @property
    def work(self) -> Cell:
        """A cell that stands for the work: all candidates have the same."""
        return self.search.cells[0]


@dataclass(frozen=True)
class Comparison:
    """Performance at ``above`` over that at ``below``: 2 is twice as fast."""

    above: Point
    below: Point
    value: float
    interval: Interval | None

    @property
    def launches(self) -> int:
        """The lesser number of launches of the two."""
        return min(self.above.metric.n, self.below.metric.n)


def outcomes(cells: Sequence[CellSummary], run: RunData) -> list[Outcome]:
    """Every search of the run's plan, in its order, as it stands now."""
    searches = placement_searches(run.manifest.plan)
    if not searches:
        return []
    costs = costs_of(run)
    told = {cell.id: cell for cell in cells}
    broken = failures(run, cells)
    made = []
    for search in searches:
        finding = search.find(costs, broken.keys())
        best = None if finding.chosen is None else search.cells[finding.chosen]
        straight = [cell for cell in search.cells if plain(cell)]
        most = max((cell.placement.ppn for cell in straight), default=1)
        tried = [cell for cell in search.cells if cell.id in costs and cell.id not in broken]
        made.append(
            Outcome(
                search,
                finding,
                best,
                None if best is None else _point(told[best.id]),
                len(tried),
                sum(len(costs[cell.id]) for cell in tried),
                len(search.cells) * run.manifest.plan.replication.min_launches,
                [(cell, broken[cell.id]) for cell in search.cells if cell.id in broken],
                *(
                    next((_point(told[c.id]) for c in straight if c.placement.ppn == ppn), None)
                    for ppn in (1, most)
                ),
            )
        )
    return made


def costs_of(run: RunData) -> dict[str, dict[int, float]]:
    """What each launch took, in the headline's unit of cost, by cell and replicate.

    Launches that failed, or whose result was wrong, have none.
    """
    costs: dict[str, dict[int, float]] = {}
    for measurement in run.measurements:
        value = launch_value(measurement)
        if value is not None and measurement.record.verified is not False:
            costs.setdefault(measurement.cell.id, {})[measurement.replicate] = value
    return costs


def _point(summary: CellSummary) -> Point | None:
    usable = summary.status == "ok" and summary.verified is not False
    return Point(summary, summary.metrics[METRIC]) if usable and METRIC in summary.metrics else None


def failures(run: RunData, cells: Sequence[CellSummary]) -> dict[str, str]:
    """The cells that failed in any launch, were not verified, or that a launch died in, and why."""
    told = {cell.id for cell in cells}
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
    return {name: why for name, why in found.items() if name in told}


def name_of(cell: Cell) -> str:
    """The work in a few words: ``CG class A``, or how a command begins."""
    kernel = known_kernel(cell.kernel)
    if kernel is not None and kernel.outside:
        command = str(cell.parameters.get("command", cell.kernel))
        return command if len(command) <= _NAME else f"{command[: _NAME - 1]}…"
    if cell.kernel.startswith("npb.") and "class" in cell.parameters:
        return f"{cell.kernel[4:].upper()} class {cell.parameters['class']}"
    return f"{cell.kernel} {parameters_text(cell)}".rstrip()


def size_of(cell: Cell) -> int | None:
    """Where a work's problem class stands among its kernel's, from 0; None where it has none."""
    kernel = known_kernel(cell.kernel)
    parameter = kernel.parameter("class") if kernel else None
    size = cell.parameters.get("class")
    if parameter is None or size not in parameter.choices:
        return None
    return parameter.choices.index(size)


def compared_name(found: Comparison, compared: Sequence[Comparison]) -> str:
    """The work that a comparison is of; with the toolchain where there are several."""
    cell = found.above.summary.cell
    several = len({each.above.summary.cell.toolchain for each in compared}) > 1
    return f"{name_of(cell)}, {cell.toolchain}" if several else name_of(cell)


def how_text(placement: Placement) -> str:
    """How nodes are used, in words: ``2 ranks a node, spread``."""
    words = [counted(placement.ppn, "rank")]
    if placement.nodes > 1:
        words[0] += " a node"
    if placement.threads > 1:
        words[0] += f" of {placement.threads} threads"
    return ", ".join(words + _bound_words(placement, plainest=[]))


def bound_text(placement: Placement) -> str:
    """The same without numbers of ranks and threads: ``compact``, ``spread, cyclic order``."""
    return ", ".join(_bound_words(placement, plainest=["compact"]))


def _bound_words(placement: Placement, plainest: list[str]) -> list[str]:
    words = [placement.binding] if placement.binding != "compact" else plainest
    return [
        *words,
        *(["sharing cores (SMT)"] if placement.smt == "on" else []),
        *([f"{placement.order} order"] if placement.order != "block" else []),
        *([f"over {placement.adapter}"] if placement.adapter else []),
    ]


def plain(cell: Cell) -> bool:
    """Whether a placement is one of ranks alone, placed the plainest way."""
    placement = cell.placement
    default = Placement(nodes=placement.nodes, ppn=placement.ppn)
    return placement == default


def works(
    cells: Sequence[CellSummary], wanted: Callable[[Cell], bool] = plain
) -> list[list[Point]]:
    """The usable points of each work at ``wanted`` placements, plain ones or others: the same but
    for how it is placed. Kernels of which each rank has its own work, however many there are, have
    none.
    """
    groups: dict[str, list[Point]] = {}
    for kernel in dict.fromkeys(cell.kernel for cell in cells):
        for point in points(cells, kernel, METRIC):
            cell = point.summary.cell
            if wanted(cell) and _divided(cell):
                parameters = sorted((k, str(v)) for k, v in cell.parameters.items())
                groups.setdefault(f"{kernel}/{parameters}/{cell.toolchain}", []).append(point)
    return list(groups.values())


def _divided(cell: Cell) -> bool:
    """Whether all ranks together do the same however many they are; so does a user's command."""
    kernel = known_kernel(cell.kernel)
    if kernel is None or kernel.outside:
        return True
    quantity = next((metric.quantity for metric in kernel.metrics if metric.quantity), None)
    if quantity is None or kernel.min_ranks > 1:
        return False
    parameters = {p.name: p.default for p in kernel.parameters} | cell.parameters
    one, two = (kernel.work(parameters, ranks, 1).get(quantity) for ranks in (1, 2))
    return bool(one) and one == two  # 0: it sizes itself by the machine


def compare(above: Point, below: Point) -> Comparison:
    """Performance at one point over that at another, of the same work."""
    # Of times, the quotient the other way round.
    return Comparison(above, below, *ratio(below.metric, above.metric))


def same_nodes(found: Sequence[Point]) -> list[Comparison]:
    """On as many nodes, each number of ranks a node over one (paper: figures a)."""
    return list(_same_nodes(found))


def _same_nodes(found: Sequence[Point]) -> Iterator[Comparison]:
    by_place = _by_place(found)
    for (nodes, ppn), point in sorted(by_place.items()):
        base = by_place.get((nodes, 1))
        if base is not None and ppn > 1:
            yield compare(point, base)


def same_ranks(found: Sequence[Point]) -> list[Comparison]:
    """Of as many ranks, on fewer nodes over one a node (paper: figures b and c)."""
    by_place = _by_place(found)
    return [
        compare(point, by_place[nodes * ppn, 1])
        for (nodes, ppn), point in sorted(by_place.items())
        if ppn > 1 and (nodes * ppn, 1) in by_place
    ]


def node_seconds(point: Point) -> float:
    """Nodes times time: what is charged for where nodes are given out whole."""
    return point.summary.cell.placement.nodes * point.metric.median


def _by_place(found: Sequence[Point]) -> dict[tuple[int, int], Point]:
    placed = {}
    for point in found:
        placement = point.summary.cell.placement
        placed[placement.nodes, placement.ppn] = point
    return placed
