"""Switches, slow nodes and slow cables from a matrix of times between nodes.

``sampled.py`` does so from a part of all pairs.

All analyses use logarithms of times, so that effects are ratios. There are three, each
conservative:

- **Slow nodes**: nodes with only slow pairs. Detected by the node's fast pairs (a low quantile of
  its row), which don't depend on switches, and, once groups are known, by the median of its row.
- **Groups**: average linkage (Sokal & Michener 1958) of the nodes that are not slow; among its
  cuts, the one at which "within a group" and "between groups" explain most of the variance. This
  cut is compared with the best cuts of matrices with the same node effects and permuted residuals:
  a permutation test of the whole search, which accounts for trying every cut.
- **Slow pairs**: residuals of a pair's time after groups and slow nodes.

``outliers.upper_outliers`` decides which nodes and pairs stand out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats
from assay.models.network.minimum import AGREEING_LAUNCHES, GROUPS
from assay.models.network.outliers import upper_outliers

Grouping = tuple[tuple[int, ...], ...]

# Probability of finding groups if there are none, and probability of finding any slow node or pair
# if there is none.
FALSE_ALARMS = 0.01
# Minimum ratio of a slow node's or pair's time to the expected time. Smaller ratios don't matter.
SLOW = 1.1
# With fewer nodes, even perfect groups occur by chance more often than at the rate above.
MIN_NODES = GROUPS.points
# Number of permuted matrices, and the number of them that may be better: (1 + 1) / (199 + 1) = 1%.
_MAY_EXCEED = 1
# Share of a node's pairs that are certain to be within its own group.
FAST_PART = 0.05
# Times are clipped at this number of interquartile ranges above the third quartile before the cut.
_FAR_OUT = 3.0


@dataclass(frozen=True)
class SlowNode:
    """A node whose pairs take ``ratio`` times the expected time (median)."""

    node: int
    ratio: float


@dataclass(frozen=True)
class SlowPair:
    """A pair that takes ``ratio`` times the time expected from groups and slow nodes."""

    one: int
    other: int
    ratio: float


@dataclass(frozen=True)
class SwitchLevel:
    """Groups of one level of switches. A node without a group stays alone. Medians in seconds."""

    groups: Grouping
    within: float
    between: float


@dataclass(frozen=True)
class PairSample:
    """The groups that a part of all pairs shows."""

    #: Number of measured pairs.
    pairs: int
    #: Number of pairs that exist.
    in_all: int
    #: ``found``; ``none``, of at least ``smallest`` nodes; or ``open``: there are fast and slow
    #: pairs, as within and between groups, but too few to distinguish the groups.
    groups: Literal["found", "none", "open"]
    #: Smallest number of nodes of a group that was searched for.
    smallest: int
    #: Number of further pairs that would decide; 0 unless open.
    more: int
    #: Nodes in no group.
    alone: int


@dataclass(frozen=True)
class Topology:
    """The topology that an analysis found: groups, slow nodes and slow pairs."""

    #: Levels of groups from the coarsest to the finest; usually one or none.
    levels: tuple[SwitchLevel, ...]
    slow_nodes: tuple[SlowNode, ...]
    slow_pairs: tuple[SlowPair, ...]
    #: Whether groups were searched, which needs six nodes.
    searched: bool
    #: The nodes as a figure should show them, similar ones side by side.
    order: tuple[int, ...]
    #: Result for a part of all pairs; None if every pair was measured.
    sample: PairSample | None = None


def analyse(times: Floats, *, seed: int = 1) -> Topology:
    """The topology behind a symmetric matrix of seconds, NaN if a pair was not measured.

    The diagonal is ignored. Raises ValueError for a matrix that is not square, not symmetric, or
    holds a time that is not positive.
    """
    logs = _checked(times)
    n = len(logs)
    complete = not np.isnan(logs[~np.eye(n, dtype=bool)]).any()
    searched = complete and n >= MIN_NODES
    aside = slow_rows(_fast_quantile(logs), FALSE_ALARMS / 4)
    while True:
        levels = _levels(logs, aside, seed) if searched else []
        rest = _without_levels(logs, levels)
        found = slow_rows(_row_medians(rest), FALSE_ALARMS / 4)
        if found <= aside:
            break
        aside |= found  # these may have hidden groups, so search again
    ratios = np.exp(_row_medians(rest))
    slow = [node for node in aside if ratios[node] >= SLOW]
    return Topology(
        levels=tuple(_level(times, grouping) for grouping in levels),
        slow_nodes=tuple(
            SlowNode(node, float(ratios[node])) for node in sorted(slow, key=lambda k: -ratios[k])
        ),
        slow_pairs=tuple(_slow_pairs(rest, slow, FALSE_ALARMS / 2)),
        searched=searched,
        order=_order(logs, levels) if searched else tuple(range(n)),
    )


def agreed(launches: Sequence[Floats]) -> Topology:
    """The groups that each launch shows by itself, from one matrix per launch (see ``analyse``).

    For fewer launches than an interval needs. Two launches agree on nonexistent groups with a
    probability of ``FALSE_ALARMS`` squared. Slow nodes and pairs are not searched for: with few
    launches, the same node may have been disturbed in all of them. Without common groups nothing is
    known, and the matrix counts as not searched.
    """
    found = [analyse(times).levels for times in launches]
    common = [
        level
        for level in (found[0] if found else ())
        if all(level.groups in [each.groups for each in levels] for levels in found[1:])
    ]
    if not common or len(launches) < AGREEING_LAUNCHES:
        return unsearched(len(launches[0]) if launches else 0)
    times = np.median(np.stack(launches), axis=0)
    groupings = [level.groups for level in common]
    return Topology(
        levels=tuple(_level(times, grouping) for grouping in groupings),
        slow_nodes=(),
        slow_pairs=(),
        searched=True,
        order=_order(_checked(times), groupings),
    )


def unsearched(nodes: int) -> Topology:
    """The result for a matrix that was not analysed."""
    return Topology((), (), (), searched=False, order=tuple(range(nodes)))


def _checked(times: Floats) -> Floats:
    if times.ndim != 2 or times.shape[0] != times.shape[1]:
        raise ValueError(f"a matrix of pairs is square, not {times.shape}")
    off = ~np.eye(len(times), dtype=bool)
    if not np.array_equal(times[off], times.T[off], equal_nan=True):
        raise ValueError("a matrix of pairs is symmetric")
    if (times[off] <= 0).any() or np.isinf(times[off]).any():
        raise ValueError("a time must be positive and finite")
    logs = np.full(times.shape, np.nan)
    logs[off] = np.log(times[off])
    return logs


def _fast_quantile(logs: Floats) -> Floats:
    """The greatest time of the fastest 5% of each row, or the time of its fastest pair."""
    ordered = np.sort(logs, axis=1)  # NaN last
    known = (~np.isnan(logs)).sum(axis=1)
    place = np.maximum(np.round(FAST_PART * known).astype(int), 1) - 1
    return np.asarray(ordered[np.arange(len(logs)), place])


def _row_medians(logs: Floats) -> Floats:
    rows = [row[~np.isnan(row)] for row in logs]
    return np.array([float(np.median(row)) if row.size else math.nan for row in rows])


def slow_rows(effects: Floats, alpha: float) -> set[int]:
    """The nodes whose effect stands out above the others'; ``alpha``: the rate of false alarms."""
    known = np.flatnonzero(~np.isnan(effects))
    return {int(known[k]) for k in upper_outliers(effects[known], alpha, math.log(SLOW))}


