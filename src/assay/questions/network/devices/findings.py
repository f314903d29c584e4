"""Findings on copies between devices and on their collectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from assay.models.network.pair_times import pair_times
from assay.models.network.sampled import topology_of
from assay.questions.common.findings import INTERNAL
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import Point, points
from assay.questions.speed.devices.limits import DeviceFacts, devices_of, host_limit, links_of
from assay.records.model import Measurement, RunData
from assay.records.schema import MeasurementRecord

PEER, COLLECTIVE = "gpu.peer", "gpu.collective"
KERNELS = (PEER, COLLECTIVE)
# Groups of devices count as far apart if copies between them take this much longer than within.
_APART = 1.25


@dataclass(frozen=True)
class DevicePair:
    """Copies from one device to another, medians over launches."""

    #: ``sender``, ``receiver``: numbers of the devices. If both directions were measured at once,
    #: their order has no meaning.
    sender: int
    receiver: int
    #: Bandwidth, B/s; of both directions together if both were measured at once.
    bandwidth: float
    #: Time of a copy of 8 B, s; None if it was not measured.
    latency: float | None
    #: Whether one device writes into the memory of the other; None if unknown.
    direct: bool | None


@dataclass(frozen=True)
class DeviceGroups:
    """Groups of devices that copy faster within than between them, found in the times."""

    #: Numbers of the devices of each group.
    groups: Sequence[Sequence[int]]
    #: ``within``, ``between``: median time of a copy within a group and between groups, s.
    within: float
    between: float


@dataclass(frozen=True)
class PeerMatrix:
    """Copies between all devices of a node."""

    #: Bandwidth of the slowest pair.
    point: Point
    #: Time of a copy of 8 B of the slowest pair; None if not measured.
    latency: Point | None
    #: one or both directions.
    direction: str
    #: Path that was asked for: auto, direct or host.
    path: str
    #: Bytes of a copy.
    bytes: int
    #: All pairs.
    pairs: Sequence[DevicePair]
    #: Groups found in the times, which needs six devices and two launches.
    groups: Sequence[DeviceGroups]
    #: Bandwidth of all links of a device to others, B/s in the measured directions; None if it is
    #: unknown or if copies go through the host.
    links: float | None
    #: Name of these links.
    links_name: str

    @property
    def devices(self) -> list[int]:
        """Numbers of the devices."""
        return sorted({end for pair in self.pairs for end in (pair.sender, pair.receiver)})

    @property
    def slowest(self) -> DevicePair:
        """The pair with the lowest bandwidth."""
        return min(self.pairs, key=lambda pair: pair.bandwidth)

    @property
    def fastest(self) -> DevicePair:
        """The pair with the highest bandwidth."""
        return max(self.pairs, key=lambda pair: pair.bandwidth)


@dataclass(frozen=True)
class DeviceCollective:
    """A collective over the devices of all ranks."""

    #: Bus bandwidth at the largest size.
    bandwidth: Point
    #: Time at the smallest size; None if a single size was measured.
    smallest: Point | None
    #: Name and version of the library.
    library: str
    #: Bandwidth of all links of a device, one direction, B/s; None if unknown or over nodes.
    links: float | None
    #: Name of these links.
    links_name: str


@dataclass(frozen=True)
class DeviceNetworkFindings:
    """Copies and collectives of devices."""

    #: Matrices of pairs, in the order of the plan.
    matrices: Sequence[PeerMatrix]
    #: Bandwidth of the slowest pair by direct copies over copies through the host; None unless both
    #: were measured.
    direct_over_host: Ratio | None
    #: Collectives by operation, on the most devices.
    collectives: Mapping[str, DeviceCollective]
    #: All points of collectives, for the figure.
    measured: Sequence[Point] = field(metadata=INTERNAL)


def find(measured: Measured) -> DeviceNetworkFindings | None:
    """The findings; None if no usable cell measured a copy or a collective between devices."""
    cells, run = measured.cells, measured.run
    devices = devices_of(run)
    peers = points(cells, PEER, "bandwidth")
    matrices = [each for point in peers if (each := _matrix(point, run, devices)) is not None]
    collectives = points(cells, COLLECTIVE, "bandwidth")
    if not matrices and not collectives:
        return None
    return DeviceNetworkFindings(
        matrices=matrices,
        direct_over_host=_direct_over_host(matrices),
        collectives=_collectives(collectives, run, devices),
        measured=collectives,
    )


def size_of(point: Point) -> int:
    """The bytes of a copy, or of the whole vector of a collective."""
    return int(point.parameter("bytes") or 0)


def _records(point: Point, run: RunData) -> list[Measurement]:
    return [
        m for m in run.measurements if m.cell.id == point.summary.id and m.record.status == "ok"
    ]


def _matrix(point: Point, run: RunData, devices: Mapping[str, DeviceFacts]) -> PeerMatrix | None:
    records = [m.record for m in _records(point, run)]
    by_pair = _seconds(records, "pair")
    if not by_pair:
        return None
    latencies = _seconds(records, "pair_latency")
    direction, size = str(point.parameter("direction")), size_of(point)
    moved = size * (2 if direction == "both" else 1)
    facts = records[0].facts
    direct, host = (str(facts.get(f"{way}_pairs", "")).split() for way in ("direct", "host"))
    pairs = [
        DevicePair(
            sender=one,
            receiver=other,
            bandwidth=moved / median(times),
            latency=median(latencies[one, other]) if (one, other) in latencies else None,
            direct=_is_direct(f"{one}-{other}", direct, host),
        )
        for (one, other), times in sorted(by_pair.items())
    ]
    latency = point.summary.metrics.get("latency")
    device = devices.get(point.summary.id)
    links, name = _links(device, all(pair.direct for pair in pairs))
    ways = 2 if direction == "both" else 1
    if device is not None and links is None and not any(pair.direct for pair in pairs):
        through = host_limit(device, 1, ways, links_of(run.manifest.system))
        if through is not None:
            links, name, ways = through.rate, through.source, 1
    return PeerMatrix(
        point=point,
        latency=Point(point.summary, latency) if latency else None,
        direction=direction,
        path=str(point.parameter("path")),
        bytes=size,
        pairs=pairs,
        groups=_groups(records),
        links=None if links is None else links * ways,
        links_name=name,
    )


def _is_direct(pair: str, direct: Sequence[str], host: Sequence[str]) -> bool | None:
    return True if pair in direct else False if pair in host else None


def _seconds(records: Sequence[MeasurementRecord], name: str) -> dict[tuple[int, int], list[float]]:
    """Each launch's time by sender and receiver, s."""
    found: dict[tuple[int, int], list[float]] = {}
    for record in records:
        for one, other, seconds in _of_launch(record, name):
            found.setdefault((one, other), []).append(seconds)
    return found


