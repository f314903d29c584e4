"""Findings on the causes of differences between placements."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from assay.questions.common.question import Measured
from assay.questions.placement.causes.breakdown import WorkBreakdown, find_breakdowns
from assay.questions.placement.causes.cpu_time import CpuTimeShares, cpu_time_shares
from assay.questions.placement.causes.forecasts import ForecastComparison, compare_forecasts


@dataclass(frozen=True)
class PredictionErrors:
    """Relative errors of the contention model over ``count`` placements."""

    #: Number of placements.
    count: int
    #: ``median``, ``most``: median and maximum of the absolute values.
    median: float
    most: float


@dataclass(frozen=True)
class CausesFindings:
    """The time of each placement by component."""

    #: Each work whose ranks recorded their phases, on each number of nodes.
    works: list[WorkBreakdown]
    #: Errors of the contention model's predictions; None without predictions.
    errors: PredictionErrors | None
    #: Each user's command, by ranks ascending.
    commands: list[list[CpuTimeShares]]
    #: The fastest placement of each profiled command against what its profile lets expect.
    forecasts: list[ForecastComparison]


def find(measured: Measured) -> CausesFindings:
    """Find the causes; both lists are empty if there are no data on them."""
    works = find_breakdowns(measured.cells, measured.run, measured.history)
    return CausesFindings(
        works,
        _errors(works),
        cpu_time_shares(measured.cells, measured.run),
        compare_forecasts(measured.cells, measured.run.manifest.plan),
    )


def _errors(works: Sequence[WorkBreakdown]) -> PredictionErrors | None:
    errors = [
        abs(placed.predicted.time / placed.point.metric.median - 1.0)
        for work in works
        for placed in work.placements
        if placed.predicted is not None
    ]
    if not errors:
        return None
    return PredictionErrors(len(errors), statistics.median_high(errors), max(errors))
