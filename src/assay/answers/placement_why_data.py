"""What a run tells of why a placement takes as long: its works' times split, lost and predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from assay.answers.memory_access import random_pairs, strided_pairs
from assay.answers.placement_data import METRIC, name_of, works
from assay.answers.scaling import chip_of, in_cache
from assay.answers.select import Point, best_by, leading, on_any_memory, points, ratio
from assay.answers.sweeps import sweeps
from assay.kernels import known_kernel
from assay.kernels.catalogue import Kernel, is_phase
from assay.plans.model import Cell, Placement
from assay.plans.order import seats_by_rank
from assay.records.model import Measurement, RunData
from assay.stats.cells import find_series, steady, summarise_cells
from assay.stats.model import CellSummary

if TYPE_CHECKING:
    from assay.models.placement_prediction import Prediction
    from assay.models.placement_time import Demand, Loss, Machine, Placed, Split

# Ranks up to which it is looked at what each sends to each: tables of pairs grow as the square.
_MOST_RANKS = 1024
# Where a stream's interval isn't known, its relative half-width.
_DOUBT = 0.02


@dataclass(frozen=True, eq=False)
class Spot:
    """A work at a placement: its point, what was measured of it, where its time goes."""

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
    node loses on so many nodes against a single one; None where that was not measured.
    """

    name: str
    cell: Cell
    nodes: int
    spots: tuple[Spot, ...]
    machine: Machine
    used: dict[int, float]
    across: Loss | None = None

    @cached_property
    def knee(self) -> Spot:
        """The fewest ranks a node beyond which no more of them make it surely quicker."""
        for number, spot in enumerate(self.spots):
            if not any(_quicker(more, spot) for more in self.spots[number + 1 :]):
                return spot
        return self.spots[-1]

    @cached_property
    def losses(self) -> list[Loss]:
        """Of each placement but the first against it, one rank a node."""
        from assay.models.placement_time import lost

        return [lost(spot.split, self.spots[0].split) for spot in self.spots[1:]]

    @cached_property
    def predictions(self) -> list[tuple[Spot, Prediction]]:
        """What the model of contention says of each placement that it was not made from.

        It is made from the fewest and the most ranks a node; from the fewest alone, where there
        are but two.
        """
        from assay.models.placement_prediction import learn

        first, *rest = self.spots
        if not rest:
            return []
        *held, last = rest
        second = last.split.placed if held else None
        model = learn(first.split.placed, second, self.machine)
        found = []
        for spot in (held or rest) if model is not None else []:
            predicted = model.predict(spot.split.placed) if model is not None else None
            if predicted is not None:
                found.append((spot, predicted))
        return found

    @property
    def made_from(self) -> list[int]:
        """Ranks a node of the placements that the model is made from."""
        ends = [self.spots[0], self.spots[-1]] if len(self.spots) > 2 else [self.spots[0]]
        return [spot.placement.ppn for spot in ends]


def _quicker(one: Spot, other: Spot) -> bool:
    """Whether one placement is surely quicker than another."""
    value, interval = ratio(other.point.metric, one.point.metric)
    return interval[0] > 1.0 if interval is not None else value > 1.0


def whys(cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()) -> list[Why]:
    """Each work whose ranks told their phases, on each number of nodes with one rank a node.

    Of numbers of nodes with nothing to compare that with there is none.
    """
    told = [group for group in works(cells) if _phases(group[0].summary.cell)]
    if not told:
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
        for why in _of_work(name(group[0].summary.cell), group, machine, run, found)
    ]


def _phases(cell: Cell) -> list[str]:
    """The names of a kernel's phases; none where it tells no computing."""
    kernel = known_kernel(cell.kernel)
    names = [metric.name for metric in kernel.metrics if is_phase(metric)] if kernel else []
    return names if "compute" in names else []


def _of_work(
    name: str,
    group: Sequence[Point],
    machine: Machine,
    run: RunData,
    found: dict[str, list[Measurement]],
) -> list[Why]:
    from assay.models.placement_time import lost, split

    chip = chip_of(run)
    placed: dict[tuple[int, int], tuple[Point, Placed]] = {}
    for point in group:
        measured = placed_of(point, found.get(point.summary.id, []))
        if measured is not None:
            placed[measured.nodes, measured.ppn] = point, measured
    made = []
    for nodes in sorted({nodes for nodes, _ in placed}):
        if (nodes, 1) not in placed:
            continue
        alone = placed[nodes, 1][1]
        spots = []
        used = {}
        for (of, ppn), (point, each) in sorted(placed.items()):
            if of != nodes:
                continue
            apart = placed.get((nodes * ppn, 1), (None, None))[1] if ppn > 1 else None
            crowded = any(
                rank.oversubscribed
                for measurement in found.get(point.summary.id, [])
                for rank in measurement.ranks
            )
            spots.append(Spot(point, split(each, alone, apart, machine), crowded))
            share = _used(each, machine)
            if share is not None and not in_cache(point, chip):
                used[ppn] = share
        single = placed.get((1, 1), (None, None))[1] if nodes > 1 else None
        across = None
        if single is not None:
            over = split(alone, single, None, machine)
            across = lost(over, split(single, single, None, machine))
        if len(spots) > 1 or across is not None:
            made.append(
                Why(name, group[0].summary.cell, nodes, tuple(spots), machine, used, across)
            )
    return made


