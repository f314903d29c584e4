"""Acceptance by a contract as a subject of reports."""

from __future__ import annotations

from assay.subjects.acceptance.answer import answer, noun_of
from assay.subjects.acceptance.attempts import attempt_tables
from assay.subjects.acceptance.board import board_of
from assay.subjects.acceptance.figures import figures
from assay.subjects.acceptance.findings import find
from assay.subjects.acceptance.lines import lines
from assay.subjects.acceptance.model import AcceptanceFindings
from assay.subjects.acceptance.tables import commitment_table, facts_of, run_table, tables
from assay.subjects.subject import ReportFrame, Subject
from assay.units import counted


def frame(found: AcceptanceFindings) -> ReportFrame:
    """The rows are the commitments."""
    systems = sorted({each.system for each in found.runs if each.system})
    return ReportFrame(
        name="acceptance",
        title=f"Acceptance: {found.title}",
        utc=found.utc,
        summary=f"{counted(len(found.promises), noun_of(found))}, "
        f"{counted(len(found.runs), 'run')}",
        rows=commitment_table(found),
        facts=facts_of(found),
        system=systems[0] if len(systems) == 1 else "",
        provenance=[run_table(found), *attempt_tables(found)],
    )


SUBJECT = Subject(
    name="acceptance",
    title="Acceptance (`assay accept`)",
    find=find,
    answer=answer,
    frame=frame,
    figures=figures,
    tables=tables,
    lines=lines,
    board=board_of,
)
