"""The phases that a kernel times in addition to the total, and their shares of the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.kernels import known_kernel
from assay.kernels.npb import is_phase
from assay.questions.common.findings import INTERNAL
from assay.questions.common.selection import Point
from assay.stats.core.model import CellSummary, MetricSummary
from assay.units import Interval

COMPUTE = "compute"


@dataclass(frozen=True)
class CellPhases:
    """The phases of one cell, mean over ranks."""

    #: Rate of the cell.
    point: Point
    #: Share of each phase in the sum of all phases, in the catalogue's order.
    shares: Mapping[str, float]
    #: Time of each phase, in s.
    seconds: Mapping[str, MetricSummary] = field(metadata=INTERNAL)


@dataclass(frozen=True)
class NpbPhases(CellPhases):
    """The phases of a benchmark that times computing and each kind of communication."""

    #: Share of all phases except computing.
    communication: float
    #: 95% interval of computing's share, with the other phases treated as exact; None if there is
    #: none.
    compute_interval: Interval | None

    @property
    def largest_communication(self) -> str:
        """The kind of communication that takes the most time; "" if none takes time."""
        others = {name: share for name, share in self.shares.items() if name != COMPUTE}
        name = max(others, key=lambda name: others[name], default="")
        return name if name and others[name] > 0 else ""


def cell_phases(point: Point) -> CellPhases | None:
    """The phases of a point's cell; None if no phase was timed or no phase took time."""
    shares = phase_shares(point.summary)
    return CellPhases(point, shares, phase_times(point.summary)) if shares else None


def npb_phases(point: Point) -> NpbPhases | None:
    """The phases of an NPB cell; None if no phase was timed or no phase took time."""
    shares = phase_shares(point.summary)
    if not shares:
        return None
    return NpbPhases(
        point,
        shares,
        phase_times(point.summary),
        communication=sum(share for name, share in shares.items() if name != COMPUTE),
        compute_interval=share_interval(point.summary, COMPUTE),
    )


def phase_times(cell: CellSummary) -> dict[str, MetricSummary]:
    """The time of each phase in s, mean over ranks, in the catalogue's order."""
    kernel = known_kernel(cell.kernel)
    return {
        metric.name: cell.metrics[metric.name]
        for metric in (kernel.metrics if kernel else ())
        if is_phase(metric) and metric.name in cell.metrics
    }


def phase_shares(cell: CellSummary) -> dict[str, float]:
    """The share of each phase in the sum; empty if no phase was timed or no phase took time."""
    seconds = {name: metric.median for name, metric in phase_times(cell).items()}
    whole = sum(seconds.values())
    return {name: value / whole for name, value in seconds.items()} if whole > 0 else {}


def share_interval(cell: CellSummary, phase: str) -> Interval | None:
    """95% interval of a phase's share, with the other phases treated as exact; None without one."""
    phases = phase_times(cell)
    whole = sum(metric.median for metric in phases.values())
    interval = phases[phase].ci95 if phase in phases else None
    if interval is None or whole <= 0:
        return None
    rest = whole - phases[phase].median
    low, high = interval
    return low / (low + rest), high / (high + rest)