def _used(placed: Placed, machine: Machine) -> float | None:
    """The share of a node's bandwidth that a work's traffic takes while it computes."""
    from assay.models.placement_time import MEAN

    best = max(machine.streams.values(), default=0.0)
    computing = float(placed.medians[MEAN])
    if not placed.demand.traffic or not best or computing <= 0:
        return None
    return placed.demand.traffic / placed.nodes / computing / best


def placed_of(point: Point, measurements: Iterable[Measurement]) -> Placed | None:
    """What a cell's launches say of its phases; None where they say nothing."""
    from assay.models.placement_time import Placed

    cell = point.summary.cell
    phases = _phases(cell)
    rows = [row for one in measurements if (row := _row(one, phases)) is not None]
    if not rows:
        return None
    placement = cell.placement
    return Placed(
        cell.id,
        placement.nodes,
        placement.ppn,
        placement.threads,
        demand_of(cell),
        np.array(rows),
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
    from assay.models.placement_time import Demand

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


def machine_of(
    cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()
) -> Machine:
    """What is known of the node and its network: of this run, else of the latest that has it."""
    from assay.models.placement_time import Machine

    known = _machine(cells, run)
    for earlier in reversed(history):
        missing = not known.streams or known.near is None
        if not missing:
            break
        if earlier.manifest.run == run.manifest.run or not _tells(earlier):
            continue
        other = _machine(summarise_cells(earlier), earlier)
        own = known if known.streams else other
        known = Machine(
            streams=own.streams,
            patterns=known.patterns or other.patterns,
            near=known.near or other.near,
            far=known.far or other.far,
            doubt=own.doubt,
        )
    return known


def _tells(run: RunData) -> bool:
    """Whether a run measured streams or messages at all."""
    wanted = ("memory.stream", "network.pingpong")
    return any(cell.kernel in wanted for cell in run.manifest.plan.cells)


def _machine(cells: Sequence[CellSummary], run: RunData) -> Machine:
    from assay.models.placement_time import Machine

    streams, doubt = _streams(cells)
    near, far = (_message(cells, run, reach) for reach in ("within a node", "between nodes"))
    return Machine(streams, _patterns(cells), near, far, doubt)


def _streams(cells: Sequence[CellSummary]) -> tuple[dict[int, float], float]:
    """STREAM triad's bandwidth by cores of a node, and how well its ratios are known."""
    found = [
        point
        for point in on_any_memory(points(cells, "memory.stream", "bandwidth"))
        if point.parameter("op") == "triad" and point.summary.cell.placement.nodes == 1
    ]
    if not found:
        return {}, _DOUBT
    curve = best_by(leading(found), lambda point: point.cores)
    widths = [
        (high - low) / 2 / point.metric.median
        for point in curve.values()
        for low, high in [point.metric.ci95 or (0.0, 0.0)]
    ]
    known = all(point.metric.ci95 is not None for point in curve.values())
    doubt = float(np.sqrt(2.0)) * max(widths) if known else _DOUBT
    return {count: point.metric.median for count, point in curve.items()}, doubt


def _patterns(cells: Sequence[CellSummary]) -> dict[int, float]:
    """How many times as long an access takes on many cores as on one, by the worst pattern."""
    pairs = [
        *(pair for by_stride in strided_pairs(cells).values() for pair in by_stride.values()),
        *random_pairs(cells, "access").values(),
    ]
    found: dict[int, float] = {}
    for one, many in pairs:
        if many.summary.cell.placement.nodes > 1:
            continue
        value, _ = ratio(many.metric, one.metric)
        found[many.cores] = max(found.get(many.cores, 1.0), value)
    return found


def _message(
    cells: Sequence[CellSummary], run: RunData, reach: str
) -> Callable[[float], float] | None:
    """The model of a ping-pong of that reach; None where none was measured."""
    for sweep in sweeps(cells, run):
        if sweep.reach == reach and sweep.model is not None:
            return sweep.model.seconds
    return None
