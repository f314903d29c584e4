"""Local and remote memory: pairs of the cores' NUMA node and the memory's NUMA node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.kernels.naming import parameters_text
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import Point, chosen_best, chosen_worst, leading, points
from assay.questions.speed.memory.hierarchy import KERNEL as LATENCY
from assay.stats.core.model import CellSummary

_METRICS = {"memory.stream": "bandwidth", LATENCY: "latency"}

Matrix = dict[tuple[int, int], Point]


@dataclass(frozen=True)
class NumaFindings:
    """The slowest remote pair of NUMA nodes against the best local one."""

    #: Metric of the remote pair over the metric of the local pair.
    ratio: Ratio
    #: ``cores_node``, ``memory_node``: NUMA nodes of the remote pair.
    cores_node: int
    memory_node: int
    #: Number of measured pairs.
    pairs: int

    @property
    def local(self) -> Point:
        """The best pair of cores and memory on the same NUMA node."""
        return self.ratio.below


def numa_matrix(cells: Sequence[CellSummary], kernel: str, metric: str) -> Matrix:
    """The points by (node of the cores, node of the memory).

    All points share the other parameters and the number of cores; the combination with the most
    pairs is chosen. Empty if it has a single node of the memory.
    """
    groups: dict[tuple[str, int], Matrix] = {}
    found = points(cells, kernel, metric)
    for point in leading(found) if found else []:
        near, far = point.summary.cell.placement.numa_node, point.parameter("memory_node")
        if near is None or not isinstance(far, int) or far < 0:
            continue
        cell = point.summary.cell
        others = parameters_text(cell).replace(f"memory_node={far}", "")
        groups.setdefault((others, point.cores), {})[near, far] = point
    whole = max(groups.values(), key=len, default={})
    return whole if len({far for _, far in whole}) > 1 else {}


def numa_matrices(cells: Sequence[CellSummary]) -> dict[str, Matrix]:
    """The matrix of each kernel that measured several nodes of the cores and of the memory."""
    found = {name: numa_matrix(cells, name, metric) for name, metric in _METRICS.items()}
    return {name: matrix for name, matrix in found.items() if len({near for near, _ in matrix}) > 1}


def find_numa(cells: Sequence[CellSummary]) -> dict[str, NumaFindings]:
    """The slowest remote pair over the best local pair, by kernel, if both were measured."""
    found = {}
    for kernel, metric in _METRICS.items():
        matrix = numa_matrix(cells, kernel, metric)
        local = [point for (near, far), point in matrix.items() if near == far]
        remote = {pair: point for pair, point in matrix.items() if pair[0] != pair[1]}
        if not local or not remote:
            continue
        worst = chosen_worst(list(remote.values()))
        (slowest,) = (p for p, point in remote.items() if point.summary.id == worst.summary.id)
        ratio = ratio_of(worst, chosen_best(local))
        found[kernel] = NumaFindings(ratio, *slowest, len(matrix))
    return found
