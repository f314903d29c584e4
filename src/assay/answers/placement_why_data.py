"""What a run tells of why a placement takes as long: its works' times split, lost and predicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from assay.answers.placement_data import METRIC, how_text, name_of, plain, works
from assay.answers.placement_machine import machine_of
from assay.answers.placement_seats import Cpus, cpus_of, seats_of
from assay.answers.scaling import chip_of, in_cache
from assay.answers.select import Point, ratio
from assay.kernels import known_kernel
from assay.kernels.catalogue import Kernel, is_phase
from assay.plans.model import Cell, Placement
from assay.plans.order import seats_by_rank
from assay.records.model import Measurement, RunData
from assay.stats.cells import find_series, steady
from assay.stats.model import CellSummary

if TYPE_CHECKING:
    from assay.models.placed import Demand, Machine, Placed, Twins
    from assay.models.placement_prediction import Prediction
    from assay.models.placement_time import Loss, Split

# Ranks up to which it is looked at what each sends to each: tables of pairs grow as the square.
_MOST_RANKS = 512
# Why a placement isn't split.
NO_TWIN = "ranks of one thread on the same cores were not measured"
NO_SEATS = "where their threads sat isn't known"
NO_ADAPTER = "what messages cost over the adapter they name isn't known"


@dataclass(frozen=True, eq=False)
class Spot:
    """A work at a placement: its point, and where its time goes.

    ``crowded``: whether ranks took turns on CPUs in any launch.
    """

    point: Point
    split: Split
    crowded: bool

    @property
    def placement(self) -> Placement:
        """Where it ran."""
        return self.point.summary.cell.placement


@dataclass(frozen=True, eq=False)
class Why:
    """One work on one number of nodes, by ranks a node ascending; the first has one.

    ``name``: the work in a few words, with its toolchain where there are several.
    ``used``: by ranks a node the share of the memory bandwidth that its traffic takes while it
    computes, where that is known and its data don't fit into caches. ``across``: what one rank a
    node loses on so many nodes against a single one; None where that was not measured. ``ways``:
    the other placements, with threads, bound or ordered otherwise, the quickest first. ``unsplit``:
    why others aren't among these, and how many.
    """

    name: str
    cell: Cell
    nodes: int
    spots: tuple[Spot, ...]
    machine: Machine
    used: dict[int, float]
    across: Loss | None = None
    ways: tuple[Spot, ...] = ()
    unsplit: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def knee(self) -> Spot:
        """The fewest ranks a node beyond which no more of them make it surely quicker."""
        for number, spot in enumerate(self.spots):
            if not any(_quicker(more, spot) for more in self.spots[number + 1 :]):
                return spot
        return self.spots[-1]

    @property
    def certain(self) -> bool:
        """Whether all placements had launches enough for intervals."""
        losses = [*self.losses, *([self.across] if self.across else [])]
        return all(loss.certain for loss in losses)

    @property
    def full(self) -> Spot:
        """The most ranks a node, placed the plainest way."""
        return self.spots[-1]

    @cached_property
    def better(self) -> Loss | None:
        """What the most ranks a node take longer than the quickest placement that was split.

        None where that is placed the plainest way, or isn't surely quicker.
        """
        from assay.models.placement_time import longer

        quickest = self.ways[0] if self.ways else None
        times = [spot.point.metric.median for spot in self.spots]
        if quickest is None or quickest.point.metric.median > min(times):
            return None
        if not _quicker(quickest, self.full):
            return None
        return longer(self.full.split, quickest.split)

    @cached_property
    def by_threads(self) -> Loss | None:
        """What the most threads a rank on as many cores take longer than ranks of one thread."""
        from assay.models.placement_time import longer

        here = self.full.split.placed
        threaded = [
            spot
            for spot in self.ways
            if spot.split.placed.threads > 1
            and not spot.split.placed.shared
            and spot.split.placed.cores == here.cores
        ]
        if not threaded or len(self.spots) < 2:
            return None
        most = max(threaded, key=lambda spot: spot.split.placed.threads)
        return longer(most.split, self.full.split)

    @cached_property
    def losses(self) -> list[Loss]:
        """Of each placement but the first against it, one rank a node."""
        from assay.models.placement_time import lost

        return [lost(spot.split, self.spots[0].split) for spot in self.spots[1:]]

    @cached_property
    def predictions(self) -> list[tuple[Spot, Prediction]]:
        """What the model of contention says of each placement that it was not made from.

        It is made from the fewest and the most ranks a node; from the fewest alone, where there
        are but two; and of threads from the placements that ``taught`` has.
        """
        from assay.models.placement_prediction import learn

        given = [spot.split.placed for spot in self._ends]
        threaded = [spot.split.placed for spot in self.taught]
        model = learn(given[0], given[1] if len(given) > 1 else None, self.machine, threaded)
        if model is None:
            return []
        known = [*self._ends, *self.taught]
        found = []
        for spot in (*self.spots, *self.ways):
            predicted = None if spot in known else model.predict(spot.split.placed)
            if predicted is not None:
                found.append((spot, predicted))
        return found

    @property
    def _ends(self) -> list[Spot]:
        """The fewest ranks a node, and the most if that leaves any placement to be predicted."""
        first, *rest = self.spots
        left = len(rest) > 1 or any(spot not in self.taught for spot in self.ways)
        return [first, rest[-1]] if rest and left else [first]

    @cached_property
    def taught(self) -> list[Spot]:
        """The placements by which the model of contention knows what threads cost."""
        from assay.models.placement_prediction import teachers

        if len(self.spots) < 2:
            return []
        chosen = teachers(self.full.split.placed, [spot.split.placed for spot in self.ways])
        return [spot for spot in self.ways if spot.split.placed in chosen]

    @property
    def made_from(self) -> list[str]:
        """The placements that the model is made from: ranks a node, and of the others in words."""
        ends = self._ends
        taught = self.taught if len(ends) > 1 else []
        plainly = [str(spot.placement.ppn) for spot in ends]
        return [*plainly, *(how_text(spot.placement) for spot in taught)]


def _quicker(one: Spot, other: Spot) -> bool:
    """Whether one placement is surely quicker than another."""
    value, interval = ratio(other.point.metric, one.point.metric)
    return interval[0] > 1.0 if interval is not None else value > 1.0


def whys(cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()) -> list[Why]:
    """Each work whose ranks told their phases, on each number of nodes with one rank a node.

    Of numbers of nodes with nothing to compare that with there is none.
    """
    told = [
        group
        for group in works(cells, lambda cell: cell.placement.node_set == 0)
        if _phases(group[0].summary.cell)
    ]
    if not any(plain(point.summary.cell) for group in told for point in group):
        return []
    machine = machine_of(cells, run, history)
    found: dict[str, list[Measurement]] = {}
    for measurement in run.measurements:
        found.setdefault(measurement.cell.id, []).append(measurement)
    several = len({group[0].summary.cell.toolchain for group in told}) > 1

    def name(cell: Cell) -> str:
        return f"{name_of(cell)} · {cell.toolchain}" if several else name_of(cell)

    return [
        why
        for group in told
        for why in _Work(name(group[0].summary.cell), group, machine, run, found).whys()
    ]


def _phases(cell: Cell) -> list[str]:
    """The names of a kernel's phases; none where it tells no computing."""
    kernel = known_kernel(cell.kernel)
    names = [metric.name for metric in kernel.metrics if is_phase(metric)] if kernel else []
    return names if "compute" in names else []


