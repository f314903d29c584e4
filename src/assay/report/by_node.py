"""The report of a group: every node by itself, side by side."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence

from assay import __version__
from assay.answers.fleet import Examined, Suspect, examine
from assay.answers.nodes import (
    CellByNode,
    MeasuredNode,
    NodeGain,
    NodeValue,
    answer_nodes,
    by_node,
    gains,
    measure_node,
)
from assay.answers.select import quantity_text
from assay.records.group import GroupData, Member
from assay.report.build import section_of
from assay.report.figures.node_map import node_map
from assay.report.figures.nodes import nodes_figure
from assay.report.machine import system_table
from assay.report.model import REPORT_SCHEMA, Column, Entry, ReportModel, Table
from assay.stats.occasions import occasions_before
from assay.stats.one_thread import one_thread
from assay.units import counted, format_share

# How many nodes' names a sentence holds.
_NAMED = 10


def measured_nodes(group: GroupData) -> list[MeasuredNode]:
    """The members that have numbers, by the names of their hosts."""
    hosts = Counter(member.host for member in group.members if member.run)
    return [
        measure_node(_name(member, hosts), member.number, member.run)
        for member in group.members
        if member.run is not None
    ]


def _name(member: Member, hosts: Counter[str | None]) -> str:
    if member.host is None or hosts[member.host] > 1:
        return f"{member.host or 'node'} ({member.number})"
    return member.host


@one_thread
def examine_group(group: GroupData, nodes: Sequence[MeasuredNode]) -> Examined | None:
    """Look for bad nodes, with what the folder holds of them from before."""
    cells = by_node(nodes)
    before = occasions_before(group, {cell.id for cell in cells}) if cells else []
    return examine(nodes, cells, group.request.utc, before)


@one_thread
def build_group(
    group: GroupData, nodes: Sequence[MeasuredNode], examined: Examined | None
) -> ReportModel:
    """The report of a group, from ``measured_nodes`` and ``examine_group``."""
    cells = by_node(nodes)
    counts = Counter(member.state for member in group.members)
    expected = len(group.members)
    complete = counts["complete"] == expected
    answer = answer_nodes(cells, len(nodes), expected, _absent(group), examined)
    utc = datetime.datetime.fromtimestamp(group.request.utc, datetime.UTC)
    first = next((member.run for member in group.members if member.run), None)
    request = group.request
    states = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    suspects = examined.suspects if examined else []
    tables = [_cell_table(cells), _node_table(gains(cells)), _values_table(cells)] if cells else []
    if suspects:
        tables.insert(0, _suspect_table(suspects))
    figures = [nodes_figure(cells, [each.member for each in suspects])] if cells else []
    if examined is not None:
        figures.insert(0, node_map(examined))
    section = section_of(answer, figures=figures, tables=tables)
    return ReportModel(
        schema=REPORT_SCHEMA,
        assay=__version__,
        run=request.run,
        suite=request.suite,
        title=f"{request.run}: each of {counted(expected, 'node')} by itself",
        system=request.run,
        utc=utc.isoformat(timespec="seconds").replace("+00:00", "Z"),
        complete=complete,
        unfinished=""
        if complete
        else f"This group is incomplete: {states}. `assay run --resume {group.path}` measures the "
        "nodes that are missing.",
        summary=f"{counted(expected, 'node')}: {states}",
        sections=[section],
        cells=[],
        cell_table=_member_table(group, nodes),
        system_table=system_table(first.manifest)
        if first is not None
        else Table(id="system", title="System", columns=[], rows=[]),
        provenance=[_origin(group)],
    )


def _absent(group: GroupData) -> list[str]:
    """Which nodes have no numbers, and which have fewer than they should."""
    said = []
    for state, words in (
        ("missing", "Nothing was heard of {}"),
        ("failed", "{} did not measure"),
        ("unfinished", "{} did not finish"),
    ):
        found = [member for member in group.members if member.state == state]
        if found:
            names = ", ".join(m.host or f"number {m.number}" for m in found[:_NAMED])
            more = ", …" if len(found) > _NAMED else ""
            problems = Counter(m.problem for m in found if m.problem)
            why = f" ({problems.most_common(1)[0][0]})" if problems else ""
            said.append(f"{words.format(counted(len(found), 'node'))}: {names}{more}{why}.")
    hosts = Counter(member.host for member in group.members if member.run)
    twice = [str(host) for host, number in hosts.items() if number > 1]
    if twice:
        said.append(
            f"Measured more than once: {', '.join(twice[:_NAMED])}. The scheduler gave out the "
            "same node again, so as many others were not measured."
        )
    return said


def _suspect_table(suspects: Sequence[Suspect]) -> Table:
    return Table(
        id="nodes-suspects",
        title="Nodes to look at, the surest first",
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
                Entry(each.seen),
                Entry(f"{each.p_adjusted:.2g}", each.p_adjusted),
                Entry(f"{each.suspicion}. {each.evidence[:1].upper()}{each.evidence[1:]}."),
            ]
            for each in suspects
        ],
        caption="How much better than the usual node; negative is worse. p: the share of false "
        "ones among all that would be named with it.",
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
        folded=len(nodes) > _NAMED,
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


def _member_table(group: GroupData, nodes: Sequence[MeasuredNode]) -> Table:
    names = {node.member: node.name for node in nodes}
    kept = {node.member: node.cells for node in nodes}

    def share(member: Member) -> Entry:
        cells = kept.get(member.number, ())
        have = sum(1 for cell in cells if cell.metrics)
        return Entry(format_share(have / len(cells)), have / len(cells)) if cells else Entry("")

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
                Entry(names.get(member.number, "")),
                Entry(member.state, tone="" if member.state == "complete" else "bad"),
                share(member),
                Entry(member.problem),
            ]
            for member in group.members
        ],
    )


def _origin(group: GroupData) -> Table:
    request = group.request
    facts = [
        ("Command", " ".join(request.command)),
        ("Plan", request.plan),
        ("Seed", str(request.seed)),
        ("assay", request.assay),
    ]
    return Table(
        id="origin",
        title="Origin",
        columns=[Column("fact", "Fact"), Column("value", "Value")],
        rows=[[Entry(name), Entry(value)] for name, value in facts],
    )
