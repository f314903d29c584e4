"""What a reason costs in several launches: median, interval, and whether it stands out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, stdev

from assay.models.program.prediction import BETWEEN_LAUNCHES
from assay.stats.core.intervals import median_interval
from assay.subjects.why.model import ReasonOutcome

# Shares of the run time: a reason stands out from LEAST on, if its interval is above SURE. It is
# small if its interval ends below LEAST, or if it is below SURE itself.
LEAST, SURE = 0.05, 0.025
# Quantiles 0.975 of Student's t for 3 to 5 launches; from 6 on the median has an interval without
# assumptions.
_T = {3: 4.303, 4: 3.182, 5: 2.776}
FEW = 3


@dataclass(frozen=True)
class LaunchCost:
    """A cost in the launches, s."""

    seconds: float
    low: float
    high: float


def cost_of(values: Sequence[float], run_time: float) -> LaunchCost:
    """Median and 95% interval of one value per launch.

    From 6 launches on by order statistics, for 3 to 5 by Student's t. With fewer, launches are
    assumed to differ by `BETWEEN_LAUNCHES` of ``run_time`` (s). A cost is never below 0.
    """
    middle = median(values)
    if interval := median_interval(values):
        low, high = interval
    elif len(values) >= FEW:
        half = _T[len(values)] * stdev(values) / math.sqrt(len(values))
        low, high = middle - half, middle + half
    else:
        low = min(values) - BETWEEN_LAUNCHES * run_time
        high = max(values) + BETWEEN_LAUNCHES * run_time
    return LaunchCost(max(middle, 0.0), max(low, 0.0), max(high, 0.0))


def outcome_of(cost: LaunchCost, run_time: float) -> ReasonOutcome:
    """Whether a cost stands out from a run of ``run_time`` s."""
    if cost.seconds >= LEAST * run_time and cost.low >= SURE * run_time:
        return "stands out"
    if cost.high < LEAST * run_time or cost.seconds < SURE * run_time:
        return "small"
    return "undecided"
