"""Nodes that become slower, and kinds of nodes that have become slower as a whole.

A node declines if its values fall against those of its kind: Mann's test for a trend (Mann, 1945;
Kendall, Rank Correlation Methods, 1975) on the values after the fleet's common course is removed,
with the variance that the fleet's autocorrelation gives it. The share of false ones among the nodes
named is limited to ``FALSE_DISCOVERIES`` (Benjamini and Hochberg, 1995), over all nodes and
components. The size is the slope of Theil (1950) and Sen (1968) times the time that the records
span.

A kind declines if its present level lies below the level that its baseline learned by more than
what the median over nodes, the common course of a day and the baseline's own allowance leave open.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from assay.arrays import Floats, Ints
from assay.check.components import BY_NAME
from assay.check.fleet.baselines import UsualLevel
from assay.check.fleet.model import FleetNode

FALSE_DISCOVERIES = 0.05
#: Fewest checks of a node for a trend, and fewest nodes of a kind for a common course.
FEWEST_CHECKS, FEWEST_NODES = 8, 5
#: Smaller declines than this share are not named.
LEAST = 0.01
#: Checks of a node that make its present level.
RECENT = 5
# Seconds within which nodes are compared with each other.
_TOGETHER = 3600.0
# Nodes whose pairs of checks are compared at once: it bounds the memory.
_AT_ONCE = 500


@dataclass(frozen=True)
class NodeDecline:
    """A component of a node that becomes slower against its kind."""

    #: ``host``, ``kind``, ``component``: the node, its kind, and what becomes slower.
    host: str
    kind: str
    component: str
    #: Relative change over its recent checks, negative.
    change: float
    #: ``first``, ``last``, ``checks``: Unix times of the first and the last of these checks, s, and
    #: their number.
    first: float
    last: float
    checks: int
    #: Probability of such a trend without a decline.
    probability: float


@dataclass(frozen=True)
class KindDecline:
    """A component that all nodes of a kind have become slower in."""

    #: ``kind``, ``component``: the kind of nodes, and what has become slower.
    kind: str
    component: str
    #: ``change``, ``interval``: relative change from the baseline, negative, and its 95% interval.
    change: float
    interval: tuple[float, float]
    #: Number of nodes.
    nodes: int


@dataclass(frozen=True)
class ComponentSeries:
    """One component of all nodes of a kind; arrays of shape (nodes, checks), NaN where no value.

    ``logs``: logarithms of the values, larger is better. ``utc``: Unix times, s.
    """

    kind: str
    component: str
    hosts: tuple[str, ...]
    logs: Floats
    utc: Floats

    @property
    def counts(self) -> Ints:
        """Values per node."""
        counts: Ints = np.sum(~np.isnan(self.logs), axis=1)
        return counts

    def levels(self) -> Floats:
        """The present level of each node, from its last values; shape (nodes,)."""
        places = np.cumsum(~np.isnan(self.logs)[:, ::-1], axis=1)[:, ::-1]
        return _medians(np.where(places <= RECENT, self.logs, np.nan))


def series_of(nodes: Sequence[FleetNode]) -> list[ComponentSeries]:
    """The values of all decided checks, by kind and component. Partners' messages are left out:
    their values depend on the partner."""
    found = []
    for kind in sorted({node.header.kind for node in nodes}):
        members = [node for node in nodes if node.header.kind == kind]
        decided = [node.decided for node in members]
        named = {name for records in decided for record in records for name in record.values}
        longest = max((len(records) for records in decided), default=0)
        utc = np.full((len(members), longest), np.nan)
        for row, records in enumerate(decided):
            utc[row, : len(records)] = [record.utc for record in records]
        for name in sorted(named & set(BY_NAME), key=list(BY_NAME).index):
            values = np.full(utc.shape, np.nan)
            for row, records in enumerate(decided):
                alone = [math.nan if r.partner else r.values.get(name, math.nan) for r in records]
                values[row, : len(records)] = alone
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(np.where(values > 0.0, values, np.nan))
            sign = 1.0 if BY_NAME[name].better == "more" else -1.0
            there = np.any(~np.isnan(logs), axis=1)
            if there.any():
                hosts = tuple(node.host for node, has in zip(members, there, strict=True) if has)
                found.append(ComponentSeries(kind, name, hosts, sign * logs[there], utc[there]))
    return found


def node_declines(
    series: Sequence[ComponentSeries], level: float = FALSE_DISCOVERIES
) -> list[NodeDecline]:
    """The nodes that decline, the largest change first; ``level``: share of false ones."""
    found: list[NodeDecline] = []
    for each in series:
        logs = each.logs - _common(each)
        found += _tested(each, logs)
    tests = sum(int(np.sum(each.counts >= FEWEST_CHECKS)) for each in series)
    return significant(found, tests, level)


def significant(declines: Sequence[NodeDecline], tests: int, level: float) -> list[NodeDecline]:
    """The declines that keep the share of false ones below ``level``, the largest change first.

    ``tests``: how many nodes and components were tested.
    """
    ordered = sorted(declines, key=lambda decline: decline.probability)
    passed = [
        place
        for place, decline in enumerate(ordered, 1)
        if decline.probability <= level * place / max(tests, 1)
    ]
    kept = [each for each in ordered[: max(passed, default=0)] if each.change <= -LEAST]
    return sorted(kept, key=lambda decline: decline.change)


def kind_declines(
    series: Sequence[ComponentSeries], usual: Mapping[tuple[str, str], UsualLevel]
) -> list[KindDecline]:
    """Kinds of nodes that are below their baselines; ``usual``: by kind and component."""
    found = []
    for each in series:
        learned = usual.get((each.kind, each.component))
        levels = each.levels()
        levels = levels[np.isfinite(levels)]
        if learned is None or learned.value <= 0.0 or levels.size < FEWEST_NODES:
            continue
        sign = 1.0 if BY_NAME[each.component].better == "more" else -1.0
        shifts = np.sort(levels - sign * math.log(learned.value))
        middle = float(np.median(shifts))
        low, high = _median_interval(shifts)
        # Checks of one moment share the room's temperature and the file servers' load.
        _, medians = _course(each)
        course = max(float(np.ptp(medians)) if medians.size else 0.0, learned.allowance)
        low, high = low - course, high + course
        if math.expm1(high) <= -LEAST:
            interval = (math.expm1(low), math.expm1(high))
            change = math.expm1(middle)
            found.append(KindDecline(each.kind, each.component, change, interval, levels.size))
    return sorted(found, key=lambda decline: decline.change)


def _tested(series: ComponentSeries, logs: Floats) -> list[NodeDecline]:
    """The p value and size of every node with enough values and a falling trend."""
    counts = series.counts
    width = logs.shape[1]
    if width < FEWEST_CHECKS:
        return []
    statistic, slopes = np.zeros(counts.size), np.full(counts.size, np.nan)
    first, second = np.triu_indices(width, 1)
    tested = np.flatnonzero(counts >= FEWEST_CHECKS)
    for rows in np.array_split(tested, math.ceil(tested.size / _AT_ONCE) or 1):
        rise = logs[rows][:, second] - logs[rows][:, first]
        apart = series.utc[rows][:, second] - series.utc[rows][:, first]
        statistic[rows] = np.nansum(np.sign(rise), axis=1)
        slopes[rows] = _medians(
            np.divide(rise, apart, out=np.full_like(rise, np.nan), where=apart > 0.0)
        )
    dependent = _inflation(logs, counts)
    variance = counts * (counts - 1.0) * (2.0 * counts + 5.0) / 18.0 * dependent
    # Continuity: the statistic moves in steps of two.
    p = ndtr((statistic + 1.0) / np.sqrt(np.maximum(variance, 1.0)))
    begin, end = np.nanmin(series.utc, axis=1), np.nanmax(series.utc, axis=1)
    return [
        NodeDecline(
            host=series.hosts[row],
            kind=series.kind,
            component=series.component,
            change=math.expm1(slopes[row] * (end[row] - begin[row])),
            first=float(begin[row]),
            last=float(end[row]),
            checks=int(counts[row]),
            probability=float(p[row]),
        )
        for row in np.flatnonzero((counts >= FEWEST_CHECKS) & (slopes < 0.0))
    ]


def _inflation(logs: Floats, counts: Ints) -> float:
    """The factor of the variance if neighbouring checks depend: (1 + ρ) / (1 − ρ).

    ρ is pooled over the fleet, since a node has too few values; a trend of few nodes doesn't move
    the median over nodes. A negative one is taken as none.
    """
    centred = logs - _medians(logs)[:, None]
    product = np.nansum(centred[:, 1:] * centred[:, :-1], axis=1)
    square = np.nansum(np.square(centred), axis=1)
    own = np.divide(product, square, out=np.full(counts.size, np.nan), where=square > 0.0)
    usable = (counts >= FEWEST_CHECKS) & np.isfinite(own)
    if not usable.any():
        return 1.0
    # A short series underestimates ρ by about (1 + 4ρ) / n (Kendall, 1954).
    size = float(np.median(counts[usable]))
    rho = float(np.median(own[usable]))
    rho = min(max((rho * size + 1.0) / (size - 4.0) if size > 5 else rho, 0.0), 0.9)
    return (1.0 + rho) / (1.0 - rho)


def _common(series: ComponentSeries) -> Floats:
    """The fleet's common course at each value; zeros if too few nodes show one."""
    hours, medians = _course(series)
    common = np.zeros(series.logs.shape)
    if hours.size == 0:
        return common
    known = ~np.isnan(series.utc)
    place = np.searchsorted(hours, np.floor(series.utc[known] / _TOGETHER))
    place = np.minimum(place, hours.size - 1)
    hit = hours[place] == np.floor(series.utc[known] / _TOGETHER)
    common[known] = np.where(hit, medians[place], 0.0)
    return common


