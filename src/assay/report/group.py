"""The report of a group: a comparison of separately measured nodes."""

from __future__ import annotations

from collections import Counter

from assay.questions.common.findings import findings_json
from assay.questions.common.tables import Table, fact_table
from assay.records.group import GroupData
from assay.report.build import report_without_cells, section_of
from assay.report.machine import system_table
from assay.report.model import ReportModel
from assay.subjects.nodes.answer import answer
from assay.subjects.nodes.figures import figures
from assay.subjects.nodes.findings import NodesFindings
from assay.subjects.nodes.tables import member_table, tables
from assay.units import counted


def build_group(group: GroupData, found: NodesFindings) -> ReportModel:
    """The report of a group; ``found``: from ``questions.nodes.findings.find``."""
    request = group.request
    counts = Counter(member.state for member in group.members)
    states = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    complete = counts["complete"] == found.expected
    first = next((member.run for member in group.members if member.run), None)
    return report_without_cells(
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
        sections=[
            section_of(
                answer(found),
                figures=figures(found),
                tables=tables(found),
                findings=findings_json(found),
            )
        ],
        rows=member_table(found),
        facts=system_table(first.manifest)
        if first is not None
        else Table(id="system", title="System", columns=[], rows=[]),
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
