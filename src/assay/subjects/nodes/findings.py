"""Findings of comparing the nodes of a group."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.arrays import Ints
from assay.kernels.naming import cell_name
from assay.questions.common.confidence import why_broken
from assay.questions.common.findings import INTERNAL
from assay.records.group import GroupData, Member, read_group
from assay.stats.core.model import CellSummary
from assay.stats.core.one_thread import one_thread
from assay.stats.fleet.earlier_runs import EarlierRun, earlier_runs_before
from assay.stats.fleet.peers import MOST_BAD
from assay.subjects.nodes.by_node import by_node, gains, measured_devices, measured_nodes
from assay.subjects.nodes.fleet import examine
from assay.subjects.nodes.model import (
    CellByNode,
    ExplainedNode,
    FasterNode,
    GroupMember,
    MeasuredNode,
    NodeDeviations,
    NodeFailure,
    NodeGain,
    NodeGroup,
    NodeKind,
    SuspectNode,
)
from assay.units import format_change


@dataclass(frozen=True)
class NodesFindings:
    """Findings of comparing nodes."""

    #: Number of nodes that were to be measured.
    expected: int
    #: Number of nodes with results.
    measured: int
    #: Every node that was to be measured.
    members: list[GroupMember]
    #: Each cell, over all nodes.
    cells: list[CellByNode]
    #: Each node, over all cells; the slowest first.
    nodes: list[NodeGain]
    #: Whether there were enough nodes to look for outliers. If not, the fields below are empty.
    examined: bool
    #: Nodes that are slower than their kind or get slower: first the outliers, the most certain
    #: first, then the drifts.
    suspects: list[SuspectNode]
    #: Nodes faster than their kind.
    faster: list[FasterNode]
    #: Nodes on which cells failed that did not fail on most others.
    failures: list[NodeFailure]
    #: Groups of nodes that were compared with each other.
    kinds: list[NodeKind]
    #: Cells or resources, as text, whose values separated the kinds (not properties of the
    #: machines).
    kinds_by_value: list[str]
    #: Maximum number of launches of a cell on a node.
    launches: int
    #: Number of earlier runs of the same nodes that were compared.
    earlier_runs: int
    #: Number of nodes that seem slow, but not slower than some nodes by chance in fleets without
    #: slow nodes.
    undecided: int = 0
    #: Number of further launches per node that would decide whether these nodes are slow.
    more_launches: int = 0
    #: Median over the nodes of the launches of each node's cell with the fewest launches.
    fewest_launches: int = 0
    #: Groups of nodes, such as racks, the slow ones first; empty without groups or with fewer than
    #: three launches per node.
    groups: list[NodeGroup] = field(default_factory=list)
    #: Nodes that are slower than their kind, but not beyond the tail of its nodes; the farthest
    #: first.
    explained: list[ExplainedNode] = field(default_factory=list)
    #: The relative slowdown in all cells from which on 95% of slow nodes would be named; null if
    #: there is none, and if a node is named.
    seen: float | None = None
    #: Number of devices (accelerators) that were compared by themselves, over all nodes.
    devices: int = 0
    #: Each cell that names a device, over all devices.
    device_cells: list[CellByNode] = field(default_factory=list)
    #: Devices that are slower than the others, as ``suspects``; ``node`` is the node with the
    #: device's number.
    device_suspects: list[SuspectNode] = field(default_factory=list)
    deviations: NodeDeviations | None = field(default=None, metadata=INTERNAL)
    measurements: Sequence[MeasuredNode] = field(default=(), metadata=INTERNAL)

    @property
    def slow_groups(self) -> list[NodeGroup]:
        """Groups that are slower as a whole."""
        return [group for group in self.groups if group.slow]


@one_thread
def find(
    group: GroupData, node_groups: Mapping[str, Mapping[str, str]] | None = None
) -> NodesFindings:
    """Compare a group's nodes with each other, and with their earlier runs in the same folder.

    ``node_groups``: as in ``[system.groups]``. If there are none, the groups of the request are
    used, or else groups derived from host names.
    """
    nodes = measured_nodes(group)
    cells = by_node(nodes)
    before = earlier_runs_before(group, {cell.id for cell in cells}) if cells else []
    return compare_nodes(
        nodes,
        cells,
        group.members,
        utc=group.request.utc,
        before=before,
        node_groups=node_groups or group.request.node_groups,
    )


def slow_nodes(groups: Iterable[Path]) -> dict[str, str]:
    """The hosts that are slower than their kind, each with the reason as a clause.

    ``groups``: runs by ``assay run --per-node``. Raises AssayError for others.
    """
    found: dict[str, str] = {}
    for path in groups:
        for each in find(read_group(path)).suspects:
            found.setdefault(each.node, f"{format_change(each.gain)} in {each.cell} ({path.name})")
    return found


def compare_nodes(
    nodes: Sequence[MeasuredNode],
    cells: list[CellByNode],
    members: Sequence[Member] = (),
    *,
    utc: float = 0.0,
    before: Sequence[EarlierRun] = (),
    node_groups: Mapping[str, Mapping[str, str]] | None = None,
) -> NodesFindings:
    """Compare nodes. ``cells``: from ``by_node``; ``members``: all expected nodes.

    ``utc``: time of the measurement; ``before``: earlier runs; ``node_groups``: as in ``find``.
    """
    examined = examine(nodes, cells, utc, before, node_groups) if cells else None
    devices = measured_devices(nodes)
    device_cells = by_node(devices)
    of_devices = examine(devices, device_cells, utc) if device_cells else None
    return NodesFindings(
        expected=len(members) or len(nodes),
        measured=len(nodes),
        members=_members(members, nodes),
        cells=cells,
        nodes=gains(cells),
        examined=examined is not None,
        suspects=examined.suspects if examined else [],
        faster=examined.faster if examined else [],
        failures=_failures(nodes) if examined else [],
        kinds=examined.kinds if examined else [],
        kinds_by_value=examined.split if examined else [],
        launches=int(examined.fleet.counts.max(initial=0)) if examined else 0,
        earlier_runs=examined.occasions if examined else 0,
        undecided=examined.undecided if examined else 0,
        more_launches=examined.more_launches if examined else 0,
        fewest_launches=_fewest(examined.fleet.counts) if examined else 0,
        groups=examined.groups if examined else [],
        explained=examined.explained if examined else [],
        seen=examined.seen if examined else None,
        devices=len(devices),
        device_cells=device_cells,
        device_suspects=of_devices.suspects if of_devices else [],
        deviations=examined.deviations() if examined else None,
        measurements=nodes,
    )


def _fewest(counts: Ints) -> int:
    """Median over the nodes of the fewest launches of a node's cells. ``counts``: [node, cell]."""
    fewest = [int(row[row > 0].min()) for row in counts if (row > 0).any()]
    return statistics.median_low(fewest) if fewest else 0


