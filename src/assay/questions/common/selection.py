"""Selection of points from cells, ratios of two points, and points as text and evidence."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from assay.kernels.naming import placement_text
from assay.kernels.npb.common import MONITOR
from assay.model.placement import Placement, Value
from assay.questions.common.answer import Bound, Evidence
from assay.records.model import RunData
from assay.stats.cells.headline import headline_metric
from assay.stats.core.model import CellSummary, MetricSummary
from assay.units import Interval, format_memory, format_quantity

_PER_RATE = "/(flop/s)"
# NPB's official unit is Mop/s; from this rate on another prefix is easier to read.
MOST_MEGA = 1e10
# Share of the best value at which a curve counts as saturated: "N that reaches 95% of the best",
# and the core count at which memory bandwidth saturates.
ARRIVED = 0.95


@dataclass(frozen=True)
class Point:
    """One metric of one usable cell."""

    #: The cell.
    summary: CellSummary
    #: The metric. If the point was chosen for its result, the interval allows for the choice.
    metric: MetricSummary
    #: Number of comparable cells among which it was chosen for its result, itself included; 1 if
    #: it was not chosen, or was clearly the best.
    among: int = 1

    @property
    def cores(self) -> int:
        """Number of cores in use: ranks times threads."""
        return cores(self.summary.cell.placement)

    def parameter(self, name: str) -> Value | None:
        """The value of the parameter that the kernel used, else the requested one."""
        found = self.summary.parameters.get(name)
        return self.summary.cell.parameters.get(name) if found is None else found


def cores(placement: Placement) -> int:
    """Number of cores that a placement uses: ranks times threads."""
    return placement.ranks * placement.threads


def quantity_text(value: float, unit: str, interval: Interval | None = None) -> str:
    """As ``format_quantity``, with NPB's rates in Mop/s, ratios followed by ``×``, sizes in KiB.

    Rates under a million op/s, as of files, and from ten billion on have the usual prefixes. Orders
    of matrices are whole numbers. A price per flop/s (``EUR/(flop/s)``) is given per Gflop/s.
    """
    if unit == "order":
        bounds = "" if interval is None else f" [{interval[0]:,.0f}, {interval[1]:,.0f}]"
        return f"{value:,.0f}{bounds}"
    if unit.endswith(_PER_RATE):
        number, space, rest = format_quantity(value * 1e9, "", scaled(interval, 1e9)).partition(" ")
        currency = unit.removesuffix(_PER_RATE)
        return " ".join(filter(None, (number, currency, "per Gflop/s"))) + space + rest
    official = unit == "op/s" and 1e6 <= abs(value) < MOST_MEGA
    if official and interval is None:
        mops = value / 1e6
        decimals = 3 - math.floor(math.log10(abs(mops)))
        return f"{mops:.{max(decimals, 0)}f} Mop/s"
    if official and interval is not None:
        number, _, rest = format_quantity(value / 1e6, "", scaled(interval, 1e-6)).partition(" ")
        return f"{number} Mop/s {rest}"
    if unit == "":
        number, space, rest = format_quantity(value, "", interval).partition(" ")
        return f"{number}×{space}{rest}"
    if unit == "B" and interval is not None:
        return f"{format_memory(value)} [{', '.join(map(format_memory, interval))}]"
    if unit == "B":
        return format_memory(value)
    return format_quantity(value, unit, interval)


def measured_text(point: Point) -> str:
    """The median with its interval, or with the number of launches if it has no interval."""
    metric = point.metric
    if metric.ci95 is None:
        launches = "launch" if metric.n == 1 else "launches"
        return f"{quantity_text(metric.median, metric.unit)} ({metric.n} {launches})"
    return quantity_text(metric.median, metric.unit, metric.ci95)


def points(
    cells: Iterable[CellSummary], kernel: str, metric: str, *, monitored: bool = False
) -> list[Point]:
    """The kernel's cells that succeeded, did not fail verification, and have the metric.

    ``monitored``: include cells with a monitor although other cells have none.
    """
    found = [
        Point(cell, cell.metrics[metric])
        for cell in cells
        if cell.kernel == kernel
        and cell.status == "ok"
        and cell.verified is not False
        and metric in cell.metrics
    ]
    if monitored:
        return found
    return [p for p in found if not p.summary.cell.parameters.get(MONITOR.name)] or found


def headline_point(cell: CellSummary) -> Point | None:
    """The cell's headline metric, of an outside program its first one; None without a result."""
    found = headline_metric(cell)
    return None if found is None else Point(cell, found)


def on_any_memory(found: Iterable[Point]) -> list[Point]:
    """The points whose plan named no NUMA node, neither for the ranks nor for their memory."""
    return [
        point
        for point in found
        if point.summary.cell.placement.numa_node is None
        and point.parameter("memory_node") in (None, -1)
    ]


def best(found: Sequence[Point]) -> Point:
    """The point with the best median. Raises ValueError when there is none."""
    more = found[0].metric.better == "more" if found else True
    return (max if more else min)(found, key=lambda point: point.metric.median)


def chosen_best(found: Sequence[Point]) -> Point:
    """The point with the best median, with an interval that allows for the choice.

    The best of several similar medians is the best partly by chance. The median stays the cell's
    measured one. The interval is extended to where it would lie around the expectation of the
    chosen median (``stats.compare.chosen``). Raises ValueError when there is none.
    """
    return chosen_from(best(found), found)