def _slow_pairs(rest: Floats, slow: Sequence[int], alpha: float) -> list[SlowPair]:
    """The slow pairs. They follow from ``rest``, the logarithms without groups, minus the medians
    of slow nodes.

    The other nodes' medians are not subtracted: that would narrow the centre of a small matrix more
    than its tail, and turn noise into outliers.
    """
    effects = np.zeros(len(rest))
    effects[list(slow)] = _row_medians(rest)[list(slow)]
    ones, others = np.triu_indices(len(rest), 1)
    left = (rest - effects[:, None] - effects[None, :])[ones, others]
    known = np.flatnonzero(~np.isnan(left))
    left, ones, others = left[known], ones[known], others[known]
    left = left - np.median(left) if left.size else left
    return [
        SlowPair(int(ones[k]), int(others[k]), float(math.exp(left[k])))
        for k in upper_outliers(left, alpha, math.log(SLOW))
    ]


def _levels(logs: Floats, aside: set[int], seed: int) -> list[Grouping]:
    """The grouping that explains most, with the levels above and below it. Nodes in ``aside`` join
    afterwards."""
    nodes = [node for node in range(len(logs)) if node not in aside]
    found = find_groups(logs[np.ix_(nodes, nodes)], seed)
    if found is None:
        return []
    grouping = _renamed(found, nodes)
    levels = [grouping]
    if len(grouping) >= MIN_NODES:
        between = np.array(
            [[np.median(logs[np.ix_(one, other)]) for other in grouping] for one in grouping]
        )
        above = find_groups(between, seed)
        if above is not None:
            levels.insert(
                0, tuple(tuple(sorted(sum((grouping[g] for g in group), ()))) for group in above)
            )
    below: list[tuple[int, ...]] = []
    for group in grouping:
        parts = find_groups(logs[np.ix_(group, group)], seed, looks=len(grouping))
        below += _renamed(parts, group) if parts is not None else [group]
    if len(below) > len(grouping):
        levels.append(tuple(below))
    return [_joined(logs, each, aside) for each in levels]


def _renamed(groups: Grouping, names: Sequence[int]) -> Grouping:
    return tuple(tuple(names[member] for member in group) for group in groups)


