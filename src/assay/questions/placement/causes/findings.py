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
    """Relative errors of the contention model's predictions."""

    #: Number of predicted placements.
    count: int
    #: Median of the absolute errors.
    median: float
    #: Maximum of the absolute errors.
    most: float


@dataclass(frozen=True)
class CausesFindings:
    """The time of each placement by component."""

    #: Breakdowns of each work whose ranks recorded their phases, by number of nodes.
    works: list[WorkBreakdown]
    #: Errors of the contention model's predictions; None without predictions.
    errors: PredictionErrors | None
    #: CPU time of each user's command, by ascending number of ranks.
    commands: list[list[CpuTimeShares]]
    #: Fastest placement of each profiled command, compared with its profile's predictions.
    forecasts: list[ForecastComparison]


def find(measured: Measured) -> CausesFindings:
    """Find the causes; the lists are empty if there are no data."""
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
