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
# Seconds that one operation takes at the peak, from which start-up costs can't account for a
# hundredth of it.
_LONG = 1e-3


@dataclass(frozen=True)
class PeakLimit:
    """The theoretical peak of the cores in use."""

    #: In flop/s.
    rate: float
    #: How it was computed.
    source: str
    #: Whether it depends on an assumed property of the processor.
    assumed: bool


def theoretical_peak(run: RunData, found: Sequence[Point]) -> PeakLimit | None:
    """The peak of the cores that these points used, at the clock rate measured while they ran.

    The points use the same number of cores. None where too little is known of the system.
    """
    from assay.system.model import System
    from assay.system.peak import peak_flops

    system = System.known(run.manifest.system)
    if system is None:  # no peak, but still a report
        return None
    clock = covariate(run, (point.summary.id for point in found), "clock_rate")
    peak = peak_flops(system, _physical_cores(found[0].summary.cell.placement, system), clock)
    return PeakLimit(peak.value, peak.explanation, peak.assumed) if peak else None


def bound_of(point: Point, peak: float) -> Bound:
    """Whether a result can be below a hundredth of the peak, in flop/s.

    An operation that is short at the peak can, and one whose ranks wait for a network.
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
    """Physical cores in use: hardware threads beyond a node's cores add none."""
    per_node = placement.ppn * placement.threads
    return placement.nodes * min(per_node, system.processor.cores or per_node)
