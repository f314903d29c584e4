"""The node model of a run: memory bandwidth by cores in use, and the cost of messages."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.questions.common.selection import Point, best_by, leading, on_any_memory, points, ratio
from assay.questions.network.messages.sweeps import KERNEL as MESSAGES
from assay.questions.network.messages.sweeps import MessageSweep, sweeps
from assay.questions.placement.causes.affinity import affinity_of, cpus_of
from assay.questions.speed.memory.access import RANDOM, STRIDED, random_pairs, strided_pairs
from assay.records.model import Measurement, RunData
from assay.stats.cells.summarise import summarise_cells
from assay.stats.core.model import CellSummary

if TYPE_CHECKING:
    from assay.models.placement.placed import NodeModel

# The relative half-width of a stream's interval if it is unknown.
_ASSUMED_UNCERTAINTY = 0.02
_STREAM = "memory.stream"
_PATTERNS = {STRIDED, RANDOM}


def node_model_of(
    cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()
) -> NodeModel:
    """The node and its network, from this run, or else from the latest run that measured them."""
    from assay.models.placement.placed import NodeModel

    known = _model_of(cells, run)
    for earlier in reversed(history):
        missing = _missing(known)
        if not missing:
            break
        if earlier.manifest.run == run.manifest.run or not _measured_any(earlier, missing):
            continue
        # Only what is missing is computed: a summary of all cells takes as long as a report.
        wanted = missing if known.patterns else missing | _PATTERNS
        other = _model_of(summarise_cells(earlier, wanted), earlier)
        own = known if known.streams else other
        known = NodeModel(
            streams=own.streams,
            patterns=known.patterns or other.patterns,
            near=known.near or other.near,
            far=known.far or other.far,
            uncertainty=own.uncertainty,
            domain=own.domain,
            domains=own.domains,
        )
    return known


def _missing(known: NodeModel) -> set[str]:
    """The kernels whose results are missing from the model."""
    missing = set() if known.streams else {_STREAM}
    return missing if known.near is not None else missing | {MESSAGES}


def _measured_any(run: RunData, kernels: Container[str]) -> bool:
    return any(cell.kernel in kernels for cell in run.manifest.plan.cells)


def _model_of(cells: Sequence[CellSummary], run: RunData) -> NodeModel:
    from assay.models.placement.placed import NodeModel

    found = [
        point
        for point in on_any_memory(points(cells, _STREAM, "bandwidth"))
        if point.parameter("op") == "triad"
        and point.summary.cell.placement.nodes == 1
        and point.summary.cell.placement.smt == "off"
    ]
    found = leading(found) if found else []
    plain = [point for point in found if point.summary.cell.placement.binding == "compact"]
    streams, uncertainty = _streams(plain or found)
    domain, domains = _domain(found, run)
    messages = sweeps(cells, run)
    near, far = (_message(messages, reach) for reach in ("within a node", "between nodes"))
    return NodeModel(
        streams=streams,
        patterns=_patterns(cells),
        near=near,
        far=far,
        uncertainty=uncertainty,
        domain=domain,
        domains=domains,
    )


def _streams(found: Sequence[Point]) -> tuple[dict[int, float], float]:
    """STREAM triad's bandwidth by cores in use per node, and the uncertainty of its ratios."""
    if not found:
        return {}, _ASSUMED_UNCERTAINTY
    curve = best_by(found, lambda point: point.cores)
    widths = [
        (high - low) / 2 / point.metric.median
        for point in curve.values()
        for low, high in [point.metric.ci95 or (0.0, 0.0)]
    ]
    known = all(point.metric.ci95 is not None for point in curve.values())
    uncertainty = float(np.sqrt(2.0)) * max(widths) if known else _ASSUMED_UNCERTAINTY
    return {count: point.metric.median for count, point in curve.items()}, uncertainty


def _domain(found: Sequence[Point], run: RunData) -> tuple[dict[int, float], int]:
    """The bandwidth of one NUMA domain by its cores in use, and the number of domains.

    Only streams with equally many cores in each used domain count; of several, the stream on the
    most domains. The curve is empty if there is one domain or if the ranks' affinity is unknown.
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
        seats = affinity_of(launches[point.summary.id], cpus)
        if seats is None or len(set(seats.used_by_domain.values())) != 1:
            continue
        count, load = len(seats.used_by_domain), next(iter(seats.used_by_domain.values()))
        curve[load] = max(curve.get(load, (0, 0.0)), (count, point.metric.median / count))
    if 1 not in curve:
        return {}, cpus.number_of_domains
    return {load: rate for load, (_, rate) in sorted(curve.items())}, cpus.number_of_domains


def _patterns(cells: Sequence[CellSummary]) -> dict[int, float]:
    """The time of an access on many cores relative to one core, for the slowest pattern."""
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


def _message(found: Sequence[MessageSweep], reach: str) -> Callable[[float], float] | None:
    """The model of the ping-pong within a node or between nodes; None if not measured."""
    for sweep in found:
        if sweep.reach == reach and sweep.model is not None:
            return sweep.model.seconds
    return None