def find_groups(logs: Floats, seed: int, looks: int = 1) -> Grouping | None:
    """Groups of at least two of these nodes; None if they aren't significant.

    ``looks``: number of searched matrices, which share the rate of false alarms.
    """
    n = len(logs)
    if n < MIN_NODES:
        return None
    from scipy.cluster.hierarchy import fcluster

    upper = np.triu_indices(n, 1)
    values = _without_far_out(logs[upper])
    if not np.ptp(values) > 0:
        return None
    explained, tree, merges = _best_cut(values)
    expected, remainder = _additive(values, upper, n)
    draw = np.random.default_rng(seed)
    exceeding = 0
    for _ in range(math.ceil(looks * (_MAY_EXCEED + 1) / FALSE_ALARMS) - 1):
        exceeding += _best_cut(expected + draw.permutation(remainder))[0] >= explained
        if exceeding > _MAY_EXCEED:
            return None
    labels = fcluster(tree, n - merges, criterion="maxclust")
    members = [tuple(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]
    return tuple(sorted(group for group in members if len(group) > 1)) or None


def _without_far_out(values: Floats) -> Floats:
    low, high = np.quantile(values, (0.25, 0.75))
    return np.minimum(values, high + _FAR_OUT * (high - low)) if high > low else values


def _best_cut(values: Floats) -> tuple[float, npt.NDArray[np.float64], int]:
    """Share of the variance that the best cut explains, the tree, and merges below that cut.

    The height of a merge in average linkage is the mean over the pairs that it puts into a common
    group, so sums over pairs within groups follow from the heights.
    """
    from scipy.cluster.hierarchy import linkage

    tree = linkage(values - values.min(), method="average")
    n = len(tree) + 1
    sizes = np.concatenate([np.ones(n), tree[:, 3]])
    pairs = sizes[tree[:, 0].astype(int)] * sizes[tree[:, 1].astype(int)]
    within = np.cumsum(pairs)[:-1]
    sums = np.cumsum(pairs * tree[:, 2])[:-1]
    everything = values.size
    total = float((values - values.min()).sum())
    variance = float(np.var(values)) * everything
    inside, outside = sums / within, (total - sums) / (everything - within)
    explained = within * (everything - within) / everything * (outside - inside) ** 2 / variance
    explained[outside <= inside] = 0.0
    best = int(np.argmax(explained))
    return float(explained[best]), tree, best + 1


def _additive(
    values: Floats, upper: tuple[npt.NDArray[np.intp], ...], n: int
) -> tuple[Floats, Floats]:
    """The least-squares fit by a mean and an effect of each node, and its residuals."""
    ones, others = upper
    sums = np.bincount(ones, values, n) + np.bincount(others, values, n)
    mean = float(values.mean())
    effects = (sums - (n - 1) * mean) / (n - 2)
    expected = mean + effects[ones] + effects[others]
    return expected, values - expected


def _joined(logs: Floats, grouping: Grouping, slow: set[int]) -> Grouping:
    """The groups, with each slow node that is clearly nearer to one group than to all others."""
    groups = [list(group) for group in grouping]
    inside = np.median([logs[i, j] for g in grouping for i in g for j in g if i < j])
    outside = [logs[i, j] for g in grouping for h in grouping if g < h for i in g for j in h]
    if not outside:
        return grouping
    step = float(np.median(outside) - inside)
    for node in sorted(slow):
        means = [float(np.median(logs[node, list(group)])) for group in grouping]
        nearest = int(np.argmin(means))
        others = [mean for k, mean in enumerate(means) if k != nearest]
        if min(others) - means[nearest] > step / 2:
            groups[nearest].append(node)
    return tuple(tuple(sorted(group)) for group in groups)


def _without_levels(logs: Floats, levels: Sequence[Grouping]) -> Floats:
    """The logarithms minus the median of all pairs that share the same number of levels."""
    shared = np.zeros(logs.shape, dtype=int)
    for grouping in levels:
        for group in grouping:
            shared[np.ix_(group, group)] += 1
    left = logs.copy()
    for depth in np.unique(shared):
        of_depth = (shared == depth) & ~np.isnan(logs)
        if of_depth.any():
            left[of_depth] -= np.median(logs[of_depth])
    return left


def _level(times: Floats, grouping: Grouping) -> SwitchLevel:
    same = np.zeros(times.shape, dtype=bool)
    for group in grouping:
        same[np.ix_(group, group)] = True
    upper = np.triu(np.ones(times.shape, dtype=bool), 1)
    return SwitchLevel(
        groups=grouping,
        within=float(np.median(times[upper & same])),
        between=float(np.median(times[upper & ~same])),
    )


def _order(logs: Floats, levels: Sequence[Grouping]) -> tuple[int, ...]:
    """Leaves of the average-linkage tree, with the groups of each level kept together."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    n = len(logs)
    values = logs[np.triu_indices(n, 1)]
    leaves = leaves_list(linkage(values - values.min(), method="average")).tolist()
    place = {node: k for k, node in enumerate(leaves)}
    keys: dict[int, list[int]] = {node: [] for node in leaves}
    for grouping in levels:
        alone = {node: place[node] for node in leaves}
        for group in grouping:
            alone |= dict.fromkeys(group, min(place[node] for node in group))
        for node in leaves:
            keys[node].append(alone[node])
    return tuple(sorted(leaves, key=lambda node: (keys[node], place[node])))
