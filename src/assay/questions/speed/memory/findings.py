"""Findings on memory: bandwidth, access, latency, and the curves of the figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.selection import Point, points
from assay.questions.speed.memory.access import (
    AccessFindings,
    StridedRatios,
    find_access,
    strided_ratios,
)
from assay.questions.speed.memory.bandwidth import (
    KERNEL,
    BandwidthFindings,
    SaturationCurves,
    find_bandwidth,
    find_saturation,
)
from assay.questions.speed.memory.hierarchy import MemoryLevel, latencies, memory_levels


@dataclass(frozen=True)
class MemoryCurves:
    """What the figures draw: usable cells, including candidates of a placement search."""

    #: STREAM's bandwidths.
    stream: Sequence[Point]
    #: Triad against cores, None where not measured.
    saturation: SaturationCurves | None
    #: By operation and stride, the access time on all cores over that on one.
    strided: StridedRatios
    #: Of loads, by ascending working set.
    latencies: Sequence[Point]


@dataclass(frozen=True)
class MemoryFindings:
    """Memory."""

    #: STREAM.
    bandwidth: BandwidthFindings | None
    #: Strided and random access, latency, NUMA. Either is None where no usable cell measured it.
    access: AccessFindings | None
    #: The levels of the memory hierarchy that hold data, with their sizes in bytes, as the system
    #: reports them.
    levels: Sequence[MemoryLevel]
    curves: MemoryCurves = field(metadata=INTERNAL)


def find(measured: Measured) -> MemoryFindings | None:
    """Findings on memory; None if nothing was measured."""
    own = measured.without_candidates().own_cells()
    levels = memory_levels(measured.run)
    access = find_access(own.cells, levels)
    searched = len(own.cells) < len(measured.cells)
    curves = MemoryCurves(
        stream=points(measured.cells, KERNEL, "bandwidth"),
        saturation=find_saturation(measured),
        strided=strided_ratios(measured.cells) if searched or not access else access.strided,
        latencies=latencies(measured.cells),
    )
    bandwidth = find_bandwidth(own.cells, measured.history)
    if not (bandwidth or access or curves.stream or curves.strided or curves.latencies):
        return None
    return MemoryFindings(bandwidth, access, levels, curves)
