"""Transfers of a cache line between CPUs: the matrix, its groups, and what the system says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from assay.models.network.pair_times import PairTimes, pair_times
from assay.models.network.sampled import topology_of
from assay.models.network.topology import Grouping, Topology
from assay.questions.common.findings import INTERNAL
from assay.questions.common.selection import Point, points
from assay.records.model import Measurement, RunData
from assay.stats.core.model import CellSummary

CORES = "memory.core_to_core"
# The facts that say where CPUs are, by the name of what they share.
_NAMED = {
    "core": "cores",
    "last-level cache": "shared_caches",
    "NUMA node": "numa_nodes",
    "package": "packages",
}


@dataclass(frozen=True)
class CoreGroups:
    """Groups of CPUs between which a line moves faster than to others: found in the times."""

    #: CPUs of each group, by the system's numbers.
    groups: Sequence[Sequence[int]]
    #: ``within``, ``between``: median time of a transfer within a group and between groups, in s.
    within: float
    between: float
    #: What the CPUs of a group share, by the operating system; empty if it names no such groups.
    shared: Sequence[str]


@dataclass(frozen=True)
class NamedGroups:
    """Groups of CPUs by the operating system, with the times measured within and between them."""

    #: What the CPUs of a group share: core, last-level cache, NUMA node or package.
    shared: str
    #: Number of groups.
    groups: int
    #: Number of CPUs of the largest group.
    largest: int
    #: ``within``, ``between``: median time of a transfer within a group and between groups, in s;
    #: None if no such pair was measured.
    within: float | None
    between: float | None
    #: Whether the times show the same groups; None if groups were not searched for.
    seen: bool | None


@dataclass(frozen=True)
class CoreFindings:
    """Transfers between CPUs."""

    #: Transfer of the median pair.
    point: Point
    #: Transfer of the slowest pair.
    slowest: Point
    #: CPUs of the matrix, by the system's numbers.
    cpus: Sequence[int]
    #: Number of measured pairs, over all launches.
    pairs: int
    #: Number of pairs of these CPUs.
    pairs_in_all: int
    #: Whether groups were searched for; it needs six CPUs and two launches.
    searched: bool
    #: Groups found in the times, from the largest groups to the smallest.
    found: Sequence[CoreGroups]
    #: Groups by the operating system, from the smallest groups to the largest.
    named: Sequence[NamedGroups]
    times: PairTimes = field(metadata=INTERNAL)
    topology: Topology = field(metadata=INTERNAL)


def find_cores(cells: Iterable[CellSummary], run: RunData) -> CoreFindings | None:
    """The matrix with the most CPUs; None if no usable cell measured one."""
    found = [each for point in points(cells, CORES, "latency") if (each := _matrix(point, run))]
    return max(found, key=lambda each: len(each.cpus), default=None)


def _matrix(point: Point, run: RunData) -> CoreFindings | None:
    measurements = [
        measurement
        for measurement in run.measurements
        if measurement.cell.id == point.summary.id and measurement.record.status == "ok"
    ]
    by_launch = [_times(each) for each in measurements]
    facts = next((each.record.facts for each in measurements if each.record.facts), {})
    cpus = _numbers(facts.get("cpus"))
    if not any(by_launch) or cpus is None:
        return None
    if any(_numbers(each.record.facts.get("cpus")) != cpus for each in measurements):
        return None  # launches on different CPUs share no matrix
    times = pair_times(len(cpus), by_launch)
    topology = topology_of(times)
    named = _named(facts, len(cpus))
    return CoreFindings(
        point=point,
        slowest=Point(point.summary, point.summary.metrics["slowest"]),
        cpus=cpus,
        pairs=len(times.ones),
        pairs_in_all=times.in_all,
        searched=topology.searched or topology.sample is not None,
        found=[
            CoreGroups(
                groups=[[cpus[member] for member in group] for group in level.groups],
                within=level.within,
                between=level.between,
                shared=[name for name, groups in named.items() if _same(groups, level.groups)],
            )
            for level in topology.levels
        ],
        named=[_named_groups(name, groups, times, topology) for name, groups in named.items()],
        times=times,
        topology=topology,
    )


def _times(measurement: Measurement) -> list[tuple[int, int, float]]:
    """The transfers of a launch: two threads and seconds."""
    return [
        (series.rank, series.peer, seconds)
        for series in measurement.record.series
        if series.metric == "pair" and series.rank is not None and series.peer is not None
        if series.values and (seconds := median(series.values)) > 0
    ]


def _numbers(fact: object) -> list[int] | None:
    words = str(fact or "").split()
    return [int(word) for word in words] if all(word.isdigit() for word in words) else None


def _named(facts: Mapping[str, object], members: int) -> dict[str, Grouping]:
    """The system's groups by what they share; not those that hold all CPUs or a single one each."""
    named: dict[str, Grouping] = {}
    for name, fact in _NAMED.items():
        words = str(facts.get(fact, "")).split()
        if len(words) != members or "-1" in words:
            continue
        groups: dict[str, list[int]] = {}
        for member, word in enumerate(words):
            groups.setdefault(word, []).append(member)
        if 1 < len(groups) < members:
            named[name] = tuple(tuple(group) for group in groups.values())
    return named


def _named_groups(name: str, groups: Grouping, times: PairTimes, topology: Topology) -> NamedGroups:
    label = {member: number for number, group in enumerate(groups) for member in group}
    labels = np.array([label[member] for member in range(times.nodes)])
    same = times.within(labels)
    within, between = times.seconds[same], times.seconds[~same]
    searched = topology.searched or topology.sample is not None
    return NamedGroups(
        shared=name,
        groups=len(groups),
        largest=max(map(len, groups)),
        within=float(np.median(within)) if within.size else None,
        between=float(np.median(between)) if between.size else None,
        seen=any(_same(groups, level.groups) for level in topology.levels) if searched else None,
    )


def _same(one: Grouping, other: Grouping) -> bool:
    """Whether both are the same groups; members without a group are in none of either."""
    return {frozenset(g) for g in one if len(g) > 1} == {frozenset(g) for g in other if len(g) > 1}
