"""What a run tells of a machine that works share: its memory under load, and what messages cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.answers.memory_access import random_pairs, strided_pairs
from assay.answers.placement_seats import cpus_of, seats_of
from assay.answers.select import Point, best_by, leading, on_any_memory, points, ratio
from assay.answers.sweeps import sweeps
from assay.records.model import Measurement, RunData
from assay.stats.cells import summarise_cells
from assay.stats.model import CellSummary

if TYPE_CHECKING:
    from assay.models.placed import Machine

# Where a stream's interval isn't known, its relative half-width.
_DOUBT = 0.02


def machine_of(
    cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()
) -> Machine:
    """What is known of the node and its network: of this run, else of the latest that has it."""
    from assay.models.placed import Machine

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
            domain=own.domain,
            domains=own.domains,
        )
    return known


def _tells(run: RunData) -> bool:
    """Whether a run measured streams or messages at all."""
    wanted = ("memory.stream", "network.pingpong")
    return any(cell.kernel in wanted for cell in run.manifest.plan.cells)


def _machine(cells: Sequence[CellSummary], run: RunData) -> Machine:
    from assay.models.placed import Machine

    found = [
        point
        for point in on_any_memory(points(cells, "memory.stream", "bandwidth"))
        if point.parameter("op") == "triad"
        and point.summary.cell.placement.nodes == 1
        and point.summary.cell.placement.smt == "off"
    ]
    found = leading(found) if found else []
    plain = [point for point in found if point.summary.cell.placement.binding == "compact"]
    streams, doubt = _streams(plain or found)
    domain, domains = _domain(found, run)
    near, far = (_message(cells, run, reach) for reach in ("within a node", "between nodes"))
    return Machine(streams, _patterns(cells), near, far, doubt, domain, domains)


def _streams(found: Sequence[Point]) -> tuple[dict[int, float], float]:
    """STREAM triad's bandwidth by cores of a node, and how well its ratios are known."""
    if not found:
        return {}, _DOUBT
    curve = best_by(found, lambda point: point.cores)
    widths = [
        (high - low) / 2 / point.metric.median
        for point in curve.values()
        for low, high in [point.metric.ci95 or (0.0, 0.0)]
    ]
    known = all(point.metric.ci95 is not None for point in curve.values())
    doubt = float(np.sqrt(2.0)) * max(widths) if known else _DOUBT
    return {count: point.metric.median for count, point in curve.items()}, doubt


def _domain(found: Sequence[Point], run: RunData) -> tuple[dict[int, float], int]:
    """The bandwidth of one NUMA domain by its cores, and how many domains there are.

    From streams that have as many cores in each domain that they are in; of several the one that
    is in most domains. No curve where there is one domain alone, or it isn't known where ranks sat.
    """
    cpus = cpus_of(run)
    if cpus.number_of_domains == 1:
        return {}, 1
    wanted = {point.summary.id for point in found}
    launches: dict[str, list[Measurement]] = {name: [] for name in wanted}
    for measurement in run.measurements:
        if measurement.cell.id in wanted:
            launches[measurement.cell.id].append(measurement)
    curve: dict[int, tuple[int, float]] = {}
    for point in found:
        seats = seats_of(launches[point.summary.id], cpus)
        if seats is None or len(set(seats.loads.values())) != 1:
            continue
        count, load = len(seats.loads), next(iter(seats.loads.values()))
        curve[load] = max(curve.get(load, (0, 0.0)), (count, point.metric.median / count))
    if 1 not in curve:
        return {}, cpus.number_of_domains
    return {load: rate for load, (_, rate) in sorted(curve.items())}, cpus.number_of_domains


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
