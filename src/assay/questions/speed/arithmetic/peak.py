"""The theoretical peak of the cores in use, at the clock that was measured while they ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.model.placement import Placement
from assay.questions.common.selection import Point, covariate
from assay.records.model import RunData

if TYPE_CHECKING:
    from assay.system.model import System

DGEMM = "compute.dgemm"
PEAK = "compute.peak"
# Above the peak by more than this, the clock that the peak was computed with must have been wrong.
ABOVE_PEAK = 1.02


@dataclass(frozen=True)
class PeakLimit:
    """The theoretical peak of the cores in use.

    ``rate``: in flop/s. ``source``: how it was computed. ``assumed``: whether a fact of the
    processor behind it is assumed rather than known.
    """

    rate: float
    source: str
    assumed: bool


def theoretical_peak(run: RunData, found: Sequence[Point]) -> PeakLimit | None:
    """The peak of the cores that these points used, at the clock measured while they ran.

    The points share a placement's size. None where the system's facts don't say enough.
    """
    from assay.system.model import System
    from assay.system.peak import peak_flops

    try:
        system = System.from_dict(run.manifest.system)
    except AssayError:  # described by another version: no peak, and the report goes on
        return None
    clock = covariate(run, (point.summary.id for point in found), "clock_rate")
    peak = peak_flops(system, _physical_cores(found[0].summary.cell.placement, system), clock)
    return PeakLimit(peak.value, peak.explanation, peak.assumed) if peak else None


def _physical_cores(placement: Placement, system: System) -> int:
    """Cores with pipes of their own: hardware threads beyond a node's cores add none."""
    per_node = placement.ppn * placement.threads
    return placement.nodes * min(per_node, system.processor.cores or per_node)
