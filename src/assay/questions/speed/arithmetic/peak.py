"""The theoretical peak of the cores in use, at the clock rate measured while they ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.kernels import find_kernel
from assay.model.placement import Placement
from assay.questions.common.answer import Bound
from assay.questions.common.selection import Point, covariate
from assay.records.model import RunData
from assay.stats.cells.summarise import LeftOut, work_of

if TYPE_CHECKING:
    from assay.system.model import System

DGEMM = "compute.dgemm"
PEAK = "compute.peak"
# Duration of one operation at the peak, in s, above which start-up costs can't explain a rate under
# 1% of the peak.
_LONG = 1e-3


@dataclass(frozen=True)
class PeakLimit:
    """The theoretical peak of the cores in use."""

    #: Peak, in flop/s.
    rate: float
    #: Sentence on how the peak was computed.
    source: str
    #: Whether the peak depends on an assumed property of the processor.
    assumed: bool


def theoretical_peak(run: RunData, found: Sequence[Point]) -> PeakLimit | None:
    """The peak of the cores that these points used, at the clock rate measured while they ran.

    The points use the same number of cores. None if too little is known about the system.
    """
    from assay.system.model import System
    from assay.system.peak import peak_flops

    system = System.known(run.manifest.system)
    if system is None:  # the report is still useful without a peak
        return None
    clock = covariate(run, (point.summary.id for point in found), "clock_rate")
    peak = peak_flops(system, _physical_cores(found[0].summary.cell.placement, system), clock)
    return PeakLimit(peak.value, peak.explanation, peak.assumed) if peak else None


def bound_of(point: Point, peak: float) -> Bound:
    """The kind of the peak as a limit: whether a result below 1% of it is possible.

    Short operations and operations whose ranks wait for a network can be this slow. ``peak`` is in
    flop/s.
    """
    cell = point.summary.cell
    kernel = find_kernel(cell.kernel)
    if cell.placement.nodes > 1:
        return "computed"
    try:
        work = work_of(kernel, "flops", cell, point.summary.parameters)
    except LeftOut:
        return "computed"
    return "attained" if cell.kernel == PEAK or work / peak >= _LONG else "computed"


def _physical_cores(placement: Placement, system: System) -> int:
    """Number of physical cores in use; hardware threads beyond a node's cores don't count."""
    per_node = placement.ppn * placement.threads
    return placement.nodes * min(per_node, system.processor.cores or per_node)
