"""The report of a group: a comparison of separately measured nodes."""

from __future__ import annotations

import datetime
from collections import Counter

from assay import __version__
from assay.questions.common.findings import FINDINGS_SCHEMA, findings_json
from assay.questions.common.tables import Table, fact_table
from assay.questions.nodes.answer import answer
from assay.questions.nodes.figures import figures
from assay.questions.nodes.findings import NodesFindings
from assay.questions.nodes.tables import member_table, tables
from assay.records.group import GroupData
from assay.report.build import section_of
from assay.report.machine import system_table
from assay.report.model import REPORT_SCHEMA, ReportModel
from assay.units import counted


def build_group(group: GroupData, found: NodesFindings) -> ReportModel:
    """The report of a group; ``found``: from ``questions.nodes.findings.find``."""
    request = group.request
    utc = datetime.datetime.fromtimestamp(request.utc, datetime.UTC)
    counts = Counter(member.state for member in group.members)
    states = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    complete = counts["complete"] == found.expected
    first = next((member.run for member in group.members if member.run), None)
    return ReportModel(
        schema=REPORT_SCHEMA,
        assay=__version__,
        run=request.run,
        suite=request.suite,
        title=f"{request.run}: {counted(found.expected, 'node')}, each measured separately",
        system=request.run,
        utc=utc.isoformat(timespec="seconds").replace("+00:00", "Z"),
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
        findings_schema=FINDINGS_SCHEMA,
        cells=[],
        cell_table=member_table(found),
        system_table=system_table(first.manifest)
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
