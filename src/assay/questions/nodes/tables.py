"""The tables of a group of nodes: nodes to check, cells over nodes, nodes over cells, members."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.selection import quantity_text
from assay.questions.common.tables import Column, Entry, Table
from assay.questions.nodes.answer import seen_text
from assay.questions.nodes.findings import NodesFindings
from assay.questions.nodes.model import CellByNode, NodeGain, NodeValue, SuspectNode
from assay.units import format_share

# Nodes up to which their table is open.
_MAX_OPEN = 10


def tables(found: NodesFindings) -> list[Table]:
    """Suspects where there are any, then what was measured; none where nothing can be compared."""
    if not found.cells:
        return []
    return [
        *([_suspect_table(found.suspects)] if found.suspects else []),
        _cell_table(found.cells),
        _node_table(found.nodes),
        _values_table(found.cells),
    ]


def _suspect_table(suspects: Sequence[SuspectNode]) -> Table:
    return Table(
        id="nodes-suspects",
        title="Nodes to check, the most certain first",
        columns=[
            Column("node", "Node"),
            Column("what", "What"),
            Column("gain", "How much [95% interval]", numeric=True),
            Column("seen", "Seen in"),
            Column("p", "Adjusted p", numeric=True),
            Column("note", "Suspicion"),
        ],
        rows=[
            [
                Entry(each.node, tone="bad"),
                Entry(each.what),
                Entry(
                    f"{each.gain:+.1%} [{each.ci95[0]:+.1%}, {each.ci95[1]:+.1%}]",
                    each.gain,
                ),
                Entry(seen_text(each)),
                Entry(f"{each.p_adjusted:.2g}", each.p_adjusted),
                Entry(f"{each.suspicion}. {each.evidence[:1].upper()}{each.evidence[1:]}."),
            ]
            for each in suspects
        ],
        caption="How much better than the typical node; negative is worse. p: the share of false "
        "ones among all that would be reported with it.",
    )


def _cell_table(cells: Sequence[CellByNode]) -> Table:
    return Table(
        id="nodes-cells",
        title="Each cell over the nodes",
        columns=[
            Column("what", "Measured"),
            Column("nodes", "Nodes", numeric=True),
            Column("median", "Median node [95% interval]", numeric=True),
            Column("cov", "CoV", numeric=True),
            Column("robust", "Robust CoV", numeric=True),
            Column("slowest", "Slowest"),
            Column("fastest", "Fastest"),
        ],
        rows=[
            [
                Entry(cell.label),
                Entry(str(len(cell.values)), len(cell.values)),
                Entry(quantity_text(cell.median, cell.unit, cell.ci95), cell.median),
                Entry("" if cell.cov is None else f"{cell.cov:.2%}", cell.cov),
                Entry(f"{cell.robust:.2%}", cell.robust),
                _extreme(cell.values[-1]),
                _extreme(cell.values[0]),
            ]
            for cell in cells
        ],
    )


def _extreme(value: NodeValue) -> Entry:
    return Entry(f"{value.node} ({_deviation(value)})", value.gain)


def _deviation(value: NodeValue) -> str:
    sigmas = "" if value.sigmas is None else f", {value.sigmas:+.1f} σ"
    return f"{100 * value.gain:+.2f}%{sigmas}"


def _node_table(nodes: Sequence[NodeGain]) -> Table:
    return Table(
        id="nodes-gains",
        title="Each node over the cells, furthest behind first",
        columns=[
            Column("node", "Node"),
            Column("cells", "Cells", numeric=True),
            Column("gain", "Median deviation", numeric=True),
            Column("worst", "Furthest behind in"),
            Column("worst_gain", "There", numeric=True),
        ],
        rows=[
            [
                Entry(node.node),
                Entry(str(node.cells), node.cells),
                Entry(f"{100 * node.gain:+.2f}%", node.gain),
                Entry(node.worst),
                Entry(f"{100 * node.worst_gain:+.2f}%", node.worst_gain),
            ]
            for node in nodes
        ],
        folded=len(nodes) > _MAX_OPEN,
    )


def _values_table(cells: Sequence[CellByNode]) -> Table:
    return Table(
        id="nodes-values",
        title="Each cell on each node",
        columns=[
            Column("what", "Measured"),
            Column("node", "Node"),
            Column("value", "Median", numeric=True),
            Column("gain", "Deviation", numeric=True),
            Column("sigmas", "in robust standard deviations", numeric=True),
        ],
        rows=[
            [
                Entry(cell.label),
                Entry(value.node),
                Entry(quantity_text(value.value, cell.unit), value.value),
                Entry(f"{100 * value.gain:+.2f}%", value.gain),
                Entry("" if value.sigmas is None else f"{value.sigmas:+.2f}", value.sigmas),
            ]
            for cell in cells
            for value in cell.values
        ],
        folded=True,
    )


def member_table(found: NodesFindings) -> Table:
    """A row per node of the group, with or without numbers."""
    return Table(
        id="cells",
        title="All nodes",
        columns=[
            Column("member", "Number", numeric=True),
            Column("node", "Node"),
            Column("state", "State"),
            Column("cells", "Cells with numbers", numeric=True),
            Column("problem", "Problem"),
        ],
        rows=[
            [
                Entry(str(member.number), member.number),
                Entry(member.node),
                Entry(member.state, tone="" if member.state == "complete" else "bad"),
                Entry("" if member.share is None else format_share(member.share), member.share),
                Entry(member.problem),
            ]
            for member in found.members
        ],
    )
