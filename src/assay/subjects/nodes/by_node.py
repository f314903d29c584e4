"""The same cells, measured on each node separately, compared between nodes.

A node's value is the median of its launches' medians. The median over nodes is the typical node.
The standard deviation is estimated as 1.4826 times the median absolute deviation, which equals the
standard deviation for normal values (Hampel 1974). Outlying nodes hardly affect it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np

from assay.kernels import known_kernel
from assay.model.cell import Cell
from assay.records.group import GroupData, Member, host_of
from assay.records.model import RunData
from assay.stats.cells.contention import contention_of
from assay.stats.cells.summarise import summarise_cells
from assay.stats.core.intervals import median_interval
from assay.stats.core.model import CellSummary, MetricSummary
from assay.stats.core.summary import coefficient_of_variation
from assay.stats.fleet.peers import ROBUST
from assay.stats.repeats.repeats import repeats_of
from assay.subjects.nodes.covariates import covariates_of, kind_of, slow_core
from assay.subjects.nodes.model import CellByNode, MeasuredNode, NodeGain, NodeValue


def measured_nodes(group: GroupData) -> list[MeasuredNode]:
    """The members that have results, named after their hosts."""
    hosts = Counter(member.host for member in group.members if member.run)
    return [
        measure_node(_name(member, hosts), member.number, member.run)
        for member in group.members
        if member.run is not None
    ]


def _name(member: Member, hosts: Counter[str | None]) -> str:
    if member.host is None or hosts[member.host] > 1:
        return f"{member.host or 'node'} ({member.number})"
    return member.host


def measure_node(name: str, member: int, run: RunData) -> MeasuredNode:
    """The summaries, costs and covariates of one node's run."""
    return MeasuredNode(
        name=name,
        member=member,
        cells=summarise_cells(run),
        host=host_of(run),
        costs={repeats.cell.id: repeats.cost for repeats in repeats_of(run)},
        covariates=covariates_of(run),
        core=slow_core(run),
        kind=kind_of(run.manifest),
        contention=contention_of(run.measurements, run.manifest.system),
    )


def measured_devices(nodes: Sequence[MeasuredNode]) -> list[MeasuredNode]:
    """Each device of each node by itself, like a node, from cells that name a device.

    The name is the node's with the device's number. Cells lose the number, so that the same cell is
    compared over all devices.
    """
    return [
        replace(
            node,
            name=f"{node.name} device {number}",
            cells=[msgspec.structs.replace(s, cell=c, id=c.id) for s, c in cells],
            costs={c.id: node.costs[s.id] for s, c in cells if s.id in node.costs},
            covariates={},
            core=None,
        )
        for node in nodes
        for number, cells in _by_device(node.cells).items()
    ]


def _by_device(summaries: Sequence[CellSummary]) -> dict[int, list[tuple[CellSummary, Cell]]]:
    """By the number of the device, summaries with their cells without the number."""
    found: dict[int, list[tuple[CellSummary, Cell]]] = {}
    for summary in summaries:
        kernel, number = known_kernel(summary.kernel), summary.cell.parameters.get("device")
        single = kernel is not None and kernel.min_devices == 1
        if single and isinstance(number, int) and number >= 0:
            rest = {k: v for k, v in summary.cell.parameters.items() if k != "device"}
            cell = msgspec.structs.replace(summary.cell, parameters=rest)
            found.setdefault(number, []).append((summary, cell))
    return dict(sorted(found.items()))


def by_node(nodes: Sequence[MeasuredNode]) -> list[CellByNode]:
    """Each cell's headline metric over the nodes that have it, in the order of the first node.

    A cell that only one node has is left out.
    """
    found: dict[str, list[tuple[MeasuredNode, MetricSummary]]] = defaultdict(list)
    cells: dict[str, tuple[Cell, str]] = {}
    for node in nodes:
        for summary in node.cells:
            headline = _headline(summary)
            if headline is not None and summary.verified is not False:
                cells.setdefault(summary.id, (summary.cell, headline[0]))
                found[summary.id].append((node, headline[1]))
    return [_over_nodes(*cells[id_], values) for id_, values in found.items() if len(values) > 1]


def _headline(summary: CellSummary) -> tuple[str, MetricSummary] | None:
    if not summary.metrics:
        return None
    kernel = known_kernel(summary.kernel)
    name = kernel.headline if kernel and kernel.headline in summary.metrics else ""
    name = name or next(iter(summary.metrics))
    return name, summary.metrics[name]


def _over_nodes(
    cell: Cell, metric: str, found: Sequence[tuple[MeasuredNode, MetricSummary]]
) -> CellByNode:
    first = found[0][1]
    values = np.array([summary.median for _, summary in found])
    median = float(np.median(values))
    sigma = ROBUST * float(np.median(np.abs(values - median)))
    sign = 1.0 if first.better == "more" else -1.0
    each = [
        NodeValue(
            node=node.name,
            member=node.member,
            value=summary.median,
            gain=sign * (summary.median - median) / abs(median) if median else 0.0,
            sigmas=sign * (summary.median - median) / sigma if sigma > 0 else None,
        )
        for node, summary in found
    ]
    return CellByNode(
        cell=cell,
        id=cell.id,
        metric=metric,
        unit=first.unit,
        better=first.better,
        median=median,
        ci95=median_interval(values),
        cov=coefficient_of_variation(values),
        robust=sigma / abs(median) if median else 0.0,
        values=sorted(each, key=lambda value: (-value.gain, value.member)),
    )


def gains(cells: Sequence[CellByNode]) -> list[NodeGain]:
    """Each node over all cells, the slowest first."""
    of_node: dict[tuple[str, int], list[tuple[float, str]]] = defaultdict(list)
    for cell in cells:
        for value in cell.values:
            of_node[value.node, value.member].append((value.gain, cell.label))
    each_node = [
        NodeGain(
            node=node,
            member=member,
            cells=len(found),
            gain=float(np.median([gain for gain, _ in found])),
            worst=min(found)[1],
            worst_gain=min(found)[0],
        )
        for (node, member), found in of_node.items()
    ]
    return sorted(each_node, key=lambda each: (each.gain, each.member))