def chosen_worst(found: Sequence[Point]) -> Point:
    """The point with the worst median, as ``chosen_best``."""
    more = found[0].metric.better == "more"
    return chosen_from((min if more else max)(found, key=lambda p: p.metric.median), found)


def chosen_from(top: Point, found: Sequence[Point]) -> Point:
    """A point that was chosen from these for its median, the best or the worst of them.

    Its interval allows for the choice, and it knows the number of comparable points.
    """
    from assay.stats.compare.chosen import chosen_factor, extended, squared_errors

    known = [p for p in found if p.metric.cov and p.metric.n > 1 and p.metric.median > 0.0]
    place = next((at for at, p in enumerate(known) if p.metric is top.metric), None)
    if len(known) < 2 or place is None:
        return top
    medians = [math.log(point.metric.median) for point in known]
    errors = squared_errors(
        medians, [p.metric.cov or 0.0 for p in known], [p.metric.n for p in known], place
    )
    by, among = chosen_factor(medians, errors, place)
    interval = extended(top.metric.ci95, by)
    return Point(top.summary, msgspec.structs.replace(top.metric, ci95=interval), among)


def choice_note(among: int, what: str = "best of {} comparable cells") -> str:
    """``best of 4 comparable cells``; "" for a point that was not chosen among several."""
    return what.format(among) if among > 1 else ""


def best_by(found: Iterable[Point], key: Callable[[Point], int]) -> dict[int, Point]:
    """The best point for each value of the key, in ascending order, as ``chosen_best``."""
    groups: dict[int, list[Point]] = {}
    for point in found:
        groups.setdefault(key(point), []).append(point)
    return {value: chosen_best(groups[value]) for value in sorted(groups)}


def best_by_cores(found: Sequence[Point]) -> dict[int, Point]:
    """The best point on each number of cores, ascending, with the toolchain of ``leading``.

    The toolchain is chosen by the result on the most cores, so that this one is the best of all
    toolchains' points.
    """
    by_cores = best_by(leading(found), lambda point: point.cores)
    most = max(by_cores)
    return by_cores | {most: chosen_best([point for point in found if point.cores == most])}


def leading(found: Sequence[Point]) -> list[Point]:
    """The points of the toolchain that is best on the most cores; toolchains are never mixed."""
    most = max(point.cores for point in found)
    lead = best([point for point in found if point.cores == most]).summary.cell.toolchain
    return [point for point in found if point.summary.cell.toolchain == lead]


def rivals(found: Sequence[Point]) -> list[Point]:
    """The best point of each other toolchain on its largest number of cores."""
    lead = leading(found)[0].summary.cell.toolchain
    names = dict.fromkeys(point.summary.cell.toolchain for point in found)
    points = []
    for name in names:
        own = [point for point in found if point.summary.cell.toolchain == name]
        if name != lead:
            points.append(best_by(own, lambda point: point.cores)[max(p.cores for p in own)])
    return points


def labeller(found: Sequence[Point]) -> Callable[[Point], str]:
    """A function that names a point's placement, and its toolchain if there are several."""
    several = len({point.summary.cell.toolchain for point in found}) > 1

    def label(point: Point) -> str:
        placement = placement_text(point.summary.cell.placement)
        return f"{placement} · {point.summary.cell.toolchain}" if several else placement

    return label


def ratio(above: MetricSummary, below: MetricSummary) -> tuple[float, Interval | None]:
    """The quotient of two medians and its 95% interval; None if either median has no interval.

    The launches of the two cells are independent, so ``ratio_interval`` computes the interval.
    """
    from assay.stats.core.intervals import Estimate, ratio_interval

    value = above.median / below.median
    ends = (*(above.ci95 or ()), *(below.ci95 or ()))
    if above.ci95 is None or below.ci95 is None or min(ends) <= 0:
        return value, None
    return value, ratio_interval(
        Estimate(above.median, above.ci95), Estimate(below.median, below.ci95)
    )


def scaled(interval: Interval | None, by: float) -> Interval | None:
    """The interval with both ends multiplied by a positive number."""
    return None if interval is None else (interval[0] * by, interval[1] * by)


def evidence(
    label: str,
    point: Point,
    metric: str,
    *,
    limit: float | None = None,
    limit_source: str | None = None,
    note: str = "",
    bound: Bound = "",
) -> Evidence:
    """A point as evidence, with its share of the limit if there is one.

    ``bound``: kind of the limit, as in ``Evidence``. The note of a chosen point says among how many
    comparable ones it was chosen.
    """
    summary = point.metric
    return Evidence(
        label=label,
        metric=metric,
        unit=summary.unit,
        value=summary.median,
        ci95=summary.ci95,
        limit=limit,
        limit_source=limit_source if limit else None,
        share=summary.median / limit if limit else None,
        share_ci95=scaled(summary.ci95, 1 / limit) if limit else None,
        cells=[point.summary.id],
        note="; ".join(filter(None, (note, choice_note(point.among)))),
        bound=bound if limit else "",
    )


def covariate(run: RunData, cell_ids: Iterable[str], name: str) -> float | None:
    """The median of a covariate over the measurements of these cells; None if none has it."""
    wanted = set(cell_ids)
    values = [
        value
        for measurement in run.measurements
        if (value := measurement.record.covariates.get(name)) is not None
        and measurement.cell.id in wanted
    ]
    return statistics.median(values) if values else None