class _Work:
    """One work at all its placements, about to be split."""

    def __init__(
        self,
        name: str,
        group: Sequence[Point],
        machine: Machine,
        run: RunData,
        found: Mapping[str, Sequence[Measurement]],
    ) -> None:
        self._name = name
        self._machine = machine
        self._chip = chip_of(run)
        self._found = found
        self._cell = group[0].summary.cell
        cpus = cpus_of(run)
        # By nodes and ranks a node, those that are placed the plainest way.
        self._plain: dict[tuple[int, int], tuple[Point, Placed]] = {}
        self._others: list[tuple[Point, Placed]] = []
        for point in group:
            measured = placed_of(point, found.get(point.summary.id, []), cpus)
            if measured is None:
                continue
            if in_cache(point, self._chip):  # memory moves next to nothing
                demand = replace(measured.demand, traffic=0.0)
                measured = replace(measured, demand=demand)
            if plain(point.summary.cell):
                self._plain[measured.nodes, measured.ppn] = point, measured
            else:
                self._others.append((point, measured))

    def whys(self) -> Iterator[Why]:
        """One for each number of nodes that has something to compare."""
        from assay.models.placement_time import lost, split

        for nodes in sorted({nodes for nodes, _ in self._plain}):
            if (nodes, 1) not in self._plain:
                continue
            alone = self._plain[nodes, 1][1]
            spots = []
            used = {}
            for (of, ppn), (point, each) in sorted(self._plain.items()):
                if of != nodes:
                    continue
                spots.append(self._spot(point, each))
                share = _used(each, self._machine)
                if share is not None:
                    used[ppn] = share
            single = self._plain.get((1, 1), (None, None))[1] if nodes > 1 else None
            across = None
            if single is not None:
                over = split(alone, single, None, self._machine)
                across = lost(over, split(single, single, None, self._machine))
            if len(spots) > 1 or across is not None:
                ways, unsplit = self._ways(nodes)
                yield Why(
                    self._name, self._cell, nodes, tuple(spots), self._machine, used, across,
                    ways, unsplit,
                )  # fmt: skip

    def _spot(self, point: Point, each: Placed, twins: Twins | None = None) -> Spot:
        from assay.models.placement_time import split

        alone = self._plain[each.nodes, 1][1]
        apart = None
        if each.cores > 1:
            apart = self._plain.get((each.nodes * each.cores, 1), (None, None))[1]
        crowded = any(
            rank.oversubscribed
            for measurement in self._found.get(point.summary.id, [])
            for rank in measurement.ranks
        )
        return Spot(point, split(each, alone, apart, self._machine, twins), crowded)

    def _ways(self, nodes: int) -> tuple[tuple[Spot, ...], dict[str, int]]:
        """The placements that aren't plain ones: those that can be split, and why others can't."""
        from assay.models.placed import twins_of

        # Plain ones first: where several sit alike, they are what is compared.
        of_nodes = [each for _, each in [*self._plain.values(), *self._others]]
        ways = []
        unsplit: dict[str, int] = {}
        for point, each in self._others:
            if each.nodes != nodes:
                continue
            twins = twins_of(each, of_nodes)
            why = None
            if point.summary.cell.placement.adapter is not None:
                why = NO_ADAPTER
            elif each.seats is None:
                why = NO_SEATS
            elif twins is None:
                why = NO_TWIN
            if why is not None:
                unsplit[why] = unsplit.get(why, 0) + 1
            else:
                ways.append(self._spot(point, each, twins))
        return tuple(sorted(ways, key=lambda spot: spot.point.metric.median)), unsplit


