"""Groups of nodes, such as racks and switches, that are slower as a whole.

A group's value in a column (a cell, a resource, all cells) is to its nodes what a node's value is
to its launches: Huber's (1964) estimate of location (one step from the median), with the scatter of
nodes within groups from the median of the groups' variances. It is compared with the median of the
groups of the same partition, in units of its standard error.

The distribution without slow groups comes from nodes permuted among groups, within their kind: it
needs no assumption on the shape of the nodes' values. A group's p is adjusted over all groups,
partitions and columns by the maximum of each permutation (single-step max T: Westfall & Young:
Resampling-based multiple testing, 1993, 2.3). The effects of groups found are removed and the
others are compared again, so that a slow group hides no other, and a slow switch does not make its
racks slow.

Groups that differ among themselves by nature are not slow: where the robust scatter between groups
is larger than in 95% of the permutations, it is added to the variance of each group.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.arrays import Floats, Ints
from assay.stats.fleet.calibration import MIN_LAUNCHES
from assay.stats.fleet.fleet import FLOOR, HUBER, Fleet, compare, logarithms
from assay.stats.fleet.peers import ROBUST, median_down

# Minimum number of nodes in a group, and of groups in a partition: with two groups it is
# undecidable which one is unusual, and the median of fewer than four nodes depends on single nodes.
MIN_GROUP, MIN_GROUPS = 4, 3
# Share of fleets without slow groups in which a group may be named, and that for nodes where there
# are groups: 5% together, as the level of nodes itself is the smaller of 2.5% and this one.
GROUP_LEVEL, NODES_NAMED = 0.02, 0.04
_PERMUTATIONS = 199
# Quantile of the permutations' scatter between groups that natural differences must exceed.
_NATURAL = 0.95
# Up to this number of groups each one is left out of the scatter between groups: one slow group
# would widen it.
_MANY = 16
# Share of a group's effect that must remain without its slowest launch and among its faster nodes.
_REMAINS = 0.5
# Numbers that are sorted at once: 16 MiB.
_AT_ONCE = 1 << 21
# The variance of a median over the variance of a mean, for normal values.
_MEDIAN = np.pi / 2.0


@dataclass(frozen=True)
class GroupComparison:
    """Groups of nodes compared. Arrays are [group, column], with the columns of ``Fleet``."""

    #: Each group's nodes. ``partition`` [group]: the number of its partition.
    members: tuple[Ints, ...]
    partition: Ints
    #: The groups that are slower as a whole, in the order in which they were found.
    slow: tuple[int, ...]
    #: How much slower a group is than the median group of its partition, as a difference of
    #: logarithms of costs.
    shift: Floats
    #: Standard error of ``shift``.
    error: Floats
    #: p, adjusted over all groups and columns. ``launches``, ``slow_launches`` [group]: for a slow
    #: group, number of launches in its most certain column, and number of these launches in which
    #: it is slower than the typical node. ``effects``, ``variance`` [node, column]: the effect of
    #: slow groups on their nodes, and its variance; 0 for the others.
    p: Floats
    launches: Ints
    slow_launches: Ints
    effects: Floats
    variance: Floats


def compare_within_groups(
    costs: Floats,
    resources: Sequence[str],
    partitions: Sequence[Ints],
    known_kinds: Ints | None = None,
) -> tuple[Fleet, GroupComparison | None]:
    """Compare groups of nodes, then nodes without the effects of slow groups.

    ``costs``, ``resources`` and ``known_kinds`` as in ``compare``. ``partitions``: of each the
    number of the group of each node, negative for none. The comparison of groups is None with fewer
    than three launches per node or without groups. ``error`` of the nodes includes the group's.
    """
    plain = compare(costs, resources, known_kinds)
    usable = [groups for groups in map(_groups_of, partitions) if len(groups) >= MIN_GROUPS]
    if not usable or plain.launches < MIN_LAUNCHES:
        return plain, None
    # Values of a slow group may form a cluster of their own: kinds by value are distinguished after
    # the effects of groups are removed. If there are any, groups are compared within them.
    groups = compare_groups(
        costs, resources, compare(costs, resources, known_kinds, split_kinds=False), usable
    )
    fleet = _without(groups, costs, resources, known_kinds)
    if fleet.split:
        split = fleet.split
        unsplit = compare(costs, resources, fleet.kinds, split_kinds=False)
        groups = compare_groups(costs, resources, unsplit, usable)
        fleet = _without(groups, costs, resources, fleet.kinds)
        fleet = replace(fleet, split=(*split, *fleet.split))
    return fleet, groups


def compare_groups(
    costs: Floats, resources: Sequence[str], fleet: Fleet, partitions: Sequence[Sequence[Ints]]
) -> GroupComparison:
    """Compare the groups of each partition, given as their nodes. ``fleet``: of ``costs``."""
    table = _GroupTable(fleet, partitions)
    drawn = np.random.default_rng(zlib.crc32(np.nan_to_num(fleet.shift).tobytes()))
    orders = np.stack([_permuted(fleet.kinds, drawn) for _ in range(_PERMUTATIONS)])
    logs = logarithms(costs)
    while table.find(orders):
        fresh = [g for g in table.candidates() if table.consistent(g, logs, resources)]
        if not table.remove(fresh):
            break
    return table.result()


def _without(
    groups: GroupComparison, costs: Floats, resources: Sequence[str], known_kinds: Ints | None
) -> Fleet:
    cells = costs.shape[1]
    fleet = compare(costs * np.exp(-groups.effects[:, :cells, None]), resources, known_kinds)
    return replace(fleet, error=np.sqrt(fleet.error**2 + groups.variance))


def _groups_of(numbers: Ints) -> list[Ints]:
    """The nodes of each group with enough of them."""
    groups = (np.flatnonzero(numbers == g) for g in np.unique(numbers[numbers >= 0]))
    return [rows for rows in groups if rows.size >= MIN_GROUP]


def _permuted(kinds: Ints, drawn: np.random.Generator) -> Ints:
    """The nodes in random order within their kinds."""
    order = np.arange(kinds.size)
    for kind in np.unique(kinds):
        rows = np.flatnonzero(kinds == kind)
        order[rows] = drawn.permutation(rows)
    return order


class _GroupTable:
    """The groups and their values; the effects of groups are removed as they are found."""

    def __init__(self, fleet: Fleet, partitions: Sequence[Sequence[Ints]]) -> None:
        self._values = fleet.shift.copy()
        self._fleet = fleet
        self._members = [rows for groups in partitions for rows in groups]
        self._partition = np.repeat(np.arange(len(partitions)), [len(p) for p in partitions])
        # Of each partition [group, place]: nodes; missing places refer to a row of nan.
        nodes = fleet.shift.shape[0]
        self._places = []
        for groups in partitions:
            places = np.full((len(groups), max(rows.size for rows in groups)), nodes)
            for place, rows in enumerate(groups):
                places[place, : rows.size] = rows
            self._places.append(places)
        shape = (len(self._members), fleet.shift.shape[1])
        self._shift, self._error, self._score = (np.full(shape, np.nan) for _ in range(3))
        self._p = np.ones(shape)
        self._seen = np.zeros((2, len(self._members)), dtype=np.int64)
        self._slow: list[int] = []
        self._effects, self._variance = np.zeros_like(self._values), np.zeros_like(self._values)

    def find(self, orders: Ints) -> bool:
        """Compare the groups that are not yet named; returns whether any are left."""
        shift, noise, ratio = self._located(np.arange(self._values.shape[0])[None])
        natural, highest = [], np.full(orders.shape[0], -np.inf)
        step = max(1, _AT_ONCE // max(self._values.size, 1))
        for begin in range(0, orders.shape[0], step):
            moved, its_noise, its_ratio = self._located(orders[begin : begin + step])
            natural.append(its_ratio)
            score = moved / np.sqrt(its_noise + FLOOR**2)
            highest[begin : begin + step] = np.nan_to_num(score, nan=-np.inf).max(axis=(1, 2))
        by_chance = np.nan_to_num(np.concatenate(natural))
        limit = np.stack(
            [
                np.quantile(by_chance[:, self._partition == p], _NATURAL, axis=(0, 1))
                for p in self._each()
            ]
        )[self._partition]
        typical = np.stack([median_down(noise[0][self._partition == p]) for p in self._each()])
        more = np.where(np.nan_to_num(ratio[0]) > limit, ratio[0] - 1.0, 0.0)
        variance = noise[0] + FLOOR**2 + more * np.nan_to_num(typical)[self._partition]
        score = np.nan_to_num(shift[0] / np.sqrt(variance), nan=-np.inf)
        p = (1 + (highest[:, None, None] >= score).sum(axis=0)) / (1 + highest.size)
        sizes = np.array([(self._partition == part).sum() for part in self._each()])
        error = np.sqrt(noise[0] + (_MEDIAN * typical / sizes[:, None])[self._partition])
        left = np.array([g not in self._slow for g in range(len(self._members))])
        for mine, now in zip(
            (self._shift, self._error, self._score, self._p),
            (shift[0], error, score, p),
            strict=True,
        ):
            mine[left] = now[left]
        return bool(left.any())

    def _each(self) -> range:
        return range(len(self._places))

    def _located(self, orders: Ints) -> tuple[Floats, Floats, Floats]:
        """For each order of the nodes: each group's deviation from the median group [order, group,
        column], its variance, and the variance between the other groups over that.
        """
        rows = np.concatenate([self._values, np.full((1, self._values.shape[1]), np.nan)])
        last = np.full((orders.shape[0], 1), self._values.shape[0])
        moved = rows[np.concatenate([orders, last], axis=1)]
        parts = [_deviations(moved[:, places]) for places in self._places]
        shift, noise, ratio = zip(*parts, strict=True)
        return np.concatenate(shift, 1), np.concatenate(noise, 1), np.concatenate(ratio, 1)

    def candidates(self) -> list[int]:
        """The significantly slow groups that are not yet named, the clearest first."""
        best = self._score.max(axis=1)
        found = [
            group
            for group in np.argsort(-best, kind="stable").tolist()
            if group not in self._slow and self._p[group].min() <= GROUP_LEVEL
        ]
        return [group for group in found if self._whole(group)]

    def _whole(self, group: int) -> bool:
        """Whether the group's lower quartile of costs exceeds the lower quartile of the others by
        at least half of the effect: if only half of a group is slow, it is not slow as a whole.
        """
        column = int(np.argmax(self._score[group]))
        rest = np.ones(self._values.shape[0], dtype=bool)
        rest[self._members[group]] = False
        own, others = self._values[self._members[group], column], self._values[rest, column]
        faster = float(np.nanquantile(own, 0.25)) - float(np.nanquantile(others, 0.25))
        return faster >= _REMAINS * float(self._shift[group, column])

    def consistent(self, group: int, logs: Floats, resources: Sequence[str]) -> bool:
        """Whether at least half of the effect remains without the slowest launch of the group: a
        disturbance of all its nodes during one launch isn't a property of the group, and nodes are
        not exchangeable then.
        """
        column = int(np.argmax(self._score[group]))
        cells = columns_cells(self._fleet, resources, column)
        # Relative to the nodes of the kind in the same launch.
        away = np.full((logs.shape[0], len(cells), logs.shape[2]), np.nan)
        for kind in np.unique(self._fleet.kinds):
            rows = np.flatnonzero(self._fleet.kinds == kind)
            given = logs[rows][:, cells]
            away[rows] = given - median_down(given)
        of_cell = median_down(away[self._members[group]])
        precision = 1.0 / median_down(self._fleet.scatter[:, cells])[:, None] ** 2
        there = np.where(np.isfinite(of_cell), precision, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            launches = (np.nan_to_num(of_cell) * there).sum(axis=0) / there.sum(axis=0)
        launches = np.sort(launches[np.isfinite(launches)])
        self._seen[:, group] = launches.size, np.count_nonzero(launches > 0.0)
        rest = launches[:-1]
        return bool(rest.size and rest.mean() >= _REMAINS * self._shift[group, column])

    def remove(self, groups: Sequence[int]) -> bool:
        """Name groups and remove their effects; of groups with common nodes the first. None if the
        slow groups hold half of the nodes or more: the median group is not the usual one then.
        Whether any was named.
        """
        slow = [self._members[group] for group in (*self._slow, *groups)]
        if not groups or 2 * np.unique(np.concatenate(slow)).size >= self._values.shape[0]:
            return False
        now = np.zeros(self._values.shape[0], dtype=bool)
        for group in groups:
            rows = self._members[group]
            if now[rows].any():
                continue
            now[rows] = True
            self._slow.append(group)
            effect = np.nan_to_num(self._shift[group])
            self._values[rows] -= effect
            self._effects[rows] += effect
            self._variance[rows] += np.nan_to_num(self._error[group]) ** 2
        return True

    def result(self) -> GroupComparison:
        return GroupComparison(
            members=tuple(self._members),
            partition=self._partition,
            slow=tuple(self._slow),
            shift=self._shift,
            error=self._error,
            p=self._p,
            launches=self._seen[0],
            slow_launches=self._seen[1],
            effects=self._effects,
            variance=self._variance,
        )


def group_interval(compared: GroupComparison, group: int, column: int) -> tuple[float, float]:
    """The 95% interval of a group's shift: Student's t for the number of its nodes."""
    from scipy.special import stdtrit

    freedom = compared.members[group].size - 1
    half = float(stdtrit(freedom, 0.975)) * float(compared.error[group, column])
    shift = float(compared.shift[group, column])
    return shift - half, shift + half


def columns_cells(fleet: Fleet, resources: Sequence[str], column: int) -> list[int]:
    """The cells that a column combines. ``resources``: the resource of each cell."""
    if column < fleet.cells:
        return [column]
    name = fleet.columns[column]
    of_resource = [cell for cell, resource in enumerate(resources) if resource == name]
    return of_resource or list(range(fleet.cells))


def _deviations(nodes: Floats) -> tuple[Floats, Floats, Floats]:
    """Of ``nodes`` [order, group, place, column]: each group's deviation from the median group
    [order, group, column], its variance, and the variance between the other groups over the typical
    variance.
    """
    from scipy.special import chdtri

    count = np.isfinite(nodes).sum(axis=2)
    centre = _median(nodes, 2)
    freedom = np.arange(nodes.shape[2] + 1)
    usual = chdtri(np.maximum(freedom - 1, 1), 0.5)
    with np.errstate(invalid="ignore", divide="ignore"):
        away = nodes - (np.nansum(nodes, axis=2) / count)[:, :, None]
        variances = np.where(count > 1, np.nansum(away**2, axis=2) / usual[count], np.nan)
        scale = np.sqrt(_median(variances, 1))[:, None]
        limit = np.nan_to_num(HUBER * scale)[:, :, None]
        clipped = np.clip(nodes - centre[:, :, None], -limit, limit)
        value = centre + np.nansum(clipped, axis=2) / count
        value = np.where(count >= MIN_GROUP, value, np.nan)
        shift = value - _median(value, 1)[:, None]
        noise = np.where(count >= MIN_GROUP, scale**2 / count, np.nan)
        ratio = _between(shift) / np.maximum(_median(noise, 1), FLOOR**2)[:, None]
    return shift, noise, ratio


def _between(shift: Floats) -> Floats:
    """The robust variance between the other groups [order, group, column]; of many groups, between
    all of them.
    """
    groups = shift.shape[1]
    if groups > _MANY:
        variance = (ROBUST * _median(np.abs(shift), 1)) ** 2
        return np.broadcast_to(variance[:, None], shift.shape)
    others = np.array([[g for g in range(groups) if g != own] for own in range(groups)])
    given = shift[:, others]
    away = np.abs(given - _median(given, 2)[:, :, None])
    return np.asarray((ROBUST * _median(away, 2)) ** 2)


def _median(values: Floats, axis: int) -> Floats:
    """The median along an axis without nan; nan where all are nan."""
    return median_down(np.moveaxis(values, axis, 0))
