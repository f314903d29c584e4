"""Ping-pong sweeps: cells that differ in nothing but the message size, and the model through them.

A sweep's ranks sit on one core, within a node or on two nodes, as the rank records say; where there
are none the placement has to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from assay.answers.select import Point, labeller, points
from assay.errors import AssayError
from assay.kernels import find_kernel
from assay.kernels.network import ONE_SIDED
from assay.plans.model import Placement, Value
from assay.records.model import Measurement, RunData
from assay.records.schema import RankRecord
from assay.stats.model import CellSummary

if TYPE_CHECKING:
    from assay.models.loggp import LogGP, Sweep
    from assay.system.model import System

KERNEL = "network.pingpong"
Reach = Literal["between nodes", "within a node", "within a core"]
REACHES: tuple[Reach, ...] = ("between nodes", "within a node", "within a core")
# Fewest sizes that make a sweep, as for any line of the model.
FEWEST_SIZES = 3
# Half the width of a normal 95% interval in standard errors.
_NORMAL = 1.96


@dataclass(frozen=True)
class MessageSweep:
    """The points of one line, by size. ``name``: what tells it from the run's other lines.

    ``extra``: parameters other than the size that differ from the kernel's defaults.
    """

    reach: Reach
    name: str
    points: tuple[Point, ...]
    extra: tuple[tuple[str, Value], ...]
    run: RunData

    @property
    def placement(self) -> Placement:
        """Where the ranks are."""
        return self.points[0].summary.cell.placement

    @property
    def toolchain(self) -> str:
        """The toolchain's name."""
        return self.points[0].summary.cell.toolchain

    @property
    def one_way(self) -> bool:
        """Whether messages go to and fro one at a time, as a latency and the model need.

        A put or a get is complete when its origin says so, and no message that is answered.
        """
        timed = all("latency" in point.summary.metrics for point in self.points)
        return timed and dict(self.extra).get("mode") not in ONE_SIDED

    @property
    def widest(self) -> Point | None:
        """The point with the best bandwidth; None where nothing but empty messages was sent."""
        found = [
            Point(point.summary, point.summary.metrics["bandwidth"])
            for point in self.points
            if "bandwidth" in point.summary.metrics
        ]
        return max(found, key=lambda point: point.metric.median, default=None)

    def at(self, bytes_: int) -> Point:
        """The point of a size that was measured."""
        return next(point for point in self.points if size_of(point) == bytes_)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Message sizes in bytes, ascending."""
        return tuple(size_of(point) for point in self.points)

    @cached_property
    def model(self) -> LogGP | None:
        """LogGP in pieces; None where sizes are too few or several messages travel at once."""
        from assay.models.loggp import fit

        return fit(self._sweep()) if self.one_way and len(self.sizes) >= FEWEST_SIZES else None

    def _sweep(self) -> Sweep:
        import numpy as np

        from assay.models.loggp import Sweep
        from assay.stats.cells import launch_value

        column = {point.summary.id: index for index, point in enumerate(self.points)}
        rows: dict[str, dict[int, float]] = {}
        for measurement in self.run.measurements:
            at = column.get(measurement.cell.id)
            value = launch_value(measurement) if at is not None else None
            if at is not None and value:
                rows.setdefault(measurement.launch, {})[at] = value
        launches = np.full((len(rows), len(column)), np.nan)
        for number, row in enumerate(rows.values()):
            launches[number, list(row)] = list(row.values())
        intervals = [point.metric.ci95 for point in self.points]
        medians = np.array([point.metric.median for point in self.points])
        scatter = None
        if all(intervals) and (medians > 0).all():
            widths = np.array([high - low for low, high in filter(None, intervals)])
            scatter = widths / (2 * _NORMAL * medians)
        return Sweep(np.array(self.sizes, dtype=np.float64), medians, scatter, launches)


def sweeps(cells: Sequence[CellSummary], run: RunData) -> list[MessageSweep]:
    """Every line that ping-pong was measured on, those that reach farthest first, then widest."""
    found = points(cells, KERNEL, "latency")
    timed = {point.summary.id for point in found}
    found += [p for p in points(cells, KERNEL, "bandwidth") if p.summary.id not in timed]
    groups: dict[tuple[object, ...], list[Point]] = {}
    for point in found:
        cell = point.summary.cell
        groups.setdefault((cell.toolchain, cell.placement, _extra(point)), []).append(point)
    first = {m.cell.id: m for m in reversed(run.measurements)}
    label = labeller(found) if found else lambda point: ""
    made = [
        MessageSweep(
            reach=_reach(group[0], first.get(group[0].summary.id), run),
            name=" ".join([label(group[0]), *(f"{n}={v}" for n, v in _extra(group[0]))]),
            points=tuple(sorted(group, key=size_of)),
            extra=_extra(group[0]),
            run=run,
        )
        for group in groups.values()
    ]
    return sorted(made, key=_rank)


def _rank(sweep: MessageSweep) -> tuple[object, ...]:
    widest = sweep.widest
    return (
        REACHES.index(sweep.reach),
        not sweep.one_way,
        len(sweep.sizes) < FEWEST_SIZES,
        len(sweep.extra),
        -(widest.metric.median if widest else 0.0),
    )


def _extra(point: Point) -> tuple[tuple[str, Value], ...]:
    defaults = {p.name: p.default for p in find_kernel(KERNEL).parameters}
    asked = point.summary.cell.parameters
    return tuple(
        (name, value)
        for name, value in sorted(asked.items())
        if name != "bytes" and defaults.get(name) != value
    )


def _reach(point: Point, measurement: Measurement | None, run: RunData) -> Reach:
    placement = point.summary.cell.placement
    ranks = {rank.rank: rank for rank in measurement.ranks} if measurement else {}
    pair = [ranks.get(_partner(point, name, placement.ranks)) for name in ("from", "to")]
    one, other = pair
    if one is None or other is None:
        return "between nodes" if placement.nodes > 1 else "within a node"
    if one.host != other.host:
        return "between nodes"
    return "within a core" if _share_a_core(one, other, run) else "within a node"


def _partner(point: Point, name: str, ranks: int) -> int:
    value = point.parameter(name)
    number = value if isinstance(value, int) else {"from": 0, "to": -1}[name]
    return number if number >= 0 else ranks - 1


def _share_a_core(one: RankRecord, other: RankRecord, run: RunData) -> bool:
    system = system_of(run)
    if system is None or not (one.pinned and other.pinned):
        return False
    return any(
        set(one.cpus) <= set(core) and set(other.cpus) <= set(core)
        for core in system.processor.siblings
    )


def system_of(run: RunData) -> System | None:
    """The system's facts; None where another version wrote them."""
    from assay.system.model import System

    try:
        return System.from_dict(run.manifest.system)
    except AssayError:
        return None


def size_of(point: Point) -> int:
    """The message size in bytes."""
    value = point.parameter("bytes")
    return int(value) if isinstance(value, (int, float)) else 0
