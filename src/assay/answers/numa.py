"""Near and far memory: what was measured for pairs of the cores' NUMA node and the memory's."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.hierarchy import KERNEL as LATENCY
from assay.answers.model import Evidence
from assay.answers.select import Point, best, evidence, leading, points, ratio
from assay.kernels import parameters_text
from assay.stats.model import CellSummary
from assay.units import counted, format_quantity

_MEASURED = (
    ("memory.stream", "bandwidth", "STREAM"),
    (LATENCY, "latency", "Latency of a load"),
)

Matrix = dict[tuple[int, int], Point]


def numa_matrix(cells: Sequence[CellSummary], kernel: str, metric: str) -> Matrix:
    """By (node of the cores, node of the memory), alike in all else; of few pairs, nothing.

    Alike: the parameters and cores of which most pairs were measured.
    """
    groups: dict[tuple[str, int], Matrix] = {}
    found = points(cells, kernel, metric)
    for point in leading(found) if found else []:
        near, far = point.summary.cell.placement.numa_node, point.parameter("memory_node")
        if near is None or not isinstance(far, int) or far < 0:
            continue
        cell = point.summary.cell
        words = parameters_text(cell).replace(f"memory_node={far}", "")
        groups.setdefault((words, point.cores), {})[near, far] = point
    whole = max(groups.values(), key=len, default={})
    return whole if len({far for _, far in whole}) > 1 else {}


def numa_evidence(cells: Sequence[CellSummary]) -> list[Evidence]:
    """For each kernel the best pair of one node and the worst of two, set against each other."""
    rows: list[Evidence] = []
    for kernel, metric, title in _MEASURED:
        matrix = numa_matrix(cells, kernel, metric)
        local = [point for (near, far), point in matrix.items() if near == far]
        remote = {pair: point for pair, point in matrix.items() if pair[0] != pair[1]}
        if not local or not remote:
            continue
        less = best(local).metric.better == "less"
        worst = (max if less else min)(remote, key=lambda pair: remote[pair].metric.median)
        near, far = best(local), remote[worst]
        title_of_near = f"{title}, memory of the own NUMA node"
        rows.append(evidence(title_of_near, near, metric, note=counted(near.cores, "core")))
        value, interval = ratio(far.metric, near.metric)
        unit = near.metric.unit
        rows.append(
            Evidence(
                label=f"{title}, memory of another NUMA node over the own",
                metric="ratio",
                unit="",
                value=value,
                ci95=interval,
                limit=None,
                limit_source=None,
                share=None,
                share_ci95=None,
                cells=[near.summary.id, far.summary.id],
                note=f"cores of node {worst[0]}, memory of node {worst[1]}: "
                f"{format_quantity(far.metric.median, unit)}; the farthest of "
                f"{counted(len(matrix), 'pair')}",
            )
        )
    return rows