def _used(placed: Placed, machine: Machine) -> float | None:
    """The share of a node's bandwidth that a work's traffic takes while it computes."""
    from assay.models.placed import MEAN

    best = max(machine.streams.values(), default=0.0)
    computing = float(placed.medians[MEAN])
    if not placed.demand.traffic or not best or computing <= 0:
        return None
    return placed.demand.traffic / placed.nodes / computing / best


def placed_of(
    point: Point, measurements: Sequence[Measurement], cpus: Cpus | None = None
) -> Placed | None:
    """What a cell's launches say of its phases; None where they say nothing."""
    from assay.models.placed import Placed

    cell = point.summary.cell
    phases = _phases(cell)
    told = [(one, row) for one in measurements if (row := _row(one, phases)) is not None]
    if not told:
        return None
    placement = cell.placement
    return Placed(
        cell.id,
        placement.nodes,
        placement.ppn,
        placement.threads,
        demand_of(cell),
        np.array([row for _, row in told]),
        seats_of([one for one, _ in told], Cpus() if cpus is None else cpus),
    )


def _row(measurement: Measurement, phases: Sequence[str]) -> list[float] | None:
    """A launch's medians: time, computing by the mean and the most of the ranks, and messages."""
    record = measurement.record
    if record.status != "ok" or record.verified is False:
        return None
    series = {
        name: steady(record, one)
        for name in (METRIC, "most_compute", *phases)
        if (one := find_series(record, name)) is not None and one.values
    }
    if METRIC not in series or "compute" not in series:
        return None
    waited = [series[name] for name in phases if name != "compute" and name in series]
    most = series.get("most_compute")
    return [
        float(np.median(series[METRIC])),
        float(np.median(series["compute"])),
        np.nan if most is None else float(np.median(most)),
        float(np.median(np.sum(waited, axis=0))) if waited else 0.0,
    ]


def demand_of(cell: Cell) -> Demand:
    """What a work asks for at a cell's placement, by its kernel's formulas."""
    from assay.models.placed import Demand

    kernel = known_kernel(cell.kernel)
    if kernel is None:
        return Demand()
    placement = cell.placement
    parameters = {p.name: p.default for p in kernel.parameters} | cell.parameters
    work = kernel.work(parameters, placement.ranks, placement.threads)
    return Demand(
        flops=work.get("flops", 0.0),
        traffic=work.get("traffic"),
        messages=work.get("messages", 0.0),
        sent=work.get("sent", 0.0),
        near=_near(kernel, cell),
    )


def _near(kernel: Kernel, cell: Cell) -> float:
    """The share of what ranks send that stays on their node; all alike where it isn't told."""
    placement = cell.placement
    if placement.ranks == 1:
        return 0.0
    if placement.nodes == 1:
        return 1.0
    alike = (placement.ppn - 1) / (placement.ranks - 1)
    if kernel.peers is None or placement.ranks > _MOST_RANKS:
        return alike
    parameters = {p.name: p.default for p in kernel.parameters} | cell.parameters
    sent = kernel.peers(parameters, placement.ranks, placement.threads)
    nodes = [node for node, _ in seats_by_rank(placement.order, placement.nodes, placement.ppn)]
    whole = sum(sent.values())
    within = sum(size for (one, other), size in sent.items() if nodes[one] == nodes[other])
    return within / whole if whole > 0 else alike
