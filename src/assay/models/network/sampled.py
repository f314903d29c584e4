"""Groups of nodes and slow nodes from a random part of all pairs.

Whether there are groups is tested on launches that the search has not seen: pairs within the groups
found in the others (``communities.py``) must be faster there than pairs between (Mann & Whitney
1947), and most of them fast. Otherwise the sample shows no groups, or it is too small to decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from assay.arrays import Floats, Ints
from assay.models.network.communities import Kinds, communities, kinds_of
from assay.models.network.minimum import AGREEING_LAUNCHES, GROUPS
from assay.models.network.outliers import upper_outliers
from assay.models.network.pair_times import PairTimes, depths, labels_of, node_quantiles
from assay.models.network.topology import (
    FALSE_ALARMS,
    FAST_PART,
    MIN_NODES,
    SLOW,
    Grouping,
    PairSample,
    SlowNode,
    SlowPair,
    SwitchLevel,
    Topology,
    agreed,
    analyse,
    find_groups,
    slow_rows,
)

# One in this number of launches is withheld from the search, for the test.
_EVERY = 3
# Mean number of a node's fast pairs within its group above which most of the group's nodes are
# connected: 94% of a random graph of degree 3 (Erdos & Renyi 1960).
_DEGREE = 3.0
# Mean number with which groups are distinguished with certainty: 0.3% of the nodes have no fast
# pair.
_SURE_DEGREE = 6.0
# A group below this share of the smallest size that can be found occurs by chance.
_TINY = 0.25
# Minimum share of the nodes in groups, and minimum share of fast pairs within groups in the test.
_MOST_NODES, _MOST_FAST = 0.5, 0.5
# With a greater share of fast pairs, the slow pairs are exceptions and not a sign of groups.
_EXCEPTIONS = 0.6
# Number of standard errors by which fast pairs must be distinct for groups to be possible.
_EVIDENT = 4.0
# With fewer pairs per node, no statement is made.
_LEAST_PER_NODE = 4
# Minimum number of pairs on each side of the test.
_FEWEST = 8


def topology_of(pairs: PairTimes) -> Topology:
    """The topology, from all pairs or from a part of them; with few launches, what each launch
    shows.
    """
    if not pairs.complete:
        return analyse_sample(pairs)
    if len(pairs.launches) >= GROUPS.launches:
        return analyse(pairs.matrix(pairs.seconds))
    return agreed([pairs.matrix(seconds) for seconds in pairs.launches])


def analyse_sample(pairs: PairTimes, *, seed: int = 1) -> Topology:
    """The topology behind the times of a part of all pairs.

    Slow nodes are named if there are enough launches for intervals; slow pairs must also have
    several launches. ``seed``: seed of the eigensolver's start.
    """
    searched = pairs.nodes >= MIN_NODES and len(pairs.ones) > 0
    levels, sample = sampled_groups(pairs, seed=seed) if searched else ([], None)
    enough = len(pairs.launches) >= GROUPS.launches
    slow, links = _slow(pairs, levels) if enough and len(pairs.ones) else ([], [])
    return Topology(
        levels=tuple(_level(pairs, grouping) for grouping in levels),
        slow_nodes=tuple(slow),
        slow_pairs=tuple(links),
        searched=searched,
        order=_order(pairs.nodes, levels),
        sample=sample,
    )


def smallest_group(nodes: int, pairs: int) -> int:
    """About the smallest group that this number of random pairs can show."""
    return min(nodes, math.ceil(1 + _DEGREE * nodes * (nodes - 1) / (2 * max(pairs, 1))))


def sampled_groups(pairs: PairTimes, *, seed: int) -> tuple[list[Grouping], PairSample]:
    """The levels of groups, the coarsest first, and the result that the sample shows."""
    kinds = kinds_of(pairs, pairs.logs)
    groups = _groups(pairs, kinds, seed, FALSE_ALARMS) if kinds is not None else ()
    more = _open(pairs, kinds) if not groups else 0
    in_groups = sum(map(len, groups))
    sample = PairSample(
        pairs=len(pairs.ones),
        in_all=pairs.in_all,
        groups="found" if groups else "open" if more else "none",
        smallest=smallest_group(pairs.nodes, len(pairs.ones)),
        more=more,
        alone=pairs.nodes - in_groups,
    )
    if not groups:
        return [], sample
    return [*_above(pairs, groups, seed), groups, *_below(pairs, groups, seed)], sample


def _groups(pairs: PairTimes, kinds: Kinds, seed: int, alarms: float) -> Grouping:
    """Groups of two or more nodes that pass the test; otherwise none."""
    count = len(pairs.launches)
    if count < AGREEING_LAUNCHES:
        return ()
    held = np.arange(count) % _EVERY == _EVERY - 1 if count >= _EVERY else np.arange(count) == 1
    seen, kept = pairs.of_launches(~held), pairs.of_launches(held)
    known = kinds_of(seen, seen.logs)
    if known is None or not _stands(kept, communities(seen, known, seed), alarms):
        return ()
    labels = communities(pairs, kinds, seed)
    members = [tuple(np.flatnonzero(labels == label).tolist()) for label in range(labels.max() + 1)]
    least = max(2.0, _TINY * smallest_group(pairs.nodes, len(pairs.ones)))
    groups = tuple(sorted(group for group in members if len(group) >= least))
    most = sum(map(len, groups)) >= _MOST_NODES * pairs.nodes
    return groups if len(groups) >= 2 and most else ()


def _stands(kept: PairTimes, labels: Ints, alarms: float) -> bool:
    """Whether pairs within groups are faster than pairs between groups, and mostly fast ones."""
    from scipy.stats import mannwhitneyu

    kinds = kinds_of(kept, kept.logs)
    same = kept.within(labels)
    apart = (labels[kept.ones] >= 0) & (labels[kept.others] >= 0) & ~same
    if kinds is None or same.sum() < _FEWEST or apart.sum() < _FEWEST:
        return False
    if kinds.fast[same].mean() < _MOST_FAST:
        return False
    test = mannwhitneyu(kinds.rest[same], kinds.rest[apart], alternative="less")
    return bool(test.pvalue < alarms)


def _open(pairs: PairTimes, kinds: Kinds | None) -> int:
    """Number of further pairs that would distinguish the groups; 0 if groups are unlikely."""
    some = min(_LEAST_PER_NODE * pairs.nodes, pairs.in_all)
    if len(pairs.ones) < some:
        return some - len(pairs.ones)
    if len(pairs.launches) < AGREEING_LAUNCHES:
        return len(pairs.ones)  # a second launch
    if kinds is None or kinds.share > _EXCEPTIONS or kinds.evidence < _EVIDENT:
        return 0
    sure = math.ceil(_SURE_DEGREE * pairs.nodes / (2 * kinds.share))
    return min(max(sure, 0), pairs.in_all) - len(pairs.ones) if sure > len(pairs.ones) else 0


def _above(pairs: PairTimes, groups: Grouping, seed: int) -> list[Grouping]:
    """Groups of groups, if pairs between every two of them were measured."""
    labels = labels_of(pairs.nodes, groups)
    between = np.full((len(groups), len(groups)), np.nan)
    one, other = labels[pairs.ones], labels[pairs.others]
    known = (one >= 0) & (other >= 0) & (one != other)
    key = np.minimum(one, other)[known] * len(groups) + np.maximum(one, other)[known]
    values = pairs.logs[known][np.argsort(key, kind="stable")]
    cells, begins = np.unique(np.sort(key), return_index=True)
    for cell, part in zip(cells, np.split(values, begins[1:]), strict=True):
        a, b = divmod(int(cell), len(groups))
        between[a, b] = between[b, a] = np.median(part)
    if np.isnan(between[~np.eye(len(groups), dtype=bool)]).any():
        return []
    found = find_groups(between, seed)
    if found is None:
        return []
    return [tuple(tuple(sorted(sum((groups[g] for g in group), ()))) for group in found)]


def _below(pairs: PairTimes, groups: Grouping, seed: int) -> list[Grouping]:
    """Groups within groups, if the pairs within a group suffice."""
    finer: list[tuple[int, ...]] = []
    for group in groups:
        inside = pairs.of_nodes(group)
        parts: Grouping = ()
        if 2 * smallest_group(len(group), len(inside.ones)) <= len(group):
            kinds = kinds_of(inside, inside.logs)
            if kinds is not None:
                parts = _groups(inside, kinds, seed, FALSE_ALARMS / len(groups))
        finer += [tuple(group[k] for k in part) for part in parts] if parts else [group]
    return [tuple(finer)] if len(finer) > len(groups) else []


def _slow(pairs: PairTimes, levels: Sequence[Grouping]) -> tuple[list[SlowNode], list[SlowPair]]:
    """Nodes and pairs that are slower than groups explain, the slowest first."""
    depth = depths(pairs, levels)
    rest = pairs.logs.copy()
    for level in np.unique(depth):
        rest[depth == level] -= np.median(rest[depth == level])
    effects = node_quantiles(pairs, rest, 0.5)
    found = slow_rows(node_quantiles(pairs, pairs.logs, FAST_PART), FALSE_ALARMS / 4)
    found |= slow_rows(effects, FALSE_ALARMS / 4)
    ratios = np.exp(effects)
    slow = sorted((n for n in found if ratios[n] >= SLOW), key=lambda node: -ratios[node])
    own = np.zeros(pairs.nodes)
    own[slow] = effects[slow]
    return (
        [SlowNode(node, float(ratios[node])) for node in slow],
        _slow_pairs(pairs, rest - own[pairs.ones] - own[pairs.others]),
    )


def _slow_pairs(pairs: PairTimes, rest: Floats) -> list[SlowPair]:
    """Only pairs that several launches measured count: one launch may have been disturbed."""
    known = np.flatnonzero((~np.isnan(pairs.launches)).sum(axis=0) >= AGREEING_LAUNCHES)
    if not known.size:
        return []
    left = rest[known] - np.median(rest[known])
    return [
        SlowPair(int(pairs.ones[known[k]]), int(pairs.others[known[k]]), float(math.exp(left[k])))
        for k in upper_outliers(left, FALSE_ALARMS / 2, math.log(SLOW))
    ]


def _level(pairs: PairTimes, grouping: Grouping) -> SwitchLevel:
    same = pairs.within(labels_of(pairs.nodes, grouping))
    return SwitchLevel(
        groups=grouping,
        within=float(np.median(pairs.seconds[same])),
        between=float(np.median(pairs.seconds[~same])),
    )


def _order(nodes: int, levels: Sequence[Grouping]) -> tuple[int, ...]:
    """Nodes of a group side by side, nodes of no group last."""
    keys = []
    for grouping in levels:
        labels = labels_of(nodes, grouping)
        keys.append(np.where(labels < 0, len(grouping), labels))
    return tuple(np.lexsort((np.arange(nodes), *reversed(keys))).tolist())
