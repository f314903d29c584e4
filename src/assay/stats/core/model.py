"""Summaries of cells and metrics, each with its uncertainty."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.model.cell import Cell

# Why a candidate of a search has no numbers in a complete run.
UNTRIED = "It was not tried: its search did not need it."
# The beginning of the reason why a cell that did not fit into the budget has no numbers.
LEFT_OUT = "It was left out"

Stop = Literal["precision", "budget", "launches", "interrupted", "failed", "imported"]


class MetricSummary(msgspec.Struct, frozen=True):
    """One metric of one cell over all its launches.

    ``median`` and ``ci95`` describe the launches' medians (two-level sampling): 95% of such
    intervals contain the median of infinitely many launches. Under twenty launches this holds for
    launches made in the same period; from twenty on the interval allows for dependence on the
    preceding launch. ``ci95`` is null under six launches, for which no nonparametric 95% interval
    exists. ``min``, ``max``, ``p05``, ``p95`` are over all samples after warm-up, ``cov`` is the
    coefficient of variation between launches, ``cov_samples`` of the samples within them (median
    over launches). ``n`` counts launches, ``samples`` samples. ``stop`` is "imported" if another
    tool printed the numbers.
    """

    unit: str
    better: Literal["more", "less"]
    median: float
    #: 95% interval.
    ci95: tuple[float, float] | None
    min: float
    max: float
    p05: float
    p95: float
    cov: float | None
    cov_samples: float | None
    n: int
    samples: int
    stop: Stop


class RunAgreement(msgspec.Struct, frozen=True):
    """Where the values of other runs of the machine lie, relative to a cell's 95% interval."""

    #: Number of other runs of at least five launches of this cell, since its last change of level.
    runs: int
    #: Number of these runs below the interval or above it, whichever is greater.
    beyond: int
    #: The same for the interval of twice the distances from the median.
    far: int


class ClaimEvidence(msgspec.Struct, frozen=True):
    """How far a cell's 95% interval can be trusted, by other cells of the run and by other runs.

    The cell's own values are not used, so that a narrow interval does not testify for itself.
    """

    #: Number of launches of the headline metric.
    launches: int
    #: Number of other cells, less where cells share disturbances. Under four, nothing is known.
    cells: float
    #: The greatest autocorrelation of successive launches that the other cells permit (84% limit);
    #: 0.7 if they are too few.
    autocorrelation: float
    #: Share of the other cells that had at most as many launches, if the cell stopped because it
    #: reached the precision before the maximum number of launches; else null.
    early: float | None
    #: Expected share of such intervals that contain the true median at this autocorrelation, less
    #: the loss by stopping early; null if this loss is unknown.
    coverage: float | None
    #: What other runs of the machine show; null if they were not read.
    others: RunAgreement | None = None


class DeviceEnergy(msgspec.Struct, frozen=True):
    """The energy that all devices used for one operation of a cell, J."""

    #: Median over the launches.
    value: float
    #: Its 95% interval; null with too few launches.
    ci95: tuple[float, float] | None
    #: The most by which ``value`` may be wrong because of the times at which power or energy were
    #: read, J: the median over the launches.
    error: float
    #: Whether all devices counted their energy, or their power was integrated.
    source: Literal["counter", "power"]
    launches: int


class SampledPairs(msgspec.Struct, frozen=True):
    """Measured pairs of a kernel that measures every pair of its members, or a random part."""

    #: Number of different pairs over all launches, of ``in_all``.
    pairs: int
    in_all: int
    #: Number of pairs of a launch.
    per_launch: int
    #: The parameter ``most``, if it permits no more pairs in a launch; else null.
    most: int | None


class CellSummary(msgspec.Struct, frozen=True):
    """One cell over all its launches, as ``assay measure --json`` prints it.

    ``verified`` is null if nothing could be checked, false if any launch failed its check; no
    metric is given then. ``caveats`` are sentences on what affects these numbers.
    ``precise_launches`` counts launches whose own samples reached the requested precision.
    """

    kernel: str
    id: str
    cell: Cell
    status: Literal["ok", "failed", "interrupted"]
    verified: bool | None
    parameters: dict[str, int | float | str]
    metrics: dict[str, MetricSummary]
    caveats: list[str]
    error: str | None = None
    precise_launches: int = 0
    #: The sets of hosts that its launches ran on, each in bracket notation ("n[1-4]").
    #: ``lost_launches`` counts launches that failed and were not repeated successfully.
    hosts: list[str] = []
    lost_launches: int = 0
    #: Time from the start of its first measurement to the end of its last measurement, s.
    span: float | None = None
    #: Evidence for the intervals of its metrics; null without an interval, and for imported runs.
    evidence: ClaimEvidence | None = None
    #: Energy of the devices for one operation; null if no device tells it.
    device_energy: DeviceEnergy | None = None
    #: How many pairs were measured; null for kernels without pairs.
    sampled: SampledPairs | None = None

    @property
    def left_out(self) -> bool:
        """Whether it was left out because it would have exceeded the available time."""
        return self.error is not None and self.error.startswith(LEFT_OUT)
