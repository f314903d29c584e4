"""The phases and demands of a work at a placement, from its records and its kernel's formulas."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.kernels import known_kernel
from assay.kernels.catalogue import Kernel, is_phase
from assay.model.cell import Cell
from assay.model.rank_order import seats_by_rank
from assay.models.placement.placed import Demand, Placed
from assay.questions.common.selection import Point
from assay.questions.placement.causes.affinity import Cpus, affinity_of
from assay.questions.placement.works import METRIC
from assay.records.model import Measurement
from assay.stats.cells.summarise import find_series, steady

# Maximum number of ranks for counting messages between pairs; tables grow as its square.
_MAX_RANKS = 512


def phases_of(cell: Cell) -> list[str]:
    """The names of a kernel's phases; empty if it does not record computing."""
    kernel = known_kernel(cell.kernel)
    names = [metric.name for metric in kernel.metrics if is_phase(metric)] if kernel else []
    return names if "compute" in names else []


def placed_of(
    point: Point, measurements: Sequence[Measurement], cpus: Cpus | None = None
) -> Placed | None:
    """The phases of a cell's launches; None if no launch recorded them."""
    cell = point.summary.cell
    phases = phases_of(cell)
    rows = [(one, row) for one in measurements if (row := _row(one, phases)) is not None]
    if not rows:
        return None
    placement = cell.placement
    return Placed(
        name=cell.id,
        nodes=placement.nodes,
        ppn=placement.ppn,
        threads=placement.threads,
        demand=demand_of(cell),
        launches=np.array([row for _, row in rows]),
        affinity=affinity_of([one for one, _ in rows], Cpus() if cpus is None else cpus),
    )


def _row(measurement: Measurement, phases: Sequence[str]) -> list[float] | None:
    """A launch's medians: time, mean and maximum computing time of ranks, and communication."""
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
    """The demands of a work at a cell's placement, by its kernel's formulas."""
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
    """The share of bytes sent within nodes; without a formula all pairs have the same weight."""
    placement = cell.placement
    if placement.ranks == 1:
        return 0.0
    if placement.nodes == 1:
        return 1.0
    even = (placement.ppn - 1) / (placement.ranks - 1)
    if kernel.peers is None or placement.ranks > _MAX_RANKS:
        return even
    parameters = {p.name: p.default for p in kernel.parameters} | cell.parameters
    sent = kernel.peers(parameters, placement.ranks, placement.threads)
    nodes = [node for node, _ in seats_by_rank(placement.order, placement.nodes, placement.ppn)]
    whole = sum(sent.values())
    within = sum(size for (one, other), size in sent.items() if nodes[one] == nodes[other])
    return within / whole if whole > 0 else even
