"""The numbers of an exhibit on this machine, each with its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.kernels import find_kernel
from assay.kernels.naming import cell_title
from assay.kernels.npb import is_phase
from assay.model.placement import Value
from assay.questions.common.selection import Point
from assay.questions.papers.facts import fact_of, fact_units
from assay.questions.papers.model import Per, Quantity
from assay.questions.papers.points import RunCells, parsed
from assay.questions.papers.trials import first_over_rest, trials_of
from assay.reference.papers.loading import figure_by_id
from assay.units import Interval

if TYPE_CHECKING:
    from assay.arrays import Floats
    from assay.stats.core.intervals import Estimate


@dataclass(frozen=True)
class PaperValue:
    """A number of an exhibit on this machine.

    Its value has a unit and, if enough launches measured it, a 95% interval.
    """

    #: Number, in ``unit``.
    value: float
    #: 95% interval of ``value``; None if unknown.
    ci95: Interval | None
    #: Unit of ``value``.
    unit: str
    #: "more" or "less", whichever is better; "" if neither is.
    better: str
    #: Ids of the cells from which it was computed.
    cells: tuple[str, ...] = ()
    #: Kernels of the cells; empty for a property of the machine.
    kernels: tuple[str, ...] = ()
    #: Number of nodes that worked; None if the cells differ.
    nodes: int | None = None
    #: Number of cores that worked; None if the cells differ.
    cores: int | None = None
    #: Number of launches of the cell with the fewest; None for a property of the machine.
    launches: int | None = None
    #: Description of the cells.
    where: str = ""


def value_of(
    quantity: Quantity, run: RunCells, known: Mapping[str, PaperValue]
) -> PaperValue | None:
    """The quantity on this machine; None if it was not measured.

    ``known``: the quantities found so far, by name. ``questions.papers.curves.up_to`` finds
    quantities that come from a chart (``Quantity.up_to``).
    """
    if quantity.counted:
        return _counted(quantity)
    if quantity.fact:
        value = fact_of(run.measured.run, quantity.fact)
        if value is None:
            return None
        return PaperValue(value, None, fact_units()[quantity.fact], "", where="as surveyed")
    if quantity.figure:
        figure = figure_by_id(quantity.figure)
        return PaperValue(figure.si, None, figure.si_unit, "", where="as published")
    if quantity.of:
        return _derived(quantity, run, known)
    return _measured(quantity, run)


def unit_of(quantity: Quantity) -> str:
    """The unit of a count, a parameter or a number derived from others; else ""."""
    if quantity.shows:
        parameter = find_kernel(quantity.kernel).parameter(quantity.shows)
        return (parameter and parameter.unit) or "count"
    counts = quantity.up_to or quantity.half or quantity.reaches is not None
    return "count" if counts or quantity.statistic == "runs" else quantity.unit


def _counted(quantity: Quantity) -> PaperValue:
    """An amount of work per element and rank, from the catalogue."""
    kernel = find_kernel(quantity.kernel)
    used: dict[str, Value] = {each.name: each.default for each in kernel.parameters}
    name, _, value = quantity.where.partition("=")
    work = kernel.work({**used, name.strip(): value.strip(), "elements": 1}, 1, 1)
    return PaperValue(work[quantity.counted], None, "count", "", kernels=(quantity.kernel,))


def _measured(quantity: Quantity, run: RunCells) -> PaperValue | None:
    found = run.points(quantity.kernel, quantity.metric, quantity.where)
    if quantity.reaches is not None or quantity.half:
        return _reached(quantity, found)
    chosen = _picked(quantity, found)
    if chosen is None:
        return None
    if quantity.shows:
        shown = chosen.parameter(quantity.shows)
        if not isinstance(shown, int | float):
            return None
        return _of_points([chosen], float(shown), None, unit_of(quantity), "")
    statistic = _statistic(quantity, run, chosen)
    if statistic is None:
        return None
    value, interval, unit = statistic
    by = _divisor(quantity.per, chosen)
    if interval is not None:
        interval = (interval[0] / by, interval[1] / by)
    better = chosen.metric.better if quantity.statistic == "median" else ""
    return _of_points([chosen], value / by, interval, unit, better)


def _divisor(per: Per, point: Point) -> int:
    """Ranks, nodes or cores of a point, by which its value is divided."""
    place = point.summary.cell.placement
    return {"": 1, "rank": place.ranks, "node": place.nodes, "core": point.cores}[per]


def per_value(per: Per, point: Point) -> int:
    """The number by which a curve's values are divided at this point."""
    return _divisor(per, point)


def _picked(quantity: Quantity, found: Sequence[Point]) -> Point | None:
    if not found:
        return None
    if quantity.pick in ("largest", "smallest"):
        choose: Callable[..., Point] = max if quantity.pick == "largest" else min
        return choose(found, key=lambda point: _number(point, quantity.by))
    more = (found[0].metric.better == "more") == (quantity.pick == "best")
    return (max if more else min)(found, key=lambda point: point.metric.median)


