"""What comparing the nodes of a group finds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.kernels.naming import cell_name
from assay.questions.common.confidence import why_broken
from assay.questions.common.findings import INTERNAL
from assay.questions.nodes.by_node import by_node, gains, measured_nodes
from assay.questions.nodes.fleet import examine
from assay.questions.nodes.model import (
    CellByNode,
    FasterNode,
    GroupMember,
    MeasuredNode,
    NodeDeviations,
    NodeFailure,
    NodeGain,
    NodeKind,
    SuspectNode,
)
from assay.records.group import GroupData, Member
from assay.stats.core.model import CellSummary
from assay.stats.core.one_thread import one_thread
from assay.stats.fleet.earlier_runs import EarlierRun, earlier_runs_before
from assay.stats.fleet.peers import MOST_BAD


@dataclass(frozen=True)
class NodesFindings:
    """What comparing nodes found.

    ``expected``: how many nodes were to be measured; ``measured``: how many have numbers.
    ``members``: each of them. ``cells``: each cell over the nodes. ``nodes``: each node over the
    cells, the one furthest behind first. ``examined``: whether there were enough nodes to look for
    outliers; what follows is empty if not. ``suspects``: nodes that are slower than their kind or
    get slower, the most certain first. ``faster``: nodes faster than their kind. ``failures``:
    nodes on which cells failed that did not fail on most others. ``kinds``: which nodes were
    compared with each other. ``kinds_by_value``: cells, in words, in which values rather than
    properties of machines separated the kinds. ``launches``: the most launches of a cell on a node.
    ``earlier_runs``: how many earlier runs of the same nodes were compared.
    ``undecided``: nodes that seem slow, as some do in clean fleets of launches like these;
    ``more_launches``: how many more of each node would tell.
    """

    expected: int
    measured: int
    members: list[GroupMember]
    cells: list[CellByNode]
    nodes: list[NodeGain]
    examined: bool
    suspects: list[SuspectNode]
    faster: list[FasterNode]
    failures: list[NodeFailure]
    kinds: list[NodeKind]
    kinds_by_value: list[str]
    launches: int
    earlier_runs: int
    undecided: int = 0
    more_launches: int = 0
    deviations: NodeDeviations | None = field(default=None, metadata=INTERNAL)
    measurements: Sequence[MeasuredNode] = field(default=(), metadata=INTERNAL)


@one_thread
def find(group: GroupData) -> NodesFindings:
    """Compare a group's nodes with each other and with earlier runs of them in the same folder."""
    nodes = measured_nodes(group)
    cells = by_node(nodes)
    before = earlier_runs_before(group, {cell.id for cell in cells}) if cells else []
    return compare_nodes(nodes, cells, group.members, utc=group.request.utc, before=before)


def compare_nodes(
    nodes: Sequence[MeasuredNode],
    cells: list[CellByNode],
    members: Sequence[Member] = (),
    *,
    utc: float = 0.0,
    before: Sequence[EarlierRun] = (),
) -> NodesFindings:
    """Compare nodes; ``cells`` as ``by_node`` gives them, ``members``: all that were expected.

    ``utc``: when they were measured; ``before``: earlier occasions.
    """
    examined = examine(nodes, cells, utc, before) if cells else None
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
        deviations=examined.deviations() if examined else None,
        measurements=nodes,
    )


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
    """Nodes with cells that failed, or were wrong, on few nodes only."""
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
