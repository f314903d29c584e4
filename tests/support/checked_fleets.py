"""Planted fleets for `assay check --report`: the files of nodes with known faults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from assay.arrays import Floats
from assay.check.baseline.costs import cost_of
from assay.check.baseline.model import Baseline
from assay.check.components import ALONE, BY_NAME
from assay.check.decision.model import NodeState, SeriesState
from assay.check.facts.fleet import learn_facts
from assay.check.model import CheckRecord, Fact, Outcome
from assay.check.state.file_names import file_name
from assay.check.state.header import FILE_SIZE, HEADER_SIZE, NodeHeader, pack_header
from assay.check.state.node_file import NODES
from assay.check.state.slots import pack_records
from check_baselines import baseline, component, normal_table

NOW = 1_790_000_000.0
HOUR, DAY = 3600.0, 86400.0
KIND = "amd-epyc-7763-128c-512g"
#: Levels of a healthy node, in SI units.
LEVELS: Mapping[str, float] = {
    "core": 55e9, "product": 3.1e12, "stream": 350e9, "latency": 95e-9, "random": 2.1e9,
    "storage": 2.4e9,
}  # fmt: skip


@dataclass
class PlantedNode:
    """A node, what happens to it, and how often it was checked before its recent checks."""

    host: str
    kind: str = KIND
    #: Relative change of each component from the first recent check to the last.
    trends: dict[str, float] = field(default_factory=dict)
    #: Relative deviation of each component.
    levels: dict[str, float] = field(default_factory=dict)
    #: Relative deviation of the node's own first checks, where it differs from ``levels``.
    own: dict[str, float] = field(default_factory=dict)
    #: Reasons of its last checks: ``unhealthy: …`` or ``undecided: …``; "" for a healthy one.
    last: Sequence[str] = ()
    #: Unix time of its last check, s.
    until: float = NOW - HOUR
    checks: int = 20
    earlier: int = 100


class PlantedFleet:
    """Writes files of nodes into a folder.

    ``scatter``: relative scatter of a check; ``between``: of nodes; ``daily``: amplitude of the
    rhythm of the day that all nodes share; ``level``, ``own_level``: deviation of all nodes now and
    when they were first checked.
    """

    def __init__(
        self,
        folder: Path,
        seed: int = 1,
        *,
        scatter: float = 0.005,
        between: float = 0.01,
        daily: float = 0.0,
        level: float = 0.0,
        own_level: float | None = None,
    ) -> None:
        self.folder = folder
        self.scatter, self.between, self.daily, self.level = scatter, between, daily, level
        self.own_level = level if own_level is None else own_level
        self.random = np.random.default_rng(seed)
        (folder / NODES).mkdir(parents=True)

    def write(self, nodes: Iterable[PlantedNode]) -> PlantedFleet:
        for node in nodes:
            self._write(node)
        return self

    def healthy(self, number: int, kind: str = KIND, prefix: str = "n") -> PlantedFleet:
        return self.write(PlantedNode(f"{prefix}{i:04d}", kind) for i in range(1, number + 1))

    def path(self, host: str) -> Path:
        return self.folder / NODES / file_name(host)

    def _write(self, node: PlantedNode) -> None:
        utc = node.until - np.sort(self.random.uniform(0.0, DAY, node.checks))[::-1]
        utc[-1:] = node.until
        nodes_own = {name: self.between * self.random.standard_normal() for name in ALONE}
        values = {name: self._values(node, name, utc, nodes_own[name]) for name in ALONE}
        reasons = [*[""] * (node.checks - len(node.last)), *node.last]
        records = [
            CheckRecord(
                utc=float(utc[i]),
                outcome=_outcome(reason),
                seconds=6.0,
                baseline="0123456789ab",
                values={name: float(values[name][i]) for name in ALONE},
                reason=reason,
            )
            for i, reason in enumerate(reasons)
        ]
        outcomes = [record.outcome for record in records]
        header = NodeHeader(
            host=node.host,
            kind=node.kind,
            since=node.until - 30 * DAY,
            healthy=node.earlier + outcomes.count("healthy"),
            unhealthy=outcomes.count("unhealthy"),
            undecided=outcomes.count("undecided"),
            state=self._state(node, nodes_own),
        )
        slots = pack_records(list(enumerate(records, 1)), FILE_SIZE - HEADER_SIZE)
        self.path(node.host).write_bytes(pack_header(header) + slots)

    def _state(self, node: PlantedNode, nodes_own: Mapping[str, float]) -> bytes:
        series = {}
        for name in ALONE:
            sign = 1.0 if BY_NAME[name].better == "more" else -1.0
            deviation = node.own.get(name, node.levels.get(name, 0.0))
            logs = nodes_own[name] + np.log1p(self.own_level) + np.log1p(deviation)
            logs += self.scatter * self.random.standard_normal() / np.sqrt(50.0)
            series[name] = SeriesState(50, float(-sign * np.log(LEVELS[name]) - logs))
        return msgspec.msgpack.encode(NodeState(anchored=1, series=series))

    def _values(self, node: PlantedNode, name: str, utc: Floats, own: float) -> Floats:
        share = (utc - utc[0]) / max(utc[-1] - utc[0], 1.0) if utc.size else utc
        logs = (
            own
            + self.scatter * self.random.standard_normal(utc.size)
            + self.daily * np.sin(2 * np.pi * utc / DAY)
            + np.log1p(self.level)
            + np.log1p(node.levels.get(name, 0.0))
            + np.log1p(node.trends.get(name, 0.0)) * share
        )
        sign = 1.0 if BY_NAME[name].better == "more" else -1.0
        values: Floats = LEVELS[name] * np.exp(sign * logs)
        return values


def _outcome(reason: str) -> Outcome:
    if reason.startswith("unhealthy"):
        return "unhealthy"
    return "undecided" if reason.startswith("undecided") else "healthy"


def learned_baseline(kind: str = KIND) -> Baseline:
    """The baseline of healthy planted nodes, which run two versions of a kernel."""
    costs = {name: cost_of(name, level) for name, level in LEVELS.items()}
    facts = learn_facts(
        {
            f"n{i:04d}": [[Fact(name="version.kernel", value="6.1.0" if i < 20 else "6.1.2")]]
            for i in range(30)
        }
    )
    return msgspec.structs.replace(
        baseline(),
        kind=kind,
        components={
            name: component(cost, check_scatter=0.005, movement=normal_table(0.001))
            for name, cost in costs.items()
            if cost is not None
        },
        facts=msgspec.Raw(msgspec.json.encode(facts)),
    )
