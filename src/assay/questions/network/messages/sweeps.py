"""Ping-pong sweeps: cells that differ only in the message size, and the model fitted to them.

The rank records determine whether a sweep's ranks run on one core, within a node or on two nodes.
Without rank records the placement determines it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from assay.kernels import find_kernel
from assay.kernels.network import ONE_SIDED
from assay.model.placement import Placement, Value
from assay.models.network.minimum import (
    DETERMINED,
    DIPS,
    HALF_SIZE,
    LOGGP,
    PROTOCOL_CHANGES,
    MissingData,
)
from assay.questions.common.selection import Point, chosen_best, labeller, points
from assay.questions.network.parameters import message_bytes
from assay.records.model import Measurement, RunData
from assay.records.schema import RankRecord
from assay.stats.core.model import CellSummary
from assay.system.model import System

if TYPE_CHECKING:
    from assay.models.network.message_model import LogGP

KERNEL = "network.pingpong"
Reach = Literal["between nodes", "within a node", "within a core"]
REACHES: tuple[Reach, ...] = ("between nodes", "within a node", "within a core")
# Fewer sizes don't count as a sweep. ``models.network.minimum`` has the needs of a model.
MIN_SIZES = 3
_METHODS = (LOGGP, HALF_SIZE, PROTOCOL_CHANGES, DIPS)
# Half-width of a normal 95% interval in standard errors.
_NORMAL = 1.96

_Extra = tuple[tuple[str, Value], ...]


# Shortest message, in bytes, whose time hardly depends on a token bucket's burst (a few frames).
_LONG = 1 << 16


@dataclass(frozen=True)
class MessageSweep:
    """The points of one line over message size."""

    #: Distance between the two ranks.
    reach: Reach
    #: Name that distinguishes the sweep from the other sweeps of the run.
    name: str
    #: Points by ascending message size.
    points: tuple[Point, ...]
    #: Parameters other than the size that differ from the kernel's defaults.
    extra: _Extra
    #: Whether messages go back and forth one at a time, as latency and model require. A put or a
    #: get completes at its origin and gets no reply.
    one_way: bool
    #: Point with the best bandwidth, with an interval that allows for the choice, among points with
    #: an interval within a factor of ten (among all points if there are none). None if only empty
    #: messages were sent. On links of a virtual cluster only sizes of 64 KiB and more count, if
    #: there are any: a token bucket passes short messages at once.
    widest: Point | None
    #: Piecewise LogGP of the sizes with enough launches; None if there are too few such sizes, or
    #: if ``one_way`` is false.
    model: LogGP | None
    #: Data that are missing for the methods that were not applied.
    missing: tuple[MissingData, ...] = ()

    @property
    def placement(self) -> Placement:
        """The distance between the ranks."""
        return self.points[0].summary.cell.placement

    @property
    def toolchain(self) -> str:
        """The toolchain's name."""
        return self.points[0].summary.cell.toolchain

    @property
    def sizes(self) -> tuple[int, ...]:
        """Message sizes in bytes, ascending."""
        return tuple(message_bytes(point) for point in self.points)

    def at(self, size: int) -> Point:
        """The point of a measured size in bytes."""
        return next(point for point in self.points if message_bytes(point) == size)


def sweeps(cells: Sequence[CellSummary], run: RunData) -> list[MessageSweep]:
    """All sweeps of a run: the longest distance first, and the leading sweep of each reach first.

    One-way sweeps lead, then sweeps with enough sizes for a model, then the fewest parameters other
    than the kernel's defaults, then the highest bandwidth.
    """
    found = points(cells, KERNEL, "latency")
    timed = {point.summary.id for point in found}
    found += [p for p in points(cells, KERNEL, "bandwidth") if p.summary.id not in timed]
    groups: dict[tuple[object, ...], list[Point]] = {}
    for point in found:
        cell = point.summary.cell
        groups.setdefault((cell.toolchain, cell.placement, _extra(point)), []).append(point)
    first = {m.cell.id: m for m in reversed(run.measurements)}
    label = labeller(found) if found else lambda point: ""
    several = len({dict(_extra(group[0])).get("mode") for group in groups.values()}) > 1
    result = [
        _sweep(
            sorted(group, key=message_bytes),
            _reach(group[0], first.get(group[0].summary.id), run),
            _name(label(group[0]), _extra(group[0]), several=several),
            run,
        )
        for group in groups.values()
    ]
    return sorted(result, key=_order)


def _name(where: str, extra: Sequence[tuple[str, object]], *, several: bool) -> str:
    """``2 ranks``; ``2 ranks, nonblocking`` if there are ``several`` modes.

    Parameters that differ from the kernel's defaults follow.
    """
    given = dict(extra)
    mode = given.pop("mode", "blocking")
    words = [where, *(f"{name}={value}" for name, value in given.items())]
    return " ".join(words) + (f", {mode}" if several or mode != "blocking" else "")


