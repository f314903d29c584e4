"""Findings on the fabric from pairs, rings and bisections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from assay.arrays import Bools, Floats
from assay.models.network.minimum import GROUPS, HOPS, SHARES, SLOW_MEMBERS, MissingData
from assay.models.network.pair_times import PairTimes, depths, labels_of
from assay.models.network.topology import PairSample, SlowNode, SwitchLevel
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.selection import Point
from assay.questions.network.fabric.bisections import (
    BisectionCut,
    bisection_cuts,
    bisection_points,
)
from assay.questions.network.fabric.matrices import (
    LaunchRatio,
    PairMatrix,
    RingHops,
    over_launches,
    pair_matrices,
    ring_hops,
)
from assay.questions.network.fabric.ring_groups import RingGroups, ring_groups
from assay.questions.network.parameters import message_bytes


@dataclass(frozen=True)
class GroupLevel:
    """Groups at one level of switches."""

    #: Names of the members of each group.
    groups: tuple[tuple[str, ...], ...]
    #: ``within``, ``between``: median times within groups and between them, in s.
    within: float
    between: float
    #: ``between`` over ``within``.
    ratio: float
    #: The same ratio, with its interval across launches.
    times: LaunchRatio


@dataclass(frozen=True)
class SlowMember:
    """A node or rank that is slow in all its pairs."""

    #: Name of the host or rank.
    name: str
    #: Time of its pairs over the expected time.
    times: LaunchRatio


@dataclass(frozen=True)
class SlowLink:
    """A slow pair whose members are not slow in other pairs."""

    #: ``one``, ``other``: names of its members.
    one: str
    other: str
    #: Time of the pair over the expected time.
    times: LaunchRatio


@dataclass(frozen=True)
class PairFindings:
    """Ping-pong between every two members."""

    #: Median of all pairs: half a round trip, in s.
    point: Point
    #: Slowest pair of each pass; None if not recorded.
    slowest: Point | None
    #: Kind of the members: node or rank.
    unit: str
    #: Whether several pairs exchanged concurrently.
    together: bool
    #: Message size, in bytes.
    bytes: int
    #: Names of the members.
    names: tuple[str, ...]
    #: Number of measured pairs, out of ``pairs_in_all``.
    pairs: int
    #: Number of pairs that exist.
    pairs_in_all: int
    #: Conclusions on groups from a sample of the pairs; None if all pairs were measured.
    sample: PairSample | None
    #: Whether groups were searched for. A search needs six members.
    searched: bool
    #: Whether there are too few members to search for groups.
    too_few: bool
    #: Time between nodes over the time within nodes, based only on placement; None unless both were
    #: measured.
    across_nodes: LaunchRatio | None
    #: Levels of groups, from the coarsest to the finest.
    levels: tuple[GroupLevel, ...]
    #: ``slow_members``, ``slow_links``: the slowest first. With too few launches only groups are
    #: found: groups that each launch shows by itself, or groups of a sample. Without such groups
    #: ``searched`` is false.
    slow_members: tuple[SlowMember, ...]
    slow_links: tuple[SlowLink, ...]
    #: Times of the measured pairs.
    matrix: PairMatrix = field(metadata=INTERNAL)

    @property
    def too_few_launches(self) -> bool:
        """Whether there are too few launches to search for slow members and pairs."""
        return len(self.matrix.pairs.launches) < GROUPS.launches


@dataclass(frozen=True)
class FabricFindings:
    """The fabric of a run."""

    #: Pairs, by message size.
    pairs: tuple[PairFindings, ...]
    #: Rings, in the order measured.
    rings: tuple[RingHops, ...]
    #: Whether each ring shows the groups of nodes that pairs show, for rings with hops within
    #: groups and between them.
    ring_groups: tuple[RingGroups, ...]
    #: Bisections while all pairs exchange, the worst cut first.
    cuts: tuple[BisectionCut, ...]
    #: Data that are missing for the methods that were not applied.
    missing: tuple[MissingData, ...]
    #: All points of bisections, including points of a single pair.
    bisections: tuple[Point, ...] = field(metadata=INTERNAL)


def find(measured: Measured) -> FabricFindings | None:
    """Findings on the fabric; None if no usable cell measured it."""
    cells, run = measured.cells, measured.run
    matrices, rings = pair_matrices(cells, run), tuple(ring_hops(cells, run))
    cuts = tuple(bisection_cuts(cells, run))
    pairs = tuple(map(_pairs, matrices))
    found = FabricFindings(
        pairs=pairs,
        rings=rings,
        ring_groups=tuple(_ring_groups(pairs, rings)),
        cuts=cuts,
        missing=tuple(_missing(matrices, rings, cuts)),
        bisections=tuple(bisection_points(cells)),
    )
    return found if found.pairs or found.rings or found.bisections else None


def _ring_groups(pairs: Sequence[PairFindings], rings: Sequence[RingHops]) -> Iterator[RingGroups]:
    """Rings by the coarsest groups of nodes that pairs show, at the largest such message."""
    grouped = [each for each in pairs if each.levels and each.unit == "node"]
    if not grouped:
        return
    largest = max(grouped, key=lambda each: each.bytes)
    for ring in rings:
        if found := ring_groups(ring, largest.levels[0].groups, largest.bytes, len(rings)):
            yield found


def _missing(
    matrices: Sequence[PairMatrix], rings: Sequence[RingHops], cuts: Sequence[BisectionCut]
) -> Iterator[MissingData]:
    """The data that each method lacks because its cells have too few launches.

    Too few nodes or hops don't call for another measurement; other sentences report them.
    """
    few = [
        found
        for found in matrices
        if len(found.pairs.launches) < GROUPS.launches and len(found.names) >= GROUPS.points
    ]
    for found in few[:1]:
        members = range(1, len(found.names) + 1)
        grouped = any(each.topology.levels for each in matrices)
        for method in (SLOW_MEMBERS,) if grouped else (GROUPS, SLOW_MEMBERS):
            if lack := method.missing(dict.fromkeys(members, len(found.pairs.launches))):
                yield lack
    for ring in rings:
        lack = HOPS.missing({k: len(hop.times) for k, hop in enumerate(ring.hops, 1)})
        if lack and not lack.lacks_points:
            yield lack
            break
    for cut in cuts:
        single = cut.single.point if cut.single else None
        lack = SHARES.missing({1: cut.point.metric.n, 2: single.metric.n}) if single else None
        if lack:
            yield lack
            break


def _slower(times: LaunchRatio, among: int) -> bool:
    """Whether a ratio is above 1 beyond the range of its launches, the greatest of ``among``.

    Groups that each of few launches shows by itself have no interval, and are tested within
    launches.
    """
    return times.ci95 is None or times.compared(comparisons=among).direction == "more"


def _shown_sample(found: PairMatrix, levels: Sequence[GroupLevel]) -> PairSample | None:
    """The sample; without groups if their pairs are not slower beyond the range of launches."""
    sample = found.topology.sample
    if sample is None or levels or sample.groups != "found":
        return sample
    return replace(sample, groups="none", alone=0)


def _pairs(found: PairMatrix) -> PairFindings:
    summary = found.point.summary
    slowest, topology = summary.metrics.get("slowest"), found.topology
    levels = tuple(
        shown
        for level in topology.levels
        if _slower((shown := _level(found, level)).times, len(topology.levels))
    )
    members = len(found.names)
    slow_members = [_slow_member(found, slow) for slow in topology.slow_nodes]
    slow_links = [
        SlowLink(
            found.names[slow.one],
            found.names[slow.other],
            _over_launches(found, _pair(slow.one, slow.other, found.pairs), slow.ratio),
        )
        for slow in topology.slow_pairs
    ]
    return PairFindings(
        point=found.point,
        slowest=Point(summary, slowest) if slowest else None,
        unit="node" if found.point.parameter("between") == "nodes" else "rank",
        together=found.point.parameter("concurrent") == "yes",
        bytes=message_bytes(found.point),
        names=found.names,
        pairs=len(found.pairs.ones),
        pairs_in_all=found.pairs.in_all,
        sample=_shown_sample(found, levels),
        searched=topology.searched,
        too_few=len(found.names) < GROUPS.points,
        across_nodes=_across_nodes(found),
        levels=levels,
        slow_members=tuple(one for one in slow_members if _slower(one.times, members)),
        slow_links=tuple(one for one in slow_links if _slower(one.times, len(found.pairs.ones))),
        matrix=found,
    )


def _slow_member(found: PairMatrix, slow: SlowNode) -> SlowMember:
    own = found.pairs.with_node(slow.node)
    return SlowMember(found.names[slow.node], _over_launches(found, own, slow.ratio))


def _across_nodes(found: PairMatrix) -> LaunchRatio | None:
    """Pairs between nodes over pairs within nodes, by placement, without clustering."""
    hosts = np.array(found.hosts)
    same = hosts[found.pairs.ones] == hosts[found.pairs.others]
    inside, outside = (_median(found.pairs.seconds, where) for where in (same, ~same))
    if np.isnan(inside) or np.isnan(outside):
        return None
    return _between_over_within(found, same, outside / inside)


def _level(found: PairMatrix, level: SwitchLevel) -> GroupLevel:
    same = found.pairs.within(labels_of(found.pairs.nodes, level.groups))
    ratio = level.between / level.within
    return GroupLevel(
        groups=tuple(tuple(found.names[member] for member in group) for group in level.groups),
        within=level.within,
        between=level.between,
        ratio=ratio,
        times=_between_over_within(found, same, ratio),
    )


def _between_over_within(found: PairMatrix, same: Bools, otherwise: float) -> LaunchRatio:
    return over_launches(
        [_median(times, ~same) / _median(times, same) for times in found.pairs.launches], otherwise
    )


def _over_launches(found: PairMatrix, where: Bools, ratio: float) -> LaunchRatio:
    """A ratio of medians over launches, scaled to each launch by its times of ``where``."""
    if found.topology.sample is None:
        usual = found.pairs.seconds
        changes = [_median(times / usual, where) for times in found.pairs.launches]
        return over_launches([ratio * change for change in changes], ratio)
    # Launches measured different pairs: each launch is compared with the expected time of its
    # pairs.
    expected = _expected(found)
    own = [
        _median(times / expected, where) / _median(times / expected, ~where)
        for times in found.pairs.launches
    ]
    return over_launches(own, ratio)


def _expected(found: PairMatrix) -> Floats:
    """The median time of the pairs with the same number of common groups, for each pair."""
    depth = depths(found.pairs, [level.groups for level in found.topology.levels])
    medians = {level: _median(found.pairs.seconds, depth == level) for level in np.unique(depth)}
    return np.array([medians[level] for level in depth])


def _median(values: Floats, where: Bools) -> float:
    chosen = values[where & ~np.isnan(values)]
    return float(np.median(chosen)) if chosen.size else float("nan")


def _pair(one: int, other: int, pairs: PairTimes) -> Bools:
    return np.asarray((pairs.ones == min(one, other)) & (pairs.others == max(one, other)))
