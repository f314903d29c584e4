"""Breakdown, comparison and prediction of each work's time at its placements."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.kernels.naming import cell_name, layout_text
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.models.placement.components import COMPONENTS, Component
from assay.models.placement.placed import EqualRanks, NodeModel, Placed, equal_ranks_of
from assay.models.placement.prediction import (
    Prediction,
    calibration_placements,
    fit_contention_model,
)
from assay.models.placement.time_breakdown import (
    Split,
    TimeEstimate,
    loss_by_cores,
    loss_by_time,
    split,
)
from assay.questions.common.findings import INTERNAL
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import Point
from assay.questions.placement.causes.affinity import cpus_of
from assay.questions.placement.causes.losses import TimeLoss, cause_of, time_loss
from assay.questions.placement.causes.node_model import node_model_of
from assay.questions.placement.causes.phases import phases_of, placed_of
from assay.questions.placement.works import is_plain, works_of
from assay.questions.speed.benchmarks.scaling import chip_of, in_cache
from assay.records.model import Measurement, RunData
from assay.stats.core.model import CellSummary

# Reasons why a placement's time can't be broken down.
NO_EQUAL_RANKS = "ranks of one thread on the same cores were not measured"
NO_AFFINITY = "the cores of their threads are unknown"
NO_ADAPTER = "the cost of messages over their adapter is unknown"


@dataclass(frozen=True, eq=False)
class PlacedWork:
    """A work at a placement."""

    #: Measured time of the work.
    point: Point
    #: Breakdown of the time by component.
    split: Split = field(metadata=INTERNAL)
    #: Whether ranks shared CPUs in any launch.
    crowded: bool
    #: Time of each component, s, as the mean over ranks.
    seconds: Mapping[Component, TimeEstimate]
    #: Share of each component in the whole time.
    shares: Mapping[Component, TimeEstimate] = field(metadata=INTERNAL)
    #: Number of cores in use per node.
    cores: int
    #: Number of launches with recorded phases.
    launches: int
    #: Prediction of the contention model; None if the model was fitted to this placement or can't
    #: predict it.
    predicted: Prediction | None = None

    @property
    def placement(self) -> Placement:
        """The placement of its cell."""
        return self.point.summary.cell.placement

    @property
    def time(self) -> float:
        """The whole time, in s."""
        return self.split.time


@dataclass(frozen=True, eq=False)
class WorkBreakdown:
    """One work on one number of nodes."""

    #: Name of the work, with its toolchain if there are several.
    name: str
    #: One cell of the work.
    cell: Cell
    #: Number of nodes.
    nodes: int
    #: Plain placements by ascending number of ranks per node; the first has one.
    plain: tuple[PlacedWork, ...]
    #: Placements with threads, or another binding or order; the fastest is first.
    others: tuple[PlacedWork, ...]
    #: Number of placements that can't be broken down, by reason.
    unsplit: Mapping[str, int]
    #: Memory traffic while the work computes as a share of STREAM's best rate, by ranks per node.
    #: Only known traffic of data that don't fit into caches is included.
    bandwidth: Mapping[int, float]
    #: Number of ranks per node above which no more ranks are faster beyond the ratio's range.
    knee: int
    #: Speed on the most ranks per node over the speed at ``knee``; None if ``knee`` is the most.
    beyond_knee: Ratio | None
    #: Loss of the most ranks per node compared with one; None if not measured.
    loss: TimeLoss | None
    #: Loss of one rank per node on these nodes compared with one node; None if not measured.
    across: TimeLoss | None
    #: Loss of the most ranks per node compared with the fastest placement, if that is among
    #: ``others``; None if not measured.
    saving: TimeLoss | None
    #: Loss of the most threads per rank compared with ranks of one thread on the same number of
    #: cores; None if not measured.
    threads: TimeLoss | None
    #: Whether all placements had enough launches for intervals.
    certain: bool
    #: Whether a saturation curve of the memory is known.
    streams_known: bool
    #: Placements that the contention model is fitted to.
    fitted_to: list[str]
    #: Placements with threads that the contention model is fitted to.
    calibration: tuple[PlacedWork, ...] = field(metadata=INTERNAL)
    #: Model of the node and its network.
    machine: NodeModel = field(metadata=INTERNAL)

    @property
    def full(self) -> PlacedWork:
        """The plain placement with the most ranks per node."""
        return self.plain[-1]

    @property
    def placements(self) -> tuple[PlacedWork, ...]:
        """All placements that were broken down."""
        return (*self.plain, *self.others)


def find_breakdowns(
    cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()
) -> list[WorkBreakdown]:
    """Breakdowns of each work with recorded phases, for each number of nodes with one rank per
    node.

    Numbers of nodes with a single placement are left out.
    """
    groups = [
        group
        for group in works_of(cells, lambda cell: cell.placement.node_set == 0)
        if phases_of(group[0].summary.cell)
    ]
    if not any(is_plain(point.summary.cell) for group in groups for point in group):
        return []
    machine = node_model_of(cells, run, history)
    launches: dict[str, list[Measurement]] = {}
    for measurement in run.measurements:
        launches.setdefault(measurement.cell.id, []).append(measurement)
    several = len({group[0].summary.cell.toolchain for group in groups}) > 1

    def name(cell: Cell) -> str:
        return f"{cell_name(cell)} · {cell.toolchain}" if several else cell_name(cell)

    return [
        found
        for group in groups
        for found in _Work(name(group[0].summary.cell), group, machine, run, launches).breakdowns()
    ]


class _Work:
    """One work at all its placements."""

    def __init__(
        self,
        name: str,
        group: Sequence[Point],
        machine: NodeModel,
        run: RunData,
        launches: Mapping[str, Sequence[Measurement]],
    ) -> None:
        self._name = name
        self._machine = machine
        self._launches = launches
        self._cell = group[0].summary.cell
        chip, cpus = chip_of(run), cpus_of(run)
        # By nodes and ranks per node.
        self._plain: dict[tuple[int, int], tuple[Point, Placed]] = {}
        self._others: list[tuple[Point, Placed]] = []
        for point in group:
            placed = placed_of(point, launches.get(point.summary.id, []), cpus)
            if placed is None:
                continue
            if in_cache(point, chip):  # hardly any memory traffic
                placed = replace(placed, demand=replace(placed.demand, traffic=0.0))
            if is_plain(point.summary.cell):
                self._plain[placed.nodes, placed.ppn] = point, placed
            else:
                self._others.append((point, placed))

    def breakdowns(self) -> Iterator[WorkBreakdown]:
        """A breakdown for each number of nodes with placements to compare."""
        for nodes in sorted({nodes for nodes, _ in self._plain}):
            if (nodes, 1) not in self._plain:
                continue
            plain = [
                self._placed(point, placed)
                for (of, _), (point, placed) in sorted(self._plain.items())
                if of == nodes
            ]
            if len(plain) > 1 or (nodes > 1 and (1, 1) in self._plain):
                yield self._breakdown(nodes, plain)

    def _breakdown(self, nodes: int, plain: Sequence[PlacedWork]) -> WorkBreakdown:
        bandwidth = {
            one.placement.ppn: share
            for one in plain
            if (share := _bandwidth_share(one.split.placed, self._machine)) is not None
        }
        others, unsplit = self._split_others(nodes)
        losses = [loss_by_cores(one.split, plain[0].split) for one in plain[1:]]
        across = self._across(nodes, plain[0], bandwidth)
        loss = None
        if losses:
            last = plain[-1]
            used = bandwidth.get(last.placement.ppn)
            cause = cause_of(
                losses[-1], last.split, self._cell, self._machine,
                bandwidth=used, crowded=last.crowded,
            )  # fmt: skip
            loss = time_loss(
                losses[-1], last.placement, plain[0].placement, cause=cause, bandwidth=used
            )
        calibration = _calibration(plain, others)
        ends = _ends(plain, others, calibration)
        predictions = _predictions(plain, others, ends, calibration, self._machine)
        fitted = calibration if len(ends) > 1 else []
        knee = _knee(plain)
        return WorkBreakdown(
            name=self._name,
            cell=self._cell,
            nodes=nodes,
            plain=tuple(replace(one, predicted=predictions.get(one)) for one in plain),
            others=tuple(replace(one, predicted=predictions.get(one)) for one in others),
            unsplit=unsplit,
            bandwidth=bandwidth,
            knee=knee.placement.ppn,
            beyond_knee=None if knee is plain[-1] else _speedup(plain[-1], knee),
            loss=loss,
            across=across,
            saving=_saving(plain, others, bandwidth),
            threads=_threads_loss(plain, others),
            certain=all(one.certain for one in [*losses, *([across.loss] if across else [])]),
            streams_known=bool(self._machine.streams),
            fitted_to=[
                *(str(one.placement.ppn) for one in ends),
                *(layout_text(one.placement) for one in fitted),
            ],
            calibration=tuple(calibration),
            machine=self._machine,
        )

    def _across(
        self, nodes: int, alone: PlacedWork, bandwidth: Mapping[int, float]
    ) -> TimeLoss | None:
        """The loss of one rank per node compared with one rank on a single node."""
        if nodes == 1 or (1, 1) not in self._plain:
            return None
        point, single = self._plain[1, 1]
        over = split(alone.split.placed, single, None, self._machine)
        loss = loss_by_cores(over, split(single, single, None, self._machine))
        cause = cause_of(
            loss, alone.split, self._cell, self._machine,
            bandwidth=bandwidth.get(1), crowded=alone.crowded,
        )  # fmt: skip
        return time_loss(loss, alone.placement, point.summary.cell.placement, cause=cause)

    def _placed(
        self, point: Point, placed: Placed, equal_ranks: EqualRanks | None = None
    ) -> PlacedWork:
        alone = self._plain[placed.nodes, 1][1]
        apart = None
        if placed.cores > 1:
            apart = self._plain.get((placed.nodes * placed.cores, 1), (None, None))[1]
        crowded = any(
            rank.oversubscribed
            for measurement in self._launches.get(point.summary.id, [])
            for rank in measurement.ranks
        )
        found = split(placed, alone, apart, self._machine, equal_ranks)
        return PlacedWork(
            point=point,
            split=found,
            crowded=crowded,
            seconds={component: found.component(component) for component in COMPONENTS},
            shares={component: found.share(component) for component in COMPONENTS},
            cores=placed.cores,
            launches=len(placed.launches),
        )

    def _split_others(self, nodes: int) -> tuple[list[PlacedWork], dict[str, int]]:
        """Breakdowns of placements that aren't plain, and the number that can't be broken down by
        reason.
        """
        # Plain placements first: they are the baseline for others on the same cores.
        among = [placed for _, placed in [*self._plain.values(), *self._others]]
        found = []
        unsplit: dict[str, int] = {}
        for point, placed in self._others:
            if placed.nodes != nodes:
                continue
            equal_ranks = equal_ranks_of(placed, among)
            reason = None
            if point.summary.cell.placement.adapter is not None:
                reason = NO_ADAPTER
            elif placed.affinity is None:
                reason = NO_AFFINITY
            elif equal_ranks is None:
                reason = NO_EQUAL_RANKS
            if reason is not None:
                unsplit[reason] = unsplit.get(reason, 0) + 1
            else:
                found.append(self._placed(point, placed, equal_ranks))
        return sorted(found, key=lambda one: one.point.metric.median), unsplit


def _speedup(one: PlacedWork, other: PlacedWork) -> Ratio:
    """The speed of one placement over the speed of another, by their times."""
    return ratio_of(other.point, one.point)


def _is_faster(one: PlacedWork, other: PlacedWork, comparisons: int) -> bool:
    """Whether one placement is faster than another beyond the range of the ratio.

    Without intervals the medians decide; then ``WorkBreakdown.certain`` is false.
    """
    found = _speedup(one, other)
    if found.ci95 is None:
        return found.value > 1.0
    return found.compared(comparisons=comparisons).direction == "more"


def _knee(plain: Sequence[PlacedWork]) -> PlacedWork:
    """The least number of ranks per node above which no more are faster beyond the range."""
    pairs = math.comb(len(plain), 2)
    for number, one in enumerate(plain):
        if not any(_is_faster(more, one, pairs) for more in plain[number + 1 :]):
            return one
    return plain[-1]


def _saving(
    plain: Sequence[PlacedWork], others: Sequence[PlacedWork], bandwidth: Mapping[int, float]
) -> TimeLoss | None:
    """The loss of the most ranks per node compared with the fastest placement.

    None if the fastest is a plain placement, or if the two are not distinguishable.
    """
    full = plain[-1]
    if not others or others[0].point.metric.median > min(one.point.metric.median for one in plain):
        return None
    saved = _speedup(others[0], full).compared(comparisons=len(others))
    if saved.direction != "more":
        return None
    return time_loss(
        loss_by_time(full.split, others[0].split),
        full.placement,
        others[0].placement,
        bandwidth=bandwidth.get(full.placement.ppn),
    )


def _threads_loss(plain: Sequence[PlacedWork], others: Sequence[PlacedWork]) -> TimeLoss | None:
    """The loss of the most threads per rank compared with one-thread ranks on as many cores."""
    full = plain[-1]
    threaded = [
        one
        for one in others
        if one.split.placed.threads > 1 and not one.split.placed.shared and one.cores == full.cores
    ]
    if not threaded or len(plain) < 2:
        return None
    most = max(threaded, key=lambda one: one.split.placed.threads)
    return time_loss(loss_by_time(most.split, full.split), most.placement, full.placement)


def _calibration(plain: Sequence[PlacedWork], others: Sequence[PlacedWork]) -> list[PlacedWork]:
    """The placements to which the model's cost of threads is fitted."""
    if len(plain) < 2:
        return []
    chosen = calibration_placements(plain[-1].split.placed, [one.split.placed for one in others])
    return [one for one in others if one.split.placed in chosen]


