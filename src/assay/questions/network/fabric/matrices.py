"""The pair matrices and rings of a run, collected from its records and labelled by host."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from assay.arrays import Floats
from assay.hostnames import natural
from assay.models.network.minimum import HOPS
from assay.models.network.outliers import upper_outliers
from assay.models.network.pair_times import PairTimes, pair_times
from assay.models.network.sampled import topology_of
from assay.models.network.topology import FALSE_ALARMS, SLOW, Topology
from assay.questions.common.findings import INTERNAL
from assay.questions.common.selection import Point, points
from assay.questions.network.parameters import message_bytes
from assay.records.model import Measurement, RunData
from assay.records.schema import SampleSeries
from assay.stats.compare.directions import Comparison, compared
from assay.stats.core.intervals import median_interval
from assay.stats.core.model import CellSummary
from assay.units import Interval

PAIRS = "network.pairs"
RING = "network.ring"


@dataclass(frozen=True)
class PairMatrix:
    """Times between every two members of a cell, in seconds one way."""

    #: Median over the pairs of the cell.
    point: Point
    #: ``names``, ``hosts``: names and hosts of the members.
    names: tuple[str, ...]
    hosts: tuple[str, ...]
    #: Times of the measured pairs.
    pairs: PairTimes
    #: Groups, slow members and slow pairs, by index of the members.
    topology: Topology

    @property
    def times(self) -> Floats:
        """The times as a matrix: medians over launches, NaN for pairs that no launch measured."""
        return self.pairs.matrix(self.pairs.seconds)


@dataclass(frozen=True)
class LaunchRatio:
    """A ratio with its interval across launches."""

    #: Median over launches, without unit.
    value: float
    #: 95% interval; None if there are too few launches.
    ci95: Interval | None
    #: Number of launches.
    launches: int = 0

    def compared(self, *, comparisons: int = 1, equal: float = 1.0) -> Comparison:
        """Its direction (``stats.compare.directions``), among this many comparisons."""
        # One value per launch has one more degree of freedom than two groups of launches.
        return compared(
            self.value,
            self.ci95,
            launches=self.launches + 1,
            comparisons=comparisons,
            equal=equal,
        )


@dataclass(frozen=True)
class Hop:
    """One hop of a ring."""

    #: ``sender``, ``receiver``: names of the two ends.
    sender: str
    receiver: str
    #: Hosts of the sender and the receiver.
    hosts: tuple[str, str]
    #: Whether the hop crosses nodes.
    crosses: bool
    #: Times in s, one per launch.
    times: tuple[float, ...] = field(metadata=INTERNAL)
    #: Median of ``times``, in s.
    time: float
    #: 95% interval of the median, in s.
    ci95: Interval | None
    #: ``time`` over the median of the hops of its kind (within a node, between nodes).
    ratio: float
    #: Whether the hop is an outlier, and slower beyond the range of its launches.
    stands_out: bool
    #: ``ratio`` with its interval across launches for an outlier, else None.
    excess: LaunchRatio | None


@dataclass(frozen=True)
class RingHops:
    """A ring."""

    #: Time of a round.
    point: Point
    #: Hops in the ring's order.
    hops: tuple[Hop, ...]
    #: ``within``, ``between``: median time of hops within a node and between nodes, in s; None if
    #: there are none.
    within: float | None
    between: float | None


def pair_matrices(cells: Iterable[CellSummary], run: RunData) -> list[PairMatrix]:
    """One matrix per usable cell of network.pairs, the smallest message first."""
    matrices = []
    for point in sorted(points(cells, PAIRS, "latency"), key=message_bytes):
        measurements = _of(point, run)
        found = [_named_times(m, "pair", point.parameter("between")) for m in measurements]
        names = _in_order(name for times in found for pair in times for name in pair)
        if len(names) < 2:
            continue
        place = {name: index for index, name in enumerate(names)}
        pairs = pair_times(
            len(names), [[(place[a], place[b], t) for (a, b), t in of.items()] for of in found]
        )
        known = _hosts(measurements, "pair", point.parameter("between"))
        hosts = tuple(known[name] for name in names)
        matrices.append(PairMatrix(point, names, hosts, pairs, topology_of(pairs)))
    return matrices


def ring_hops(cells: Iterable[CellSummary], run: RunData) -> list[RingHops]:
    """The hops of each usable cell of network.ring."""
    rings = []
    for point in points(cells, RING, "time"):
        measurements = _of(point, run)
        found = [_named_times(m, "hop", "ranks") for m in measurements]
        if not any(found):
            continue
        hosts = _hosts(measurements, "hop", "ranks")
        pairs = _chain(list(dict.fromkeys(pair for times in found for pair in times)))
        times = [tuple(t[pair] for t in found if pair in t) for pair in pairs]
        crosses = [hosts[a] != hosts[b] for a, b in pairs]
        ratios, standing = _stand_out(np.array([np.median(t) for t in times]), crosses)
        if min(map(len, times)) < HOPS.launches:
            standing = set()
        hops = tuple(
            _hop(
                pair,
                (hosts[pair[0]], hosts[pair[1]]),
                times[k],
                float(ratios[k]),
                len(pairs) if k in standing else 0,
            )
            for k, pair in enumerate(pairs)
        )
        rings.append(
            RingHops(point, hops, _median_hop(hops, crosses=False), _median_hop(hops, crosses=True))
        )
    return rings


def over_launches(values: Sequence[float], otherwise: float) -> LaunchRatio:
    """The median over launches; ``otherwise``, without an interval, for fewer than two launches."""
    known = np.array([value for value in values if np.isfinite(value)])
    if known.size < 2:
        return LaunchRatio(otherwise, None)
    return LaunchRatio(float(np.median(known)), median_interval(known), int(known.size))


def _hop(
    pair: tuple[str, str],
    hosts: tuple[str, str],
    times: tuple[float, ...],
    ratio: float,
    among: int,
) -> Hop:
    """A hop; ``among``: the number of hops if it is an outlier, else 0."""
    time = float(np.median(times))
    excess = over_launches([ratio * own / time for own in times], ratio) if among else None
    if excess is not None and excess.compared(comparisons=among).direction != "more":
        excess = None
    return Hop(
        sender=pair[0],
        receiver=pair[1],
        hosts=hosts,
        crosses=hosts[0] != hosts[1],
        times=times,
        time=time,
        ci95=median_interval(np.array(times)),
        ratio=ratio,
        stands_out=excess is not None,
        excess=excess,
    )


def _median_hop(hops: Sequence[Hop], *, crosses: bool) -> float | None:
    times = [hop.time for hop in hops if hop.crosses == crosses]
    return float(np.median(times)) if times else None


def _stand_out(times: Floats, crosses: Sequence[bool]) -> tuple[Floats, set[int]]:
    """The ratio of each hop to the median of its kind (within or between nodes), and outliers."""
    left = np.log(times)
    kinds = np.array(crosses)
    for kind in (False, True):
        if (kinds == kind).any():
            left[kinds == kind] -= np.median(left[kinds == kind])
    return np.exp(left), set(upper_outliers(left, FALSE_ALARMS, math.log(SLOW)))


def _chain(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The hops in sequence: each begins at the receiver of the previous hop, as far as possible."""
    after = dict(pairs)
    ordered: list[tuple[str, str]] = []
    for start, _ in pairs:
        here = start
        while here in after:
            ordered.append((here, after[here]))
            here = after.pop(here)
    return ordered


