"""Separately measured nodes as a subject of reports."""

from __future__ import annotations

from collections import Counter

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


SUBJECT = Subject(
    name="nodes",
    title="Nodes compared (`assay run --per-node`)",
    find=find,
    answer=answer,
    frame=frame,
    figures=figures,
    tables=tables,
)
