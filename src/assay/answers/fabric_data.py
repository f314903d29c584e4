"""The matrices, rings and cuts of a run, gathered from its records and named by host."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.answers.select import Point, points
from assay.models.outliers import upper_outliers
from assay.models.topology import FALSE_ALARMS, SLOW, Topology, analyse, matrix
from assay.records.model import Measurement, RunData
from assay.records.schema import Series
from assay.stats.model import CellSummary

Floats = npt.NDArray[np.float64]

PAIRS = "network.pairs"
RING = "network.ring"
BISECTION = "network.bisection"


@dataclass(frozen=True)
class PairMatrix:
    """Seconds one way between ``names``; ``launches``: the same, launch by launch.

    ``times`` has the medians over launches, NaN where a pair was measured in none. ``hosts``: of
    each name.
    """

    point: Point
    names: tuple[str, ...]
    hosts: tuple[str, ...]
    times: Floats
    launches: tuple[Floats, ...]
    topology: Topology


@dataclass(frozen=True)
class Hop:
    """One hop of a ring: seconds, launch by launch. ``ratio``: to hops of its kind (median)."""

    sender: str
    receiver: str
    crosses: bool
    times: tuple[float, ...]
    ratio: float
    stands_out: bool

    @property
    def time(self) -> float:
        """The median over launches, in seconds."""
        return float(np.median(self.times))


@dataclass(frozen=True)
class RingHops:
    """The hops of a ring in its own order."""

    point: Point
    hops: tuple[Hop, ...]


def pair_matrices(cells: Iterable[CellSummary], run: RunData) -> list[PairMatrix]:
    """One matrix for each usable cell of network.pairs, the smallest message first."""
    made = []
    for point in sorted(points(cells, PAIRS, "latency"), key=message_bytes):
        measurements = _of(point, run)
        found = [_named_times(m, "pair", point.parameter("between")) for m in measurements]
        names = _in_order(name for times in found for pair in times for name in pair)
        if len(names) < 2:
            continue
        place = {name: index for index, name in enumerate(names)}
        launches = tuple(
            matrix(len(names), [(place[a], place[b], t) for (a, b), t in times.items()])
            for times in found
        )
        times = _medians(launches)
        known = _hosts(measurements, "pair", point.parameter("between"))
        hosts = tuple(known[name] for name in names)
        made.append(PairMatrix(point, names, hosts, times, launches, analyse(times)))
    return made


def ring_hops(cells: Iterable[CellSummary], run: RunData) -> list[RingHops]:
    """The hops of each usable cell of network.ring."""
    made = []
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
        made.append(
            RingHops(
                point,
                tuple(
                    Hop(a, b, crosses[k], times[k], float(ratios[k]), k in standing)
                    for k, (a, b) in enumerate(pairs)
                ),
            )
        )
    return made


def message_bytes(point: Point) -> int:
    """The message size of a point."""
    value = point.parameter("bytes")
    return int(value) if isinstance(value, int | float) else 0


def is_lone(point: Point) -> bool:
    """Whether a bisection's cell is one pair that exchanges while others wait."""
    return active_pairs(point) == 1 and point.summary.cell.placement.ranks > 2


def cut_of(point: Point) -> str:
    """A bisection's cut."""
    return str(point.parameter("cut"))


def active_pairs(point: Point) -> int:
    """Pairs of a bisection that exchange at the same time."""
    value = point.parameter("pairs")
    return int(value or 0) or point.summary.cell.placement.ranks // 2


def _stand_out(times: Floats, crosses: Sequence[bool]) -> tuple[Floats, set[int]]:
    """Each hop's ratio to the median of its kind (within a node, between), and the odd ones."""
    left = np.log(times)
    kinds = np.array(crosses)
    for kind in (False, True):
        if (kinds == kind).any():
            left[kinds == kind] -= np.median(left[kinds == kind])
    return np.exp(left), set(upper_outliers(left, FALSE_ALARMS, math.log(SLOW)))


def _chain(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The hops one after the other as far as each goes on from the last."""
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


def _named(series: Series) -> tuple[int, int] | None:
    if series.rank is None or series.peer is None or not series.values:
        return None
    return series.rank, series.peer


def _named_times(
    measurement: Measurement, metric: str, between: object
) -> dict[tuple[str, str], float]:
    """Seconds by the names of both ends; what took no time that the clock could see is left out."""
    made = {}
    for series in measurement.record.series:
        ends = _named(series) if series.metric == metric else None
        if ends is not None and (time := float(np.median(series.values))) > 0:
            made[(_name(measurement, ends[0], between), _name(measurement, ends[1], between))] = (
                time
            )
    return made


def _name(measurement: Measurement, rank: int, between: object) -> str:
    """The host, and the rank where several of a host are told apart."""
    host = next((r.host for r in measurement.ranks if r.rank == rank), None)
    if host is None:
        return f"rank {rank}"
    hosts = {r.host for r in measurement.ranks}
    if between == "nodes" or 1 < len(hosts) == len(measurement.ranks):
        return host
    return f"rank {rank}" if len(hosts) == 1 else f"{host} rank {rank}"


def _hosts(measurements: Sequence[Measurement], metric: str, between: object) -> dict[str, str]:
    """The host of each name."""
    made = {}
    for measurement in measurements:
        known = {record.rank: record.host for record in measurement.ranks}
        for series in measurement.record.series:
            ends = _named(series) if series.metric == metric else None
            for rank in ends or ():
                made[_name(measurement, rank, between)] = known.get(rank, "")
    return made


def _in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Each once, numbers in names as numbers."""
    import re

    def key(name: str) -> list[tuple[int, str]]:
        parts = re.split(r"(\d+)", name)
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]

    return tuple(sorted(set(names), key=key))


def _medians(launches: Sequence[Floats]) -> Floats:
    """Over the launches that measured the pair."""
    stack = np.stack(launches)
    known = ~np.isnan(stack)
    made = np.full(stack.shape[1:], np.nan)
    for i, j in zip(*np.nonzero(known.any(axis=0)), strict=True):
        made[i, j] = np.median(stack[known[:, i, j], i, j])
    return made
