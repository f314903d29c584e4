"""Findings on memory: bandwidth, access, latency, and the curves of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    with_chosen_stores,
)
from assay.questions.speed.memory.cores import CoreFindings, find_cores
from assay.questions.speed.memory.hierarchy import MemoryLevel, latencies, memory_levels
from assay.questions.speed.memory.loaded import LoadedFindings, find_loaded
from assay.questions.speed.memory.numa import Matrix, numa_matrices


@dataclass(frozen=True)
class MemoryCurves:
    """Contents of the figures: usable cells, including candidates of a placement search."""

    #: Bandwidths of STREAM.
    stream: Sequence[Point]
    #: Triad against number of cores; None if not measured.
    saturation: SaturationCurves | None
    #: Access time on all cores over the time on one, by operation and stride.
    strided: StridedRatios
    #: Latencies of loads, by ascending working set.
    latencies: Sequence[Point]
    #: Each NUMA node's cores with each node's memory, by kernel.
    numa: Mapping[str, Matrix]


@dataclass(frozen=True)
class MemoryFindings:
    """Memory."""

    #: Bandwidth by STREAM; None if no usable cell measured it.
    bandwidth: BandwidthFindings | None
    #: Strided and random access, latency, NUMA; None if no usable cell measured any.
    access: AccessFindings | None
    #: Levels of the memory hierarchy that hold data, with the sizes in bytes that the system
    #: reports.
    levels: Sequence[MemoryLevel]
    #: Latency while other cores stream; None if not measured.
    loaded: LoadedFindings | None
    #: Transfers of a cache line between CPUs; None if not measured.
    cores: CoreFindings | None
    curves: MemoryCurves = field(metadata=INTERNAL)


def find(measured: Measured) -> MemoryFindings | None:
    """Findings on memory; None if nothing was measured."""
    own = measured.without_candidates().own_cells()
    levels = memory_levels(measured.run)
    access = find_access(own.cells, levels)
    searched = len(own.cells) < len(measured.cells)
    curves = MemoryCurves(
        stream=with_chosen_stores(points(measured.cells, KERNEL, "bandwidth")),
        saturation=find_saturation(measured),
        strided=strided_ratios(measured.cells) if searched or not access else access.strided,
        latencies=latencies(measured.cells),
        numa=numa_matrices(own.cells),
    )
    bandwidth = find_bandwidth(own.cells, measured.history)
    loaded = find_loaded(own.cells)
    cores = find_cores(own.cells, measured.run)
    drawn = curves.stream or curves.strided or curves.latencies
    if not (bandwidth or access or loaded or cores or drawn):
        return None
    return MemoryFindings(bandwidth, access, levels, loaded, cores, curves=curves)