def _sweep(group: Sequence[Point], reach: Reach, name: str, run: RunData) -> MessageSweep:
    extra = _extra(group[0])
    timed = all("latency" in point.summary.metrics for point in group)
    one_way = timed and dict(extra).get("mode") not in ONE_SIDED
    rates = [
        Point(point.summary, point.summary.metrics["bandwidth"])
        for point in group
        if "bandwidth" in point.summary.metrics
    ]
    counting = rates
    if reach == "between nodes" and _virtual(run):
        counting = [point for point in rates if message_bytes(point) >= _LONG] or rates
    known = [point for point in counting if _determined(point)] or counting
    swept = one_way and len(group) >= MIN_SIZES
    launches = {message_bytes(point): point.metric.n for point in group}
    missing = [method.missing(launches) for method in _METHODS] if swept else []
    lacking = {lack.method for lack in missing if lack}
    model = None
    if swept and LOGGP.method not in lacking:
        enough = [point for point in group if point.metric.n >= LOGGP.launches]
        model = _model(enough, run, changes=PROTOCOL_CHANGES.method not in lacking)
    return MessageSweep(
        reach=reach,
        name=name,
        points=tuple(group),
        extra=extra,
        one_way=one_way,
        widest=chosen_best(known) if known else None,
        model=model,
        missing=tuple(lack for lack in missing if lack),
    )


def _virtual(run: RunData) -> bool:
    """Whether no node has a physical adapter that is up, as in virtual clusters."""
    system = System.known(run.manifest.system)
    up = [one for one in (system.adapters if system else []) if one.state in (None, "up", "active")]
    own = [one for one in up if one.kind != "loopback"]
    return bool(own) and all(one.physical is False for one in own)


def _determined(point: Point) -> bool:
    """Whether the point's interval spans at most a factor of ten; True without an interval."""
    ends = point.metric.ci95
    return ends is None or ends[1] <= DETERMINED * ends[0]


def _model(group: Sequence[Point], run: RunData, *, changes: bool) -> LogGP | None:
    """LogGP fitted to the points' medians and to each launch.

    ``changes``: whether there are enough sizes for changes of protocol; if not, the model is one
    line.
    """
    import numpy as np

    from assay.models.network import loggp
    from assay.models.network.message_model import Sweep
    from assay.stats.cells.summarise import launch_value

    column = {point.summary.id: index for index, point in enumerate(group)}
    rows: dict[str, dict[int, float]] = {}
    for measurement in run.measurements:
        at = column.get(measurement.cell.id)
        value = launch_value(measurement) if at is not None else None
        if at is not None and value:
            rows.setdefault(measurement.launch, {})[at] = value
    launches = np.full((len(rows), len(column)), np.nan)
    for number, row in enumerate(rows.values()):
        launches[number, list(row)] = list(row.values())
    intervals = [point.metric.ci95 for point in group]
    medians = np.array([point.metric.median for point in group])
    scatter = None
    if all(intervals) and (medians > 0).all():
        widths = np.array([high - low for low, high in filter(None, intervals)])
        scatter = widths / (2 * _NORMAL * medians)
    sizes = np.array([message_bytes(point) for point in group], dtype=np.float64)
    sweep = Sweep(sizes, medians, scatter, launches)
    if changes:
        return loggp.fit(sweep)
    model = loggp.fit(sweep, most=1)
    return replace(model, dips=()) if model else None


def _order(sweep: MessageSweep) -> tuple[object, ...]:
    return (
        REACHES.index(sweep.reach),
        not sweep.one_way,
        len(sweep.sizes) < MIN_SIZES,
        len(sweep.extra),
        -(sweep.widest.metric.median if sweep.widest else 0.0),
    )


def _extra(point: Point) -> _Extra:
    defaults = {p.name: p.default for p in find_kernel(KERNEL).parameters}
    planned = point.summary.cell.parameters
    return tuple(
        (name, value)
        for name, value in sorted(planned.items())
        if name != "bytes" and defaults.get(name) != value
    )


def _reach(point: Point, measurement: Measurement | None, run: RunData) -> Reach:
    placement = point.summary.cell.placement
    ranks = {rank.rank: rank for rank in measurement.ranks} if measurement else {}
    one, other = (ranks.get(_rank_at(point, name, placement.ranks)) for name in ("from", "to"))
    if one is None or other is None:
        return "between nodes" if placement.nodes > 1 else "within a node"
    if one.host != other.host:
        return "between nodes"
    return "within a core" if _share_a_core(one, other, run) else "within a node"


def _rank_at(point: Point, name: str, ranks: int) -> int:
    """The rank at one end (``from`` or ``to``); -1 is the last rank."""
    value = point.parameter(name)
    number = value if isinstance(value, int) else {"from": 0, "to": -1}[name]
    return number if number >= 0 else ranks - 1


def _share_a_core(one: RankRecord, other: RankRecord, run: RunData) -> bool:
    system = System.known(run.manifest.system)
    if system is None or not (one.pinned and other.pinned):
        return False
    return any(
        set(one.cpus) <= set(core) and set(other.cpus) <= set(core)
        for core in system.processor.siblings
    )
