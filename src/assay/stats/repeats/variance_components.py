"""Variance components: within launches, between launches, between sets of hosts, between days."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.arrays import Floats, Ints
from assay.stats.core.correlation import correlated_intervals
from assay.stats.core.tails import robust_deviation
from assay.stats.repeats.repeats import Repeats

Level = Literal["samples", "launches", "hosts", "days"]

# Values are clipped to this number of robust deviations from the median.
PULLED = 6.0
# Minimum residual degrees of freedom for separating components.
_MIN_FREEDOM = 2
_SECONDS_PER_DAY = 86400.0
# Maximum number of launches, spread evenly over all, whose samples are used.
_LAUNCHES_USED = 200
# The alternating fit ends when no fitted mean changes by more than this share of the greatest
# deviation.
_CONVERGED = 1e-10
_MOST_ROUNDS = 2000


@dataclass(frozen=True)
class VarianceComponent:
    """One source of variance."""

    #: The source.
    level: Level
    #: Standard deviation of this source, relative to the median cost.
    deviation: float
    #: Share of the variance of one sample, or of one measurement if samples weren't read.
    share: float
    #: Number of launches, sets of hosts or days.
    groups: int
    #: p of the F test that sets of hosts or days don't differ; None for other levels.
    p: float | None = None
    #: Whether the estimate was below 0 and was set to 0.
    negative: bool = False


@dataclass(frozen=True)
class VarianceComponents:
    """The sources that can be separated; ``untold`` has a sentence for each that can't."""

    #: The sources.
    parts: list[VarianceComponent]
    #: Number of measurements.
    n: int
    #: Number of values that were clipped to six robust deviations from the median, so that a single
    #: outlier doesn't dominate the variance.
    pulled: int
    #: A sentence for each source that can't be separated.
    untold: list[str]


def variance_components(repeats: Repeats) -> VarianceComponents:
    """The components of the variance of one cell's costs, in shares that sum to 1.

    A measurement, the median of a launch, is day + set of hosts + launch, all random effects. Days
    (UTC) and sets of hosts are crossed and unbalanced; their variances equate the sum of squares
    that each adds to the other to its expectation (Henderson 1953, method III). The samples'
    variance within launches is the mean over launches (200 if there are more). The error variance
    of a launch's median, from the width of its 95% interval, is subtracted from the variance
    between launches.
    """
    cost = repeats.cost
    centre = float(np.median(cost))
    relative = cost / centre if centre else cost
    values, pulled = _clipped(relative)
    hosts = _codes(repeats.hosts)
    days = _codes(np.floor(repeats.utc / _SECONDS_PER_DAY).tolist())
    untold: list[str] = []
    if values.size < 2:
        return VarianceComponents(
            [], int(values.size), pulled, ["One measurement has no variation."]
        )
    fit = _crossed(values, hosts, days, untold)
    within, error = _within(repeats, centre)
    launches = fit.residual
    parts: list[tuple[Level, float, int, float | None]] = []
    if within is not None:
        parts.append(("samples", within, int(repeats.sizes.size), None))
        launches = fit.residual - error
    elif repeats.sizes.size:
        untold.append("Too few samples per launch to separate them from differences of launches.")
    parts.append(("launches", launches, int(values.size), None))
    if fit.hosts is not None:
        parts.append(("hosts", fit.hosts.variance, int(hosts.max()) + 1, fit.hosts.p))
    if fit.days is not None:
        parts.append(("days", fit.days.variance, int(days.max()) + 1, fit.days.p))
    total = sum(max(variance, 0.0) for _, variance, _, _ in parts)
    return VarianceComponents(
        parts=[
            VarianceComponent(
                level=level,
                deviation=max(variance, 0.0) ** 0.5,
                share=max(variance, 0.0) / total if total > 0.0 else 0.0,
                groups=groups,
                p=p,
                negative=variance < 0.0,
            )
            for level, variance, groups, p in parts
        ],
        n=int(values.size),
        pulled=pulled,
        untold=untold,
    )


@dataclass(frozen=True)
class _Factor:
    variance: float
    p: float


@dataclass(frozen=True)
class _Fit:
    residual: float
    hosts: _Factor | None
    days: _Factor | None


def _clipped(values: Floats) -> tuple[Floats, int]:
    centre, limit = float(np.median(values)), PULLED * robust_deviation(values)
    inside = np.clip(values, centre - limit, centre + limit)
    return inside, int(np.count_nonzero(inside != values))


