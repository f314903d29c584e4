"""The HTML report of a history: overview, calendar, trends, changes, and all cells."""

from __future__ import annotations

import datetime

from assay.questions.common.findings import FINDINGS_SCHEMA, findings_json
from assay.report.build import section_of
from assay.report.model import REPORT_SCHEMA, ReportModel
from assay.subjects.history.answer import answer
from assay.subjects.history.figures import figures
from assay.subjects.history.model import History
from assay.subjects.history.tables import cell_table, span_table, tables
from assay.subjects.history.words import summary_line
from assay.units import counted
from assay.version import VERSION


def build_history(history: History) -> ReportModel:
    """The report, with the layout of a run's report but without cell summaries."""
    utc = datetime.datetime.fromtimestamp(history.utc, datetime.UTC)
    replied = answer(history)
    answered = replied.status == "answered"
    systems = ", ".join(history.systems) or "no system"
    return ReportModel(
        schema=REPORT_SCHEMA,
        assay=VERSION,
        run="history",
        suite="",
        title=f"{systems}: history of {counted(history.runs, 'run')}",
        system=systems,
        utc=utc.isoformat(timespec="seconds").replace("+00:00", "Z"),
        complete=True,
        unfinished="",
        summary=summary_line(history),
        sections=[
            section_of(
                replied,
                figures=figures(history) if answered else [],
                tables=tables(history) if answered else [],
                findings=findings_json(history),
            )
        ],
        findings_schema=FINDINGS_SCHEMA,
        cells=[],
        cell_table=cell_table(history),
        system_table=span_table(history),
        provenance=[],
    )
