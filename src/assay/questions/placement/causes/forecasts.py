"""The fastest placement of a profiled command, and whether its profile explains it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from assay.kernels.outside import APP
from assay.model.demand import PlacementForecast, ProgramDemand
from assay.model.plan import Plan
from assay.questions.common.ratios import ratio_of
from assay.questions.common.selection import Point
from assay.questions.placement.works import is_plain, works_of
from assay.stats.compare.chosen import chosen_interval
from assay.stats.compare.directions import Direction
from assay.stats.core.intervals import Estimate
from assay.stats.core.model import CellSummary

# The parts of a forecast, and how each makes a placement faster.
PARTS = {
    "compute": "its computing is divided among more cores",
    "imbalance": "its ranks wait less for the one that computes longest",
    "messages": "its ranks exchange fewer messages",
    "between": "fewer bytes cross the adapter that a node's ranks share",
}
# Minimum change of the time for a cause to be named.
_LEAST = 0.02


@dataclass(frozen=True)
class ForecastComparison:
    """The fastest placement of a profiled command compared with another one."""

    #: Demand of the command, from its profile.
    demand: ProgramDemand
    #: Fastest measured placement.
    best: Point
    #: Plain placement with the most ranks on as many nodes. If ``best`` is this placement: the next
    #: fastest.
    other: Point
    #: Forecast for ``best``.
    expected: PlacementForecast
    #: Forecast for ``other``.
    than: PlacementForecast
    #: Expected time at ``best`` over expected time at ``other``.
    predicted: float
    #: Measured time at ``best`` over measured time at ``other``; the interval allows for the choice
    #: of ``best``.
    measured: Estimate
    #: Number of comparable placements that ``best`` was chosen among, itself included.
    among: int
    #: Whether the measured ratio is below 1 ("less") or above ("more") beyond its range; else
    #: "open".
    direction: Direction
    #: Part of the forecast that explains the difference, one of ``PARTS``. None if the profile
    #: predicts no difference, or if the measured times contradict it.
    cause: str | None
    #: Median relative error of the expected times of ``count`` placements, scaled to agree at the
    #: fastest one. None with fewer than two others.
    errors: float | None
    #: Number of placements that ``errors`` covers.
    count: int


def compare_forecasts(cells: Sequence[CellSummary], plan: Plan) -> list[ForecastComparison]:
    """Each command with forecasts whose fastest placement can be compared with another one."""
    if plan.demand is None:
        return []
    works = works_of(cells, lambda cell: cell.kernel == APP and cell.id in plan.forecasts)
    found = (_compare(work, plan, plan.demand) for work in works)
    return [one for one in found if one is not None]


def _compare(work: Sequence[Point], plan: Plan, demand: ProgramDemand) -> ForecastComparison | None:
    ranked = sorted(work, key=lambda point: point.metric.median)
    best = ranked[0]
    nodes = best.summary.cell.placement.nodes
    others = [point for point in ranked[1:] if point.summary.cell.placement.nodes == nodes]
    if not others:
        return None
    plain = [point for point in others if is_plain(point.summary.cell)]
    other = max(plain, key=lambda point: point.summary.cell.placement.ppn) if plain else others[0]
    if is_plain(best.summary.cell) and _ppn(best) > _ppn(other):
        other = others[0]
    expected, than = (plan.forecasts[point.summary.id] for point in (best, other))
    measured = ratio_of(best, other)
    compared = measured.compared(comparisons=len(others))
    ends, among = chosen_interval(_ratios_to(ranked, other), 0)
    scale = best.metric.median / expected.time if expected.time > 0.0 else 0.0
    errors = [
        abs(scale * plan.forecasts[point.summary.id].time / point.metric.median - 1.0)
        for point in ranked[1:]
    ]
    return ForecastComparison(
        demand=demand,
        best=best,
        other=other,
        expected=expected,
        than=than,
        predicted=expected.time / than.time if than.time > 0.0 else 1.0,
        measured=Estimate(measured.value, ends),
        among=among,
        direction=compared.direction,
        cause=_cause(expected, than, measured.value, compared.direction),
        errors=statistics.median(errors) if len(errors) > 1 else None,
        count=len(errors),
    )


def _ratios_to(ranked: Sequence[Point], other: Point) -> list[Estimate]:
    """The measured times over the time at ``other``."""
    found = [ratio_of(point, other) for point in ranked if point is not other]
    return [Estimate(one.value, one.ci95) for one in found]


def _ppn(point: Point) -> int:
    return point.summary.cell.placement.ppn


def _cause(
    expected: PlacementForecast,
    than: PlacementForecast,
    measured: float,
    direction: Direction,
) -> str | None:
    """The part that shrinks most, if the whole time shrinks as expected.

    ``direction``: of the measured ratio ``measured``.
    """
    if than.time <= 0.0 or expected.time > (1.0 - _LEAST) * than.time:
        return None
    if measured >= 1.0 - _LEAST or direction != "less":
        return None
    saved = {name: getattr(than, name) - getattr(expected, name) for name in PARTS}
    return max(saved, key=lambda name: saved[name])
