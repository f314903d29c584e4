"""What the statistics yield: summaries that never stand without their uncertainty."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.model.cell import Cell

# Why a candidate of a search has no numbers though the run is done.
UNTRIED = "It was not tried: its search did not ask for it."

Stop = Literal["precision", "budget", "launches", "interrupted", "failed", "imported"]


class MetricSummary(msgspec.Struct, frozen=True):
    """One metric of one cell over all its launches.

    ``median`` and ``ci95`` are of the launches' medians (two-level sampling): of such intervals 95%
    hold the median that endlessly many launches would have, made at such times as these if they are
    under twenty; of more, dependence on the launch before is allowed for. ``ci95`` is null under
    six launches, for which no nonparametric 95% interval exists. ``min``, ``max``, ``p05``, ``p95``
    are over all samples after warm-up, ``cov`` is the coefficient of variation between launches,
    ``cov_samples`` of the samples within them (median over launches). ``n`` counts launches,
    ``samples`` samples. ``stop`` is "imported" where another tool printed the numbers.
    """

    unit: str
    better: Literal["more", "less"]
    median: float
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


class CellSummary(msgspec.Struct, frozen=True):
    """One cell over all its launches: what ``assay measure --json`` prints.

    ``verified`` is null if nothing could be checked, false if any launch failed its check; no
    metric is given then. ``caveats`` are sentences about what touches these numbers.
    ``precise_launches`` counts those whose own samples reached the precision asked for. ``hosts``:
    the sets of hosts that its launches ran on, each in bracket notation ("n[1-4]").
    ``lost_launches`` counts those that failed and were not made up for. ``span``: s
    from the begin of its first measurement to the end of its last one.
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
    hosts: list[str] = []
    lost_launches: int = 0
    span: float | None = None
