"""Findings on exchanges between neighbours in a grid of ranks."""

from __future__ import annotations

from dataclasses import dataclass

from assay.models.network.minimum import NEIGHBOURS, MissingData
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio
from assay.questions.common.selection import Point, points
from assay.questions.network.against import against, lacking
from assay.questions.network.parameters import message_bytes

KERNEL = "network.neighbour"
# The method that others are compared with.
COLLECTIVE = "collective"


@dataclass(frozen=True)
class NeighbourFindings:
    """Exchanges between neighbours of a run."""

    #: The smallest exchange, by the collective if it was measured.
    head: Point
    #: The smallest and the largest exchange of each operation by each method.
    ends: tuple[Point, ...]
    #: Time by another method over the time by the neighbourhood collective.
    methods: tuple[Ratio, ...]
    #: Data that the comparisons lack.
    missing: tuple[MissingData, ...]


def find(measured: Measured) -> NeighbourFindings | None:
    """Findings on exchanges between neighbours; None if no usable cell measured one."""
    found = sorted(points(measured.cells, KERNEL, "time"), key=message_bytes)
    if not found:
        return None
    groups: dict[tuple[object, ...], list[Point]] = {}
    for point in found:
        cell = point.summary.cell
        key = (operation(point), method(point), cell.placement, cell.toolchain)
        groups.setdefault(key, []).append(point)
    ends = [
        group[place]
        for group in groups.values()
        for place in dict.fromkeys((0, len(group) - 1))  # a single point once
    ]
    methods = against(found, "method", COLLECTIVE)
    return NeighbourFindings(
        head=next((point for point in found if method(point) == COLLECTIVE), found[0]),
        ends=tuple(ends),
        methods=tuple(methods),
        missing=lacking(NEIGHBOURS, methods),
    )


def operation(point: Point) -> str:
    """``alltoall`` or ``allgather``."""
    return str(point.parameter("op"))


def method(point: Point) -> str:
    """``collective``, ``messages``, …"""
    return str(point.parameter("method"))
