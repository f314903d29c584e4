"""Tables of a group of nodes: nodes to check, cells over nodes, nodes over cells, members."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.tables import (
    Entry,
    Table,
    TableBuilder,
    quantity,
    written,
)
from assay.subjects.nodes.findings import NodesFindings
from assay.subjects.nodes.model import CellByNode, NodeGain, NodeGroup, NodeValue, SuspectNode
from assay.subjects.nodes.words import seen_text
from assay.units import capitalised, counted, format_change, format_share, format_signed

# Maximum number of nodes whose table is shown unfolded.
_MAX_OPEN = 10
_EMPTY = Entry("")


def tables(found: NodesFindings) -> list[Table]:
    """Suspects, if any, then the measured values; no table if nothing can be compared."""
    if not found.cells:
        return []
    suspects = [*found.suspects, *found.device_suspects]
    return [
        *([_suspect_table(suspects)] if suspects else []),
        *([_group_table(found.slow_groups)] if found.slow_groups else []),
        _cell_table(found.cells),
        *([_cell_table(found.device_cells, devices=True)] if found.device_cells else []),
        _node_table(found.nodes),
        *([_group_table(found.groups, folded=True)] if found.groups else []),
        _values_table(found.cells),
    ]


def _suspect_table(suspects: Sequence[SuspectNode]) -> Table:
    def gain(each: SuspectNode) -> Entry:
        return Entry(format_change(each.gain, each.ci95), each.gain)

    def note(each: SuspectNode) -> str:
        return f"{each.suspicion}. {capitalised(each.evidence)}."

    return (
        TableBuilder(suspects)
        .text("node", "Node", lambda each: each.node, tone="bad")
        .text("what", "What", lambda each: each.what)
        .numbers("gain", "Deviation [95% interval]", gain)
        .text("seen", "Seen in", seen_text)
        .numbers("p", "Adjusted p", lambda each: written(each.p_adjusted, "{:.2g}"))
        .text("note", "Suspicion", note)
        .table(
            "nodes-suspects",
            "Nodes to check, the most certain first",
            caption="Deviation from the typical node: negative is worse. p is the expected share "
            "of false positives if this node and all more certain nodes are reported.",
        )
    )


def _group_table(groups: Sequence[NodeGroup], folded: bool = False) -> Table:
    """Slow groups, or all of them if folded."""

    def gain(each: NodeGroup) -> Entry:
        return Entry(format_change(each.gain, each.ci95), each.gain)

    def seen(each: NodeGroup) -> str:
        if not each.slow:
            return ""
        return f"{each.slow_launches} of {counted(each.launches, 'launch')}"

    return (
        TableBuilder(groups)
        .column("group", "Group", lambda each: Entry(each.title, tone="bad" if each.slow else ""))
        .text("nodes", "Nodes", lambda each: each.nodes)
        .counts("count", "Number", lambda each: len(each.members))
        .text("what", "What", lambda each: each.resource)
        .numbers("gain", "Deviation [95% interval]", gain)
        .text("seen", "Slower in", seen)
        .numbers("p", "Adjusted p", lambda each: written(each.p_adjusted, "{:.2g}"))
        .table(
            "nodes-groups" if folded else "nodes-slow-groups",
            "All groups of nodes" if folded else "Groups of nodes that are slower as a whole",
            folded=folded,
            caption="Deviation from the median group, in the resource in which the slow group is "
            "slow: negative is worse. p is the share of random divisions into such groups "
            "that have an equally slow group in any measured quantity. Deviations of nodes "
            "to check exclude the deviations of slow groups.",
        )
    )


def _cell_table(cells: Sequence[CellByNode], devices: bool = False) -> Table:
    """Each cell over nodes, or over the ``devices`` of all nodes."""
    one, name = ("device", "nodes-device-cells") if devices else ("node", "nodes-cells")
    return (
        TableBuilder(cells)
        .text("what", "Measured", lambda cell: cell.label)
        .counts("nodes", f"{one.capitalize()}s", lambda cell: len(cell.values))
        .numbers(
            "median",
            f"Median {one} [95% interval]",
            lambda cell: quantity(cell.median, cell.unit, cell.ci95),
        )
        .numbers("cov", "CoV", lambda cell: written(cell.cov, "{:.2%}", missing=_EMPTY))
        .numbers("robust", "Robust CoV", lambda cell: written(cell.robust, "{:.2%}"))
        .column("slowest", "Slowest", lambda cell: _extreme(cell.values[-1]))
        .column("fastest", "Fastest", lambda cell: _extreme(cell.values[0]))
        .table(name, f"Each cell, over all {one}s")
    )


def _extreme(value: NodeValue) -> Entry:
    sigmas = "" if value.sigmas is None else f", {format_signed(value.sigmas, '+.1f')} σ"
    return Entry(f"{value.node} ({_percent(value.gain).text}{sigmas})", value.gain)


def _percent(gain: float) -> Entry:
    return Entry(format_change(gain, spec="+.2f"), gain)


def _node_table(nodes: Sequence[NodeGain]) -> Table:
    return (
        TableBuilder(nodes)
        .text("node", "Node", lambda node: node.node)
        .counts("cells", "Cells", lambda node: node.cells)
        .numbers("gain", "Median deviation", lambda node: _percent(node.gain))
        .text("worst", "Worst cell", lambda node: node.worst)
        .numbers("worst_gain", "Deviation there", lambda node: _percent(node.worst_gain))
        .table(
            "nodes-gains",
            "Each node, over all cells; slowest first",
            folded=len(nodes) > _MAX_OPEN,
        )
    )


def _values_table(cells: Sequence[CellByNode]) -> Table:
    return (
        TableBuilder((cell, value) for cell in cells for value in cell.values)
        .text("what", "Measured", lambda each: each[0].label)
        .text("node", "Node", lambda each: each[1].node)
        .numbers("value", "Median", lambda each: quantity(each[1].value, each[0].unit))
        .numbers("gain", "Deviation", lambda each: _percent(each[1].gain))
        .numbers(
            "sigmas",
            "In robust standard deviations",
            lambda each: written(each[1].sigmas, "{:+.2f}", missing=_EMPTY),
        )
        .table("nodes-values", "Each cell on each node", folded=True)
    )


def member_table(found: NodesFindings) -> Table:
    """A row per node of the group, with or without results."""
    return (
        TableBuilder(found.members)
        .counts("member", "Number", lambda member: member.number)
        .text("node", "Node", lambda member: member.node)
        .column(
            "state",
            "State",
            lambda member: Entry(member.state, tone="" if member.state == "complete" else "bad"),
        )
        .numbers(
            "cells",
            "Cells with results",
            lambda member: (
                _EMPTY if member.share is None else Entry(format_share(member.share), member.share)
            ),
        )
        .text("problem", "Problem", lambda member: member.problem)
        .table("cells", "All nodes")
    )
