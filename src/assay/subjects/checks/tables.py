"""Tables on the checks of a fleet."""

from __future__ import annotations

from assay.questions.common.tables import (
    NOTHING,
    Entry,
    Table,
    TableBuilder,
    Tone,
    count,
    fact_table,
    quantity,
    written,
)
from assay.subjects.checks.model import CheckedNode, ChecksFindings
from assay.subjects.checks.words import STATES, kind_text, title_of
from assay.units import format_change, format_duration, format_minute

_TONES: dict[str, Tone] = {"failing": "bad", "declining": "warn", "silent": "warn",
                           "damaged": "warn", "failed": "quiet", "": "good"}  # fmt: skip


def tables(found: ChecksFindings) -> list[Table]:
    """All tables that have rows."""
    built = [bad_table(found), _declining(found), _kinds(found), _levels(found),
             _reasons(found), _divided(found)]  # fmt: skip
    return [table for table in built if table.rows]


def bad_table(found: ChecksFindings) -> Table:
    """The nodes with something wrong."""
    return (
        TableBuilder(found.bad)
        .text("node", "Node", lambda node: node.host)
        .column("state", "State", _state)
        .column("since", "Since (UTC)", lambda node: _time(node.since))
        .numbers("times", "Checks", lambda node: count(node.times) if node.times else NOTHING)
        .text("found", "Found", lambda node: node.text)
        .table("checks-bad", "Nodes with something wrong", filters=["state"])
    )


def node_table(found: ChecksFindings) -> Table:
    """All nodes, the bad ones first."""
    several = len(found.kinds) > 1
    table = TableBuilder(found.nodes).text("node", "Node", lambda node: node.host)
    if several:
        table.text("kind", "Kind", lambda node: kind_text(node.kind))
    return (
        table.column("state", "State", _state)
        .column("last", "Last check (UTC)", lambda node: _time(node.last))
        .counts("healthy", "Healthy", lambda node: node.healthy)
        .counts("unhealthy", "Unhealthy", lambda node: node.unhealthy)
        .counts("undecided", "Undecided", lambda node: node.undecided)
        .table("cells", "Nodes", filters=["state", "kind"])
    )


def facts_of(found: ChecksFindings) -> Table:
    """The folder and the times of the report."""
    kinds = ", ".join(f"{kind_text(kind)} ({nodes})" for kind, nodes in found.kinds.items())
    facts = [
        ("Folder", found.folder),
        ("Kinds of nodes", kinds),
        ("Checks since", f"{format_minute(found.since)} UTC" if found.since else ""),
        ("Recent checks", f"{found.recent:,}"),
        ("Silent after", format_duration(found.silent_after)),
    ]
    return fact_table("system", "Fleet", facts)


def _declining(found: ChecksFindings) -> Table:
    return (
        TableBuilder(found.declining)
        .text("node", "Node", lambda each: each.host)
        .text("component", "Component", lambda each: title_of(each.component))
        .numbers("change", "Change", lambda each: Entry(format_change(each.change), each.change))
        .counts("checks", "Checks", lambda each: each.checks)
        .column("first", "From (UTC)", lambda each: _time(each.first))
        .column("last", "To (UTC)", lambda each: _time(each.last))
        .numbers("p", "p", lambda each: written(each.probability, "{:.1e}"))
        .table("checks-declining", "Nodes that become slower", folded=len(found.declining) > 20)
    )


def _kinds(found: ChecksFindings) -> Table:
    return (
        TableBuilder(found.declining_kinds)
        .text("kind", "Kind", lambda each: each.kind)
        .text("component", "Component", lambda each: title_of(each.component))
        .numbers(
            "change",
            "Change from the baseline",
            lambda each: Entry(format_change(each.change, each.interval), each.change),
        )
        .counts("nodes", "Nodes", lambda each: each.nodes)
        .table("checks-kinds", "Kinds of nodes that have become slower")
    )


def _levels(found: ChecksFindings) -> Table:
    table = TableBuilder(found.levels)
    if len({each.kind for each in found.levels}) > 1:
        table.text("kind", "Kind", lambda each: kind_text(each.kind))
    return (
        table.text("component", "Component", lambda each: title_of(each.component))
        .counts("nodes", "Nodes", lambda each: each.nodes)
        .numbers("median", "Median", lambda each: quantity(each.median, each.unit))
        .numbers("low", "5% of the nodes", lambda each: quantity(each.low, each.unit))
        .numbers("high", "95% of the nodes", lambda each: quantity(each.high, each.unit))
        .numbers("baseline", "Baseline", lambda each: quantity(each.baseline, each.unit))
        .text("slowest", "Slowest node", lambda each: each.slowest)
        .numbers(
            "deviation",
            "Its deviation",
            lambda each: Entry(format_change(each.slowest_change), each.slowest_change),
        )
        .table(
            "checks-levels",
            "Levels",
            caption="The level of a node is the median of its last five decided checks.",
        )
    )


def _reasons(found: ChecksFindings) -> Table:
    return (
        TableBuilder(found.reasons)
        .text("reason", "Reason", lambda each: each.reason)
        .counts("checks", "Checks", lambda each: each.checks)
        .counts("nodes", "Nodes", lambda each: each.nodes)
        .text("example", "Example", lambda each: f"{each.host}: {each.example}", tone="quiet")
        .table("checks-undecided", "Why checks were undecided")
    )


def _divided(found: ChecksFindings) -> Table:
    return (
        TableBuilder(found.divided)
        .text("kind", "Kind", lambda each: kind_text(each.kind))
        .text("fact", "Fact", lambda each: each.fact)
        .text(
            "values",
            "Values and numbers of nodes",
            lambda each: ", ".join(
                f"{value} ({nodes})" for value, nodes in zip(each.values, each.nodes, strict=True)
            ),
        )
        .table("checks-divided", "Facts in which nodes of one kind differ")
    )


def _state(node: CheckedNode) -> Entry:
    words = STATES[node.state] if node.state else "healthy" if node.healthy else "not yet decided"
    return Entry(words, words, _TONES[node.state] if node.state or node.healthy else "quiet")


def _time(utc: float | None) -> Entry:
    return NOTHING if utc is None else Entry(format_minute(utc), utc)