def _of_launch(record: MeasurementRecord, name: str) -> list[tuple[int, int, float]]:
    return [
        (series.rank, series.peer, seconds)
        for series in record.series
        if series.metric == name and series.rank is not None and series.peer is not None
        if series.values and (seconds := median(series.values)) > 0
    ]


def _links(device: DeviceFacts | None, direct: bool) -> tuple[float | None, str]:
    """The bandwidth of all links of a device to others, one direction, and their name."""
    entry = device.entry if device else None
    if entry is None or entry.link is None or not direct:
        return None, ""
    return entry.link / 2, f"all {entry.link_name} links of {entry.name}"


def _groups(records: Sequence[MeasurementRecord]) -> list[DeviceGroups]:
    """Groups in the times of the slower order of each pair."""
    launches: list[list[tuple[int, int, float]]] = []
    for record in records:
        slower: dict[tuple[int, int], float] = {}
        for one, other, seconds in _of_launch(record, "pair"):
            pair = (min(one, other), max(one, other))
            slower[pair] = max(seconds, slower.get(pair, 0.0))
        launches.append([(one, other, seconds) for (one, other), seconds in slower.items()])
    members = sorted({end for launch in launches for pair in launch for end in pair[:2]})
    if len(members) < 3:
        return []
    place = {member: number for number, member in enumerate(members)}
    placed = [[(place[one], place[other], s) for one, other, s in launch] for launch in launches]
    topology = topology_of(pair_times(len(members), placed))
    return [
        DeviceGroups(
            groups=[[members[member] for member in group] for group in level.groups],
            within=level.within,
            between=level.between,
        )
        for level in topology.levels
        if level.between >= _APART * level.within
    ]


def _direct_over_host(matrices: Sequence[PeerMatrix]) -> Ratio | None:
    def alike(path: str, one: PeerMatrix) -> PeerMatrix | None:
        same = (m for m in matrices if (m.direction, m.bytes) == (one.direction, one.bytes))
        return next((m for m in same if m.path == path), None)

    for host in matrices:
        direct = alike("direct", host) or alike("auto", host)
        if host.path == "host" and direct is not None and direct.slowest.direct:
            return ratio_of(direct.point, host.point)
    return None


def _collectives(
    found: Sequence[Point], run: RunData, devices: Mapping[str, DeviceFacts]
) -> dict[str, DeviceCollective]:
    by_op: dict[str, list[Point]] = {}
    for point in found:
        by_op.setdefault(str(point.parameter("op")), []).append(point)
    result = {}
    for op, alike in by_op.items():
        most = max(point.summary.cell.placement.ranks for point in alike)
        sizes = sorted((p for p in alike if p.summary.cell.placement.ranks == most), key=size_of)
        largest, smallest = sizes[-1], sizes[0].summary
        library = next(
            (str(m.record.facts["library"]) for m in _records(largest, run)
             if "library" in m.record.facts),
            "",
        )  # fmt: skip
        one_node = largest.summary.cell.placement.nodes == 1
        links, name = _links(devices.get(largest.summary.id), one_node)
        several = len(sizes) > 1 and "time" in smallest.metrics
        result[op] = DeviceCollective(
            bandwidth=largest,
            smallest=Point(smallest, smallest.metrics["time"]) if several else None,
            library=library,
            links=links,
            links_name=name,
        )
    return result