def _codes(names: tuple[str, ...] | list[float]) -> Ints:
    return np.unique(np.array(names), return_inverse=True)[1].reshape(-1).astype(np.int64)


def _within(repeats: Repeats, centre: float) -> tuple[float | None, float]:
    """The samples' relative variance within launches, and the launch medians' error variance."""
    if not repeats.sizes.size:
        return None, 0.0
    samples = repeats.sample_costs / centre if centre else repeats.sample_costs
    variances, launches = [], []
    ends = np.cumsum(repeats.sizes)
    used = np.unique(np.linspace(0, ends.size - 1, _LAUNCHES_USED).astype(np.int64))
    for place in used:
        launch = samples[ends[place] - repeats.sizes[place] : ends[place]]
        if launch.size < 2:
            continue
        inside, _ = _clipped(launch)
        variances.append(float(inside.var(ddof=1)))
        launches.append(launch)
    errors = [
        ((interval[1] - interval[0]) / (2.0 * 1.96)) ** 2
        for interval in correlated_intervals(launches)
        if interval is not None
    ]
    if not errors:
        return None, 0.0
    return float(np.mean(variances)), float(np.mean(errors))


def _crossed(values: Floats, hosts: Ints, days: Ints, untold: list[str]) -> _Fit:
    """The variances of two crossed random factors and of the residual."""
    from scipy.special import fdtrc

    n = values.size
    levels = {"set of hosts": int(hosts.max()) + 1, "day": int(days.max()) + 1}
    for what, count in levels.items():
        if count == 1:
            untold.append(f"All measurements share one {what}: its effect can't be estimated.")
    pieces = _connected(hosts, days)
    rank = sum(levels.values()) - pieces
    free = n - rank
    if free < _MIN_FREEDOM and min(levels.values()) > 1:
        untold.append("Too few measurements per day and set of hosts to separate the two.")
        return _Fit(float(values.var(ddof=1)), None, None)
    squares = _squares_left(values, hosts, days)
    if free < _MIN_FREEDOM:
        untold.append("Too few measurements per group to separate groups and launches.")
        return _Fit(float(values.var(ddof=1)), None, None)
    residual = squares / free
    found: dict[str, _Factor | None] = {}
    for what, own, other in (("set of hosts", hosts, days), ("day", days, hosts)):
        count = levels[what]
        extra = count - pieces
        if count == 1 or extra == 0:
            if count > 1:
                (other_name,) = levels.keys() - {what}
                untold.append(
                    f"Each {other_name} had one {what}: the two effects can't be separated."
                )
            found[what] = None
            continue
        without = values - (np.bincount(other, values) / np.bincount(other))[other]
        added = float(without @ without) - squares
        weight = n - _overlap(own, other)
        variance = (added - extra * residual) / weight
        ratio = added / extra / residual if residual > 0.0 else float("inf")
        found[what] = _Factor(variance, float(fdtrc(extra, free, max(ratio, 0.0))))
    return _Fit(residual, found["set of hosts"], found["day"])


def _squares_left(values: Floats, hosts: Ints, days: Ints) -> float:
    """Residual sum of squares of an additive fit of both factors, by alternating projections."""
    left = values - values.mean()
    scale = float(np.abs(left).max()) or 1.0
    counts = [np.bincount(hosts), np.bincount(days)]
    for _ in range(_MOST_ROUNDS):
        moved = 0.0
        for codes, count in zip((hosts, days), counts, strict=True):
            means = np.bincount(codes, left) / count
            left = left - means[codes]
            moved = max(moved, float(np.abs(means).max()))
        if moved <= _CONVERGED * scale:
            break
    return float(left @ left)


def _overlap(own: Ints, other: Ints) -> float:
    """The part of one factor's indicators that the other's means fit: sum of n_ij**2 / n_j."""
    pairs, counts = np.unique(np.stack([own, other]), axis=1, return_counts=True)
    sizes = np.bincount(other)
    return float((counts.astype(np.float64) ** 2 / sizes[pairs[1]]).sum())


def _connected(one: Ints, other: Ints) -> int:
    """The number of parts of the measurements that share no level of either factor."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, columns = int(one.max()) + 1, int(other.max()) + 1
    links = coo_array(
        (np.ones(one.size), (one, rows + other)), shape=(rows + columns, rows + columns)
    )
    return int(connected_components(links, directed=False)[0])
