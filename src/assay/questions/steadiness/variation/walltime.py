"""The walltime to request for jobs that vary as a cell did, and the cost of a two-sigma rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.model.cell import Cell
from assay.questions.steadiness.variation.cells import CellVariation

if TYPE_CHECKING:
    from assay.stats.repeats.walltime import Walltime

# Share of the runs that must finish within the walltime; confidence in this share.
SHARE, CONFIDENCE = 0.99, 0.95
# Kernels whose run is a whole program, like a job.
_PROGRAMS = ("npb.", "linpack")
_HOUR = 3600.0


@dataclass(frozen=True)
class WalltimeRequest:
    """The walltime to request for jobs that vary as one cell did."""

    #: Id of the cell.
    cell: Cell
    #: Label of the cell, as in ``CellVariation``.
    label: str
    #: Unit of the times: "s", or "" if they are relative to their median.
    unit: str
    #: Median of the times.
    median: float
    #: Walltime to request, its cost, and the cost of median + 2 standard deviations.
    walltime: Walltime

    @property
    def times(self) -> float:
        """The walltime over the median."""
        return self.walltime.seconds / self.median

    @property
    def sigma_times(self) -> float:
        """Median + 2 standard deviations over the median."""
        return self.walltime.two_sigma.seconds / self.median

    def in_hours(self, hours: float) -> float:
        """Hours lost or idle in 100 runs, scaled to a median run of one hour."""
        return hours / (self.median / _HOUR)


def walltimes_of(varied: Sequence[CellVariation]) -> list[WalltimeRequest]:
    """Requests for each cell that is a whole program, or for all cells if none is; the worst
    first.
    """
    from assay.kernels import known_kernel
    from assay.stats.repeats.walltime import asked_walltime

    programs = [
        each
        for each in varied
        if each.cell.kernel.startswith(_PROGRAMS) or known_kernel(each.cell.kernel) is None
    ]
    requests = [
        WalltimeRequest(
            cell=each.cell,
            label=each.label,
            unit=each.unit,
            median=each.spread.median,
            walltime=asked_walltime(each.times, SHARE, CONFIDENCE),
        )
        for each in programs or varied
        if each.times.min() > 0.0
    ]
    return sorted(requests, key=lambda request: -request.times)
