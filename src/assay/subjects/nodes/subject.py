"""Separately measured nodes as a subject of reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from assay.questions.common.lines import EVERYWHERE, ReportLine
from assay.questions.common.tables import Table, fact_table
from assay.records.group import GroupData
from assay.subjects.nodes.answer import answer
from assay.subjects.nodes.figures import figures
from assay.subjects.nodes.findings import NodesFindings, find
from assay.subjects.nodes.tables import member_table, tables
from assay.subjects.subject import ReportFrame, Subject
from assay.units import counted


def frame(found: NodesFindings, group: GroupData, system: Table) -> ReportFrame:
    """The rows are the nodes. ``system``: the facts about one of them."""
    request = group.request
    counts = Counter(member.state for member in group.members)
    states = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    complete = counts["complete"] == found.expected
    return ReportFrame(
        name=request.run,
        suite=request.suite,
        title=f"{request.run}: {counted(found.expected, 'node')}, each measured separately",
        system=request.run,
        utc=request.utc,
        complete=complete,
        unfinished=""
        if complete
        else f"This group is incomplete: {states}. `assay run --resume {group.path}` measures the "
        "missing nodes.",
        summary=f"{counted(found.expected, 'node')}: {states}",
        rows=member_table(found),
        facts=system,
        provenance=[_origin(group)],
    )


def _origin(group: GroupData) -> Table:
    request = group.request
    facts = [
        ("Command", " ".join(request.command)),
        ("Plan", request.plan),
        ("Seed", str(request.seed)),
        ("assay", request.assay),
    ]
    return fact_table("origin", "Origin", facts)


def lines(found: NodesFindings) -> list[ReportLine]:
    """Groups first, since their nodes share a cause."""
    return [*_lines(found)]


def _lines(found: NodesFindings) -> Iterator[ReportLine]:
    for group in found.slow_groups:
        nodes = counted(len(group.members), "node")
        yield ReportLine(
            f"{group.what}:{group.name}",
            group.resource,
            f"{group.suspicion} ({nodes}: {group.nodes})",
            change=group.gain,
            ci95=group.ci95,
        )
    for node in (*found.suspects, *found.device_suspects):
        yield ReportLine(
            node.node,
            node.what,
            node.suspicion,
            change=node.gain,
            ci95=node.ci95,
            since=node.since or "",
        )
    for explained in found.explained:
        yield ReportLine(
            explained.node,
            explained.what,
            "slower than its kind, but fleets without slow nodes may have such a node",
            change=explained.gain,
            ci95=explained.ci95,
        )
    if found.undecided:
        seem = "1 node seems" if found.undecided == 1 else f"{found.undecided} nodes seem"
        more = counted(found.more_launches, "more launch")
        decide = f"; {more} per node would decide" if found.more_launches else ""
        yield ReportLine(EVERYWHERE, "nodes", f"undecided: {seem} slow{decide}")
    for failure in found.failures:
        cells = "" if failure.cells == 1 else f" (and {failure.cells - 1} more)"
        yield ReportLine(failure.node, failure.cell, f"failed{cells}: {failure.why}")
    for member in found.members:
        if member.state != "complete":
            name = member.node or member.host or f"node {member.number}"
            yield ReportLine(name, "run", " ".join((f"{member.state}.", member.problem)).strip())


SUBJECT = Subject(
    name="nodes",
    title="Nodes compared (`assay run --per-node`)",
    find=find,
    answer=answer,
    frame=frame,
    figures=figures,
    tables=tables,
    lines=lines,
)