def _ends(
    plain: Sequence[PlacedWork], others: Sequence[PlacedWork], calibration: Sequence[PlacedWork]
) -> list[PlacedWork]:
    """The fewest ranks per node; also the most if another placement remains to be predicted."""
    first, *rest = plain
    left = len(rest) > 1 or any(one not in calibration for one in others)
    return [first, rest[-1]] if rest and left else [first]


def _predictions(
    plain: Sequence[PlacedWork],
    others: Sequence[PlacedWork],
    ends: Sequence[PlacedWork],
    calibration: Sequence[PlacedWork],
    machine: NodeModel,
) -> dict[PlacedWork, Prediction]:
    """Predictions for all placements that the contention model is not fitted to."""
    placed = [one.split.placed for one in ends]
    threaded = [one.split.placed for one in calibration]
    second = placed[1] if len(placed) > 1 else None
    model = fit_contention_model(placed[0], second, machine, threaded)
    if model is None:
        return {}
    return {
        one: predicted
        for one in (*plain, *others)
        if one not in (*ends, *calibration)
        if (predicted := model.predict(one.split.placed)) is not None
    }


def _bandwidth_share(placed: Placed, machine: NodeModel) -> float | None:
    """A work's traffic while it computes, as a share of the node's maximum bandwidth."""
    best = max(machine.streams.values(), default=0.0)
    computing = placed.mean_computing
    if not placed.demand.traffic or not best or computing <= 0:
        return None
    return placed.demand.traffic / placed.nodes / computing / best