def _number(point: Point, name: str) -> float:
    """A parameter, or a property of the placement, as a number."""
    place = point.summary.cell.placement
    if name in ("nodes", "ppn", "ranks", "threads"):
        return float(getattr(place, name))
    value = point.parameter(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _statistic(
    quantity: Quantity, run: RunCells, point: Point
) -> tuple[float, Interval | None, str] | None:
    """The statistic with its interval and unit; None for too few launches."""
    metric = point.metric
    if quantity.statistic == "median":
        return metric.median, metric.ci95, metric.unit
    if quantity.statistic == "power":
        return _power(run, point)
    if quantity.statistic == "rest":
        return _over_rest(run, point, quantity.metric)
    if quantity.statistic == "first":
        return first_over_rest(trials_of(run, point, quantity.metric))
    values = (
        cpu_times_of(run, point)
        if quantity.statistic == "cpu_cov"
        else launches_of(run, point, quantity.metric)
    )
    if values.size < 2:
        return None
    if quantity.statistic in ("cov", "cpu_cov"):
        from assay.stats.core.summary import coefficient_of_variation, cov_interval

        cov = coefficient_of_variation(values)
        return None if cov is None else (cov, cov_interval(values), "1")
    plain: dict[str, tuple[float, str]] = {
        "mean": (float(values.mean()), metric.unit),
        "least": (float(values.min()), metric.unit),
        "most": (float(values.max()), metric.unit),
        "deviation": (float(values.std(ddof=1)), metric.unit),
        "runs": (float(values.size), "count"),
    }
    value, unit = plain[quantity.statistic]
    return value, None, unit


def launches_of(run: RunCells, point: Point, metric: str) -> Floats:
    """The median of each launch of a point's cell, in order of time."""
    import numpy as np

    from assay.stats.repeats.repeats import repeats_of

    key = (point.summary.id, metric)
    if key not in run.launches:
        for each in repeats_of(run.measured.run, metric):
            run.launches[(each.cell.id, metric)] = each.values
    return run.launches.get(key, np.empty(0))


def cpu_times_of(run: RunCells, point: Point) -> Floats:
    """The CPU time of each launch of a point's cell, s; empty if it is unknown."""
    import numpy as np

    from assay.stats.attribution.wall_clock import cpu_cost
    from assay.stats.repeats.repeats import repeats_of

    found = (each for each in repeats_of(run.measured.run) if each.cell.id == point.summary.id)
    costs = next((cpu_cost(each) for each in found), None)
    return np.empty(0) if costs is None else costs[np.isfinite(costs)]


def _over_rest(
    run: RunCells, point: Point, metric: str
) -> tuple[float, Interval | None, str] | None:
    """A phase over the kernel's other phases, from the median of the launches' shares.

    The phases of a launch vary together, so separate medians would say less. With an even number of
    launches the median is the mean of two values. This is possible for shares, but not for such
    ratios, which have no upper bound. The result is infinite if the other phases take no time.
    """
    import numpy as np

    from assay.stats.core.intervals import median_interval

    phases = [each.name for each in find_kernel(point.summary.kernel).metrics if is_phase(each)]
    part = launches_of(run, point, metric)
    others = [launches_of(run, point, each) for each in phases if each != metric]
    others = [each for each in others if each.size == part.size]
    if not part.size or not others:
        return None
    whole = part + np.sum(others, axis=0)
    shares = np.divide(part, whole, out=np.zeros(part.size), where=whole > 0)
    ends = median_interval(shares)
    return _odds(float(np.median(shares))), ends and (_odds(ends[0]), _odds(ends[1])), ""


def _odds(share: float) -> float:
    return share / (1.0 - share) if share < 1.0 else math.inf


def _power(run: RunCells, point: Point) -> tuple[float, Interval | None, str] | None:
    """The median power of a point's launches, W; None if no launch counted the energy.

    Power is the energy counted during sampling over the time of sampling. The interval needs six
    launches.
    """
    import numpy as np

    from assay.stats.core.intervals import median_interval
    from assay.stats.repeats.repeats import repeats_of

    found = (each for each in repeats_of(run.measured.run) if each.cell.id == point.summary.id)
    covariates = next((each.covariates for each in found), {})
    energy, spans = covariates.get("energy"), covariates.get("sampling_seconds")
    if energy is None or spans is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        power = energy / spans
    power = power[np.isfinite(power) & (power > 0)]
    return (float(np.median(power)), median_interval(power), "W") if power.size else None


def _reached(quantity: Quantity, found: Sequence[Point]) -> PaperValue | None:
    """The order at which a rate reaches a share of its best."""
    ordered = sorted(found, key=lambda point: _number(point, quantity.by))
    if len(ordered) < 2:
        return None
    if quantity.half:
        from assay.models.half_performance import RateAt, half_order

        curve = [
            RateAt(int(_number(each, quantity.by)), each.metric.median, each.metric.ci95)
            for each in ordered
        ]
        half = half_order(curve)
        return None if half is None else _of_points(ordered, half.order, half.interval, "count", "")
    enough = max(each.metric.median for each in ordered) * float(quantity.reaches or 0.0)
    first = ordered[-1]
    for each in reversed(ordered):
        if each.metric.median < enough:
            break
        first = each
    return _of_points(ordered, _number(first, quantity.by), None, "count", "")


def _derived(
    quantity: Quantity, run: RunCells, known: Mapping[str, PaperValue]
) -> PaperValue | None:
    parts = [known.get(name) for name in (quantity.of, *quantity.over)]
    if any(part is None for part in parts):
        return None
    above, *below = [part for part in parts if part is not None]
    estimate = _as_estimate(above)
    # A measured number without an interval has too few launches; properties of machines are exact.
    bare = any(part.ci95 is None and part.launches is not None for part in (above, *below))
    if quantity.as_ == "sum":
        estimate = _sum([_as_estimate(part) for part in (above, *below)])
    else:
        for part in below:
            estimate = _combined(estimate, _as_estimate(part), quantity.as_ == "product")
    if quantity.times:
        by = parsed(quantity.times).number(run.shared)
        estimate = _scaled(estimate, by)
    value, interval = estimate.value, None if bare else estimate.interval
    if quantity.as_ == "gain":
        value, interval = value - 1.0, interval and (interval[0] - 1.0, interval[1] - 1.0)
    elif quantity.as_ == "loss":
        value, interval = 1.0 - value, interval and (1.0 - interval[1], 1.0 - interval[0])
    cells = tuple(dict.fromkeys(cell for part in (above, *below) for cell in part.cells))
    kernels = tuple(dict.fromkeys(name for part in (above, *below) for name in part.kernels))
    launches = [part.launches for part in (above, *below) if part.launches is not None]
    where = list(dict.fromkeys(part.where for part in (above, *below) if part.where))
    unit = quantity.unit or ("1" if quantity.as_ in ("gain", "loss") else "")
    return PaperValue(
        value=value,
        ci95=interval,
        unit=unit,
        better="",
        cells=cells,
        kernels=kernels,
        launches=min(launches, default=None),
        where=" over ".join(where[:2]),
    )


def _sum(parts: Sequence[Estimate]) -> Estimate:
    """The sum of independent estimates; distances to the ends of intervals add in quadrature."""
    from assay.stats.core.intervals import Estimate

    value = sum(part.value for part in parts)
    ends = [part.interval or (part.value, part.value) for part in parts]
    down = math.hypot(*(part.value - end[0] for part, end in zip(parts, ends, strict=True)))
    up = math.hypot(*(end[1] - part.value for part, end in zip(parts, ends, strict=True)))
    return Estimate(value, (value - down, value + up))


def _as_estimate(value: PaperValue) -> Estimate:
    from assay.stats.core.intervals import Estimate

    return Estimate(value.value, value.ci95)


def _combined(one: Estimate, other: Estimate, product: bool) -> Estimate:
    """The quotient or product of two independent estimates; an estimate without an interval is
    exact.
    """
    from assay.stats.core.intervals import Estimate, ratio_interval

    if product:
        other = Estimate(
            1.0 / other.value,
            None if other.interval is None else (1 / other.interval[1], 1 / other.interval[0]),
        )
    ends = (*(one.interval or ()), *(other.interval or ()))
    value = one.value / other.value
    if not ends or min(*ends, one.value, other.value) <= 0:
        return Estimate(value, None)
    return Estimate(value, ratio_interval(one, other))


def _scaled(estimate: Estimate, by: float) -> Estimate:
    from assay.stats.core.intervals import Estimate

    interval = estimate.interval
    return Estimate(
        estimate.value * by,
        None if interval is None else (interval[0] * by, interval[1] * by),
    )


def _of_points(
    found: Sequence[Point], value: float, interval: Interval | None, unit: str, better: str
) -> PaperValue:
    places = [point.summary.cell.placement for point in found]
    nodes, cores = {place.nodes for place in places}, {point.cores for point in found}
    where = cell_title(found[0].summary.cell)
    if len(found) > 1:
        where += f" and {len(found) - 1} more"
    return PaperValue(
        value=value,
        ci95=interval,
        unit=unit,
        better=better,
        cells=tuple(point.summary.id for point in found),
        kernels=tuple(dict.fromkeys(point.summary.kernel for point in found)),
        nodes=nodes.pop() if len(nodes) == 1 else None,
        cores=cores.pop() if len(cores) == 1 else None,
        launches=min(point.metric.n for point in found),
        where=where,
    )
