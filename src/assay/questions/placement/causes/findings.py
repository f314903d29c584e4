"""What a run shows of the causes of its placements' times."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from assay.questions.common.question import Measured
from assay.questions.placement.causes.breakdown import WorkBreakdown, find_breakdowns
from assay.questions.placement.causes.cpu_time import CpuTimeShares, cpu_time_shares


@dataclass(frozen=True)
class PredictionErrors:
    """Errors of the contention model, relative: median and greatest over ``count`` placements.

    ``median`` and ``most``: of the absolute values.
    """

    count: int
    median: float
    most: float


@dataclass(frozen=True)
class CausesFindings:
    """Where the time of each placement goes.

    ``works``: each work whose ranks recorded their phases, on each number of nodes. ``errors``:
    of the contention model's predictions; None where nothing was predicted. ``commands``: each
    user's command by ranks ascending.
    """

    works: list[WorkBreakdown]
    errors: PredictionErrors | None
    commands: list[list[CpuTimeShares]]


def find(measured: Measured) -> CausesFindings:
    """All that the run shows of causes; both lists are empty where it shows none."""
    works = find_breakdowns(measured.cells, measured.run, measured.history)
    return CausesFindings(works, _errors(works), cpu_time_shares(measured.cells, measured.run))


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