def _members(members: Sequence[Member], nodes: Sequence[MeasuredNode]) -> list[GroupMember]:
    names = {node.member: node.name for node in nodes}
    cells = {node.member: node.cells for node in nodes}
    return [
        GroupMember(
            number=member.number,
            node=names.get(member.number, ""),
            host=member.host,
            state=member.state,
            share=_share(cells.get(member.number, ())),
            problem=member.problem,
        )
        for member in members
    ]


def _share(cells: Sequence[CellSummary]) -> float | None:
    return sum(1 for cell in cells if cell.metrics) / len(cells) if cells else None


def _failures(nodes: Sequence[MeasuredNode]) -> list[NodeFailure]:
    """Nodes with cells that failed, or failed verification, on few nodes only."""
    failed: dict[str, list[tuple[MeasuredNode, CellSummary]]] = defaultdict(list)
    for node in nodes:
        for cell in node.cells:
            if cell.status == "failed" or cell.verified is False:
                failed[cell.id].append((node, cell))
    of_node: dict[str, list[CellSummary]] = defaultdict(list)
    for found in failed.values():
        if len(found) <= MOST_BAD * len(nodes):
            for node, cell in found:
                of_node[node.name].append(cell)
    return [
        NodeFailure(name, len(cells), cell_name(cells[0].cell), why_broken(cells[0]).rstrip("."))
        for name, cells in of_node.items()
    ]
