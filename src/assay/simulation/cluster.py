"""The description of a cluster to be simulated, read from TOML (docs/formats/cluster.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from assay.design.figures import FigureReader, Origin, PartFigure, WrittenFigure, read_share
from assay.models.calls.linpack_work import LinpackExecution
from assay.simulation.calibration import calibration
from assay.toml import TomlDocument, load_toml
from assay.topologies.kinds import Topology, hosts_of
from assay.topologies.reading import read_topology
from assay.units import parse_quantity

SCHEMA = 1
_Quantity = str | int | float | WrittenFigure


class WrittenNetwork(msgspec.Struct, frozen=True):
    """``[network]`` of a file."""

    latency: _Quantity
    bandwidth: _Quantity
    hop: _Quantity | None = None
    trunk: _Quantity | None = None
    adapters: int = 1
    eager: str | int = "64 KiB"


class WrittenMemory(msgspec.Struct, frozen=True):
    """``[memory]`` of a file: messages within a node."""

    latency: _Quantity = "0.5 us"
    bandwidth: _Quantity = "5 GB/s"


class WrittenComputeNode(msgspec.Struct, frozen=True):
    """``[node]`` of a file."""

    cores: int
    speed: float = 1.0
    between_nodes: str | float = 0.0
    over_time: str | float = 0.0
    interval: str | float = "1 s"


class WrittenLinpack(msgspec.Struct, frozen=True):
    """``[linpack]`` of a file: how HPL is executed."""

    block: int | None = None
    panel: str | float | None = None
    dgemm_half: float | None = None
    network: str | float | None = None
    copies: float | None = None
    look_ahead: bool | None = None


class WrittenSize(msgspec.Struct, frozen=True):
    """A ``[[size]]`` table of a file: the cost of messages of more than ``above`` bytes."""

    above: str | int
    latency: _Quantity
    bandwidth: _Quantity


@dataclass(frozen=True)
class SizeCost:
    """Messages of more than ``above`` bytes: ``latency`` (s) plus bytes ÷ ``bandwidth`` (B/s)."""

    above: int
    latency: float
    bandwidth: float


@dataclass(frozen=True)
class NodeVariability:
    """How the speed of nodes varies: standard deviations of its logarithm."""

    #: Variation between nodes, constant during a run.
    between_nodes: float = 0.0
    #: Variation of each node over time, drawn again every ``interval`` (s).
    over_time: float = 0.0
    interval: float = 1.0

    @property
    def any(self) -> bool:
        """Whether speeds differ between nodes or over time."""
        return self.between_nodes > 0.0 or self.over_time > 0.0


@dataclass(frozen=True)
class SimulatedCluster:
    """A cluster: ``topology``, one host per node."""

    title: str
    topology: Topology
    #: Latency of a short message between neighbours (L + 2o), s.
    latency: PartFigure
    #: Bandwidth of an adapter in each direction, B/s.
    bandwidth: PartFigure
    #: Additional latency per link beyond the path between neighbours, s.
    hop: float
    #: Bandwidth of a link between switches, B/s.
    trunk: float
    #: Number of adapters of a node, used at the same time.
    adapters: int
    #: Different costs of larger messages, in ascending order.
    sizes: tuple[SizeCost, ...]
    #: Maximum size of a message whose sender does not wait for the receiver, bytes.
    eager: int
    #: ``within_latency``, ``within_bandwidth``: latency (s) and bandwidth (B/s) of messages within
    #: a node. ``cores``: number of cores of a node.
    within_latency: float
    within_bandwidth: float
    cores: int
    #: Speed relative to the machine where the program's computing was measured.
    speed: float
    variability: NodeVariability
    #: How HPL is executed.
    linpack: LinpackExecution

    @property
    def hosts(self) -> int:
        """Number of nodes."""
        return hosts_of(self.topology)

    def message(self, size: int, crowd: float = 1.0) -> float:
        """Seconds of a message between neighbours if its bytes take ``crowd`` times as long."""
        latency, bandwidth = self.latency.value, self.bandwidth.value
        for one in self.sizes:
            if size > one.above:
                latency, bandwidth = one.latency, one.bandwidth
        return latency + size * crowd / bandwidth


def read_cluster(path: Path) -> SimulatedCluster:
    """A cluster from its file. Raises AssayError with file, line and fix."""
    return cluster_of(load_toml(path))


def cluster_of(document: TomlDocument) -> SimulatedCluster:
    """As ``read_cluster``, from a document."""
    data = document.data
    document.check_keys(
        [], data, {"schema", "title", "topology", "network", "memory", "node", "size", "linpack"}
    )
    if data.get("schema", SCHEMA) != SCHEMA:
        raise document.error(
            ["schema"],
            f"The file has schema {data['schema']}; this assay reads schema {SCHEMA}.",
            f"Write schema = {SCHEMA}.",
        )
    for table, fix in (
        ("topology", 'Add [topology] with kind = "single" and hosts = 4.'),
        ("network", 'Add [network] with latency = "30 us" and bandwidth = "1 Gbit/s".'),
        ("node", "Add [node] with cores = 2."),
    ):
        if not isinstance(data.get(table), dict):
            raise document.error([table], f"There is no [{table}].", fix)
    network = document.read(["network"], data["network"], WrittenNetwork)
    memory = document.read(["memory"], data.get("memory", {}), WrittenMemory)
    node = document.read(["node"], data["node"], WrittenComputeNode)
    reader = FigureReader(document)

    def figure(path: list[str | int], written: _Quantity, unit: str) -> PartFigure:
        return reader.figure(path, written, unit, Origin())

    bandwidth = figure(["network", "bandwidth"], network.bandwidth, "B/s")
    trunk, hop = network.trunk, network.hop
    for name, value, least in (
        ("network.adapters", network.adapters, 1), ("node.cores", node.cores, 1),
        ("node.speed", node.speed, 1e-6),
    ):  # fmt: skip
        if not least <= value < 1e9:
            raise document.error(
                name.split("."), f"'{name}' can't be {value}.", "Write a number > 0."
            )
    return SimulatedCluster(
        title=document.read(["title"], data.get("title", document.path.stem), str),
        topology=read_topology(document, data["topology"]),
        latency=figure(["network", "latency"], network.latency, "s"),
        bandwidth=bandwidth,
        hop=0.0 if hop is None else figure(["network", "hop"], hop, "s").value,
        trunk=bandwidth.value
        if trunk is None
        else figure(["network", "trunk"], trunk, "B/s").value,
        adapters=network.adapters,
        sizes=_sizes(document, reader),
        eager=_bytes(document, ["network", "eager"], network.eager),
        within_latency=figure(["memory", "latency"], memory.latency, "s").value,
        within_bandwidth=figure(["memory", "bandwidth"], memory.bandwidth, "B/s").value,
        cores=node.cores,
        speed=node.speed,
        variability=NodeVariability(
            read_share(document, ["node", "between_nodes"], node.between_nodes),
            read_share(document, ["node", "over_time"], node.over_time),
            reader.figure(["node", "interval"], node.interval, "s", Origin()).value,
        ),
        linpack=_linpack(document),
    )


def _linpack(document: TomlDocument) -> LinpackExecution:
    """Calibrated values, except those that the file states."""
    written = document.read(["linpack"], document.data.get("linpack", {}), WrittenLinpack)
    usual = calibration().linpack

    def number(
        key: str, value: str | float | None, default: float, least: float, most: float
    ) -> float:
        if value is None:
            return default
        where: list[str | int] = ["linpack", key]
        found = parse_quantity(value, "1", where=document.where(where))
        if not least <= found <= most:
            raise document.error(
                where, f"'linpack.{key}' can't be {value}.", f"Write {least:g} to {most:g}."
            )
        return float(found)

    return LinpackExecution(
        block=int(number("block", written.block, usual.block, 1, 10_000)),
        panel=number("panel", written.panel, usual.panel, 1e-6, 1.0),
        half=number("dgemm_half", written.dgemm_half, usual.half, 0.0, 1e6),
        network=number("network", written.network, usual.network, 1e-6, 1.0),
        copies=number("copies", written.copies, usual.copies, 0.0, 1e6),
        look_ahead=usual.look_ahead if written.look_ahead is None else written.look_ahead,
    )


def _sizes(document: TomlDocument, reader: FigureReader) -> tuple[SizeCost, ...]:
    found: list[SizeCost] = []
    written = document.read(["size"], document.data.get("size", []), list[WrittenSize])
    for index, size in enumerate(written):
        path: list[str | int] = ["size", index]
        above = _bytes(document, [*path, "above"], size.above)
        if found and above <= found[-1].above:
            raise document.error(
                [*path, "above"], f"'above' is not more than {found[-1].above}.", "Write [[size]] "
                "in ascending order."
            )  # fmt: skip
        latency, bandwidth = (
            reader.figure([*path, name], value, unit, Origin()).value
            for name, value, unit in (
                ("latency", size.latency, "s"), ("bandwidth", size.bandwidth, "B/s"),
            )
        )  # fmt: skip
        found.append(SizeCost(above, latency, bandwidth))
    return tuple(found)


def _bytes(document: TomlDocument, path: list[str | int], text: str | int) -> int:
    number = float(parse_quantity(text, "B", where=document.where(path)))
    if not 0 <= number < 2**63:
        raise document.error(path, f"'{path[-1]}' can't be {text}.", 'For example, "64 KiB".')
    return int(number)
