"""The whole examination of a fleet: groups, kinds, and the nodes that are slow for certain.

A node is named if three tests agree: it is slower than its peers as normal values scatter
(``compare``), slower than nodes are by chance with such launches (``calibration``), and outside of
what the tail of the fleet explains (``node_tail``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.arrays import Floats, Ints
from assay.stats.compare.chosen import chosen_interval
from assay.stats.core.intervals import Estimate
from assay.stats.fleet.calibration import NAMED, clean_level, more_launches
from assay.stats.fleet.clusters import Clusters, find_clusters, least_likelier
from assay.stats.fleet.fleet import FLOOR, LEVEL, Fleet, compare, interval
from assay.stats.fleet.kinds import MOST_KINDS
from assay.stats.fleet.node_groups import NODES_NAMED, GroupComparison, compare_within_groups
from assay.stats.fleet.node_tail import (
    TAIL_LEVEL,
    beyond_tail,
    deviations,
    launch_errors,
    one_more,
)
from assay.stats.fleet.peers import MIN_VALUES, against_peers, chance
from assay.units import Interval

# How many deviations of its own scatter the stated size of a slow node allows for: 95% of nodes of
# this size are named (simulated).
_FOUND = 2.0


@dataclass(frozen=True)
class FleetJudgement:
    """A fleet, and which of its nodes are slow. Nodes are rows of ``fleet``."""

    #: The comparison of nodes within kinds, without the effects of slow groups.
    fleet: Fleet
    #: The comparison of groups; None without groups or with too few launches.
    compared: GroupComparison | None
    #: The slow nodes, the most certain first.
    named: list[int]
    #: Nodes that may be slow, or have had slow launches: ``more_launches`` per node would decide.
    undecided: list[int]
    more_launches: int
    #: Nodes that are slower than others, but not farther away than the tail of the fleet explains.
    explained: list[int]
    #: Of each node, the share of clean fleets in which some node is as far beyond the others; nan
    #: without a value.
    beyond: Floats


@dataclass(frozen=True)
class KindDifference:
    """How much slower a kind of nodes is than the largest kind, in its clearest column."""

    kind: int
    column: int
    #: Difference of logarithms of costs, and its 95% interval.
    shift: float
    interval: Interval


def judge(
    costs: Floats,
    resources: Sequence[str],
    partitions: Sequence[Ints] = (),
    known_kinds: Ints | None = None,
) -> FleetJudgement:
    """Examine a fleet. It takes the arguments of ``compare_within_groups``."""
    fleet, compared = compare_within_kinds(costs, resources, partitions, known_kinds)
    beyond = outside_of_tail(fleet)
    slow = fleet.outliers().tolist()
    level = _level(costs, resources, fleet, compared) if slow else LEVEL
    undecided = [row for row in slow if fleet.p_nodes[row] > level]
    certain = [row for row in slow if fleet.p_nodes[row] <= level]
    return FleetJudgement(
        fleet=fleet,
        compared=compared,
        named=[row for row in certain if beyond[row] <= TAIL_LEVEL],
        undecided=undecided,
        more_launches=more_launches(costs, resources, fleet) if undecided else 0,
        explained=[row for row in certain if beyond[row] > TAIL_LEVEL],
        beyond=beyond,
    )


def compare_within_kinds(
    costs: Floats,
    resources: Sequence[str],
    partitions: Sequence[Ints] = (),
    known_kinds: Ints | None = None,
) -> tuple[Fleet, GroupComparison | None]:
    """The comparison within kinds: known ones, and clusters of the nodes' values.

    It takes the arguments of ``compare_within_groups``.
    """
    fleet, compared = compare_within_groups(costs, resources, partitions, known_kinds)
    first = np.unique(fleet.kinds).size
    while np.unique(fleet.kinds).size < first + MOST_KINDS - 1:
        best = _likeliest_clusters(fleet)
        if best is None:
            break
        clusters, column, rows = best
        small = clusters.upper if 2 * clusters.upper.sum() <= rows.size else ~clusters.upper
        kinds = fleet.kinds.copy()
        kinds[rows[small]] = kinds.max() + 1
        split = (*fleet.split, column)
        fleet, compared = compare_within_groups(costs, resources, partitions, kinds)
        fleet = replace(fleet, split=(*split, *fleet.split))
    return fleet, compared


def outside_of_tail(fleet: Fleet) -> Floats:
    """Of each node, the share of clean fleets in which some node is as far beyond the others."""
    return beyond_tail(deviations(fleet), launch_errors(fleet))


def kind_differences(
    costs: Floats, resources: Sequence[str], fleet: Fleet
) -> dict[int, KindDifference]:
    """Each kind but the largest, by its number; none for kinds of fewer than three nodes."""
    from scipy.special import stdtrit

    kinds, sizes = np.unique(fleet.kinds, return_counts=True)
    if kinds.size < 2:
        return {}
    together = compare(costs, resources, np.zeros_like(fleet.kinds), split_kinds=False).shift
    of_kind = {k: against_peers(together[fleet.kinds == k], floor=FLOOR) for k in kinds.tolist()}
    usual = of_kind[int(kinds[np.argmax(sizes)])]
    found = {}
    for kind, own in of_kind.items():
        fewest = np.minimum(own.count, usual.count)
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.sqrt(own.scale**2 / own.count + usual.scale**2 / usual.count)
            score = np.where(fewest >= MIN_VALUES, (own.centre - usual.centre) / error, np.nan)
        if own is usual or not np.isfinite(score).any():
            continue
        column = int(np.nanargmax(np.abs(score)))
        shift = float(own.centre[column] - usual.centre[column])
        half = float(stdtrit(fewest[column] - 1, 0.975) * error[column])
        found[kind] = KindDifference(kind, column, shift, (shift - half, shift + half))
    return found


def chosen_node_interval(fleet: Fleet, row: int, column: int) -> Interval:
    """The interval of a node's shift, extended for its choice as the slowest of its kind.

    ``chosen_interval`` computes it from the ratios of costs of all nodes of the kind. Their errors
    are known. Their intervals are wider than normal ones, since few peers show their scatter badly.
    """
    rows = np.flatnonzero((fleet.kinds == fleet.kinds[row]) & np.isfinite(fleet.shift[:, column]))
    shift, error = fleet.shift[rows, column], fleet.error[rows, column]
    ratios = []
    for own_shift, own_error in zip(shift.tolist(), error.tolist(), strict=True):
        low, high = interval(own_shift, own_error, rows.size)
        ratios.append(Estimate(math.exp(own_shift), (math.exp(low), math.exp(high))))
    found, _ = chosen_interval(ratios, int(np.flatnonzero(rows == row)[0]), error**2)
    low, high = found or (1.0, 1.0)  # each of the ratios has an interval
    return math.log(low), math.log(high)


def _likeliest_clusters(fleet: Fleet) -> tuple[Clusters, int, Ints] | None:
    """The clearest clusters of the nodes of one kind in a column, the column, and the nodes.

    The last column has most cells. In the others, clusters are the more likely by chance the more
    of them there are.
    """
    best: tuple[Clusters, int, Ints] | None = None
    last = fleet.shift.shape[1] - 1
    others = float(np.log(max(last, 1)))
    errors = launch_errors(fleet)
    for kind in np.unique(fleet.kinds):
        for column in range(last + 1):
            rows = np.flatnonzero((fleet.kinds == kind) & np.isfinite(fleet.shift[:, column]))
            error = float(errors[column] * np.nan_to_num(fleet.scatter[kind, column]))
            found = find_clusters(fleet.shift[rows, column], FLOOR, error)
            if found is None:
                continue
            if column < last and found.likelier < least_likelier(rows.size) + others:
                continue
            if best is None or found.likelier > best[0].likelier:
                best = found, column, rows
    return best


def _level(
    costs: Floats, resources: Sequence[str], fleet: Fleet, compared: GroupComparison | None
) -> float:
    return clean_level(costs, resources, fleet, NODES_NAMED if compared else NAMED)


def smallest_seen(costs: Floats, resources: Sequence[str], judged: FleetJudgement) -> float:
    """The size of a slow node that would have been found.

    It is the difference of logarithms of costs from which on 95% of nodes that are slow in all
    cells would be named; infinite if none would. ``judged``: the judgement of the same costs.
    """
    fleet, away = judged.fleet, deviations(judged.fleet)
    level = _level(costs, resources, fleet, judged.compared)
    most = int(np.argmax(np.bincount(fleet.kinds)))
    rows, scale = np.flatnonzero(fleet.kinds == most), fleet.scatter[most]
    usable = np.flatnonzero(np.isfinite(scale))
    if not usable.size or level <= 0.0:
        return float("inf")
    whole = int(usable[-1])  # the last column has most cells
    tried = scale[whole] * np.exp(np.linspace(0.0, 6.0, 241))
    cells = int((usable < fleet.cells).sum())
    # A node's own scatter in the cells together is smaller than in one of them.
    own = np.where(usable == whole, _FOUND, _FOUND / np.sqrt(max(cells, 1)))
    sizes = np.maximum(tried[:, None] / scale[usable] - own, 0.0)
    normal = chance(sizes[:, -1], rows.size) * rows.size * usable.size
    outside = one_more(away[:, usable], launch_errors(fleet)[usable], sizes) <= TAIL_LEVEL
    named = np.flatnonzero(outside & (normal <= min(level, LEVEL)))
    return float(tried[named[0]]) if named.size else float("inf")