def _course(series: ComponentSeries) -> tuple[Floats, Floats]:
    """Hours in which enough nodes were checked, and the fleet's median deviation in each."""
    if len(series.hosts) < FEWEST_NODES:
        return np.zeros(0), np.zeros(0)
    centred = series.logs - _medians(series.logs)[:, None]
    known = ~np.isnan(centred)
    hours, values = np.floor(series.utc[known] / _TOGETHER), centred[known]
    order = np.argsort(hours, kind="stable")
    hours, values = hours[order], values[order]
    found, begins = np.unique(hours, return_index=True)
    parts = np.split(values, begins[1:])
    enough = np.array([part.size >= FEWEST_NODES for part in parts], dtype=bool)
    medians = np.array([float(np.median(part)) for part in parts])
    return found[enough], medians[enough]


def _median_interval(ordered: Floats) -> tuple[float, float]:
    """A 95% interval of a median, from order statistics (David and Nagaraja, 2003, 7.1)."""
    size = ordered.size
    away = 0.98 * math.sqrt(size)
    low = max(math.floor(size / 2 - away), 0)
    high = min(math.ceil(size / 2 + away), size - 1)
    return float(ordered[low]), float(ordered[high])


def _medians(values: Floats) -> Floats:
    """The median of each row without its NaN; NaN for a row without values."""
    ordered = np.sort(values, axis=1)
    counts = np.sum(~np.isnan(values), axis=1)
    rows = np.arange(counts.size)
    if values.shape[1] == 0:
        return np.full(counts.size, np.nan)
    low = ordered[rows, np.maximum((counts - 1) // 2, 0)]
    high = ordered[rows, np.minimum(counts // 2, values.shape[1] - 1)]
    middle: Floats = np.where(counts > 0, (low + high) / 2.0, np.nan)
    return middle