def _of(point: Point, run: RunData) -> list[Measurement]:
    found = [
        measurement
        for measurement in run.measurements
        if measurement.cell.id == point.summary.id and measurement.record.status == "ok"
    ]
    return sorted(found, key=lambda measurement: measurement.replicate)


def _ends(series: SampleSeries) -> tuple[int, int] | None:
    if series.rank is None or series.peer is None or not series.values:
        return None
    return series.rank, series.peer


def _named_times(
    measurement: Measurement, metric: str, between: object
) -> dict[tuple[str, str], float]:
    """Times in s by the names of both ends, without times of 0."""
    found = {}
    names = _names(measurement, between)
    for series in measurement.record.series:
        ends = _ends(series) if series.metric == metric else None
        if ends is not None and (time := median(series.values)) > 0:
            one, other = (names.get(rank, f"rank {rank}") for rank in ends)
            found[one, other] = time
    return found


def _names(measurement: Measurement, between: object) -> dict[int, str]:
    """The name of each rank: its host, and its number if the host has several members."""
    hosts = {r.host for r in measurement.ranks}
    if between == "nodes" or 1 < len(hosts) == len(measurement.ranks):
        return {r.rank: r.host for r in measurement.ranks}
    if len(hosts) == 1:
        return {r.rank: f"rank {r.rank}" for r in measurement.ranks}
    return {r.rank: f"{r.host} rank {r.rank}" for r in measurement.ranks}


def _hosts(measurements: Sequence[Measurement], metric: str, between: object) -> dict[str, str]:
    """The host of each name."""
    found = {}
    for measurement in measurements:
        known = {record.rank: record.host for record in measurement.ranks}
        names = _names(measurement, between)
        for series in measurement.record.series:
            ends = _ends(series) if series.metric == metric else None
            for rank in ends or ():
                found[names.get(rank, f"rank {rank}")] = known.get(rank, "")
    return found


def _in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Unique names in natural order: numbers in names sort as numbers."""
    return tuple(sorted(set(names), key=lambda name: (natural(name), name)))
