"""The checks of a fleet as a subject of reports."""

from __future__ import annotations

from assay.subjects.checks.answer import answer
from assay.subjects.checks.figures import figures
from assay.subjects.checks.findings import find
from assay.subjects.checks.model import ChecksFindings
from assay.subjects.checks.tables import facts_of, node_table, tables
from assay.subjects.checks.words import summary_line
from assay.subjects.subject import ReportFrame, Subject
from assay.units import counted


def frame(found: ChecksFindings) -> ReportFrame:
    """The rows are the nodes."""
    return ReportFrame(
        name="checks",
        title=f"Checks of {counted(len(found.nodes), 'node')}",
        utc=found.utc,
        summary=summary_line(found),
        rows=node_table(found),
        facts=facts_of(found),
    )


SUBJECT = Subject(
    name="checks",
    title="Checks of a fleet (`assay check --report`)",
    find=find,
    answer=answer,
    frame=frame,
    figures=figures,
    tables=tables,
)
