"""The report on the use of a machine: on the terminal, and in the requested format."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assay import __version__
from assay.questions.common.findings import FINDINGS_SCHEMA, findings_json
from assay.questions.usage.answer import answer
from assay.questions.usage.figures import figures
from assay.questions.usage.model import UsageFindings
from assay.questions.usage.queue.figures import figures as queue_figures
from assay.questions.usage.queue.tables import tables as queue_tables
from assay.questions.usage.tables import log_table, span_table, tables
from assay.questions.usage.words import summary_line
from assay.report import ShownFormat, present_report
from assay.report.build import section_of
from assay.report.model import REPORT_SCHEMA, ReportModel

if TYPE_CHECKING:
    from rich.console import Console


def build_usage(found: UsageFindings) -> ReportModel:
    """The report, with the layout of a run's report but without cells; days are its rows."""
    utc = datetime.datetime.fromtimestamp(found.utc, datetime.UTC)
    return ReportModel(
        schema=REPORT_SCHEMA,
        assay=__version__,
        run="usage",
        suite="",
        title="Use of the machine",
        system="",
        utc=utc.isoformat(timespec="seconds").replace("+00:00", "Z"),
        complete=True,
        unfinished="",
        summary=summary_line(found),
        sections=[
            section_of(
                answer(found),
                figures=[*figures(found), *(queue_figures(found.queue) if found.queue else ())],
                tables=[*tables(found), *(queue_tables(found.queue) if found.queue else ())],
                findings=findings_json(found),
            )
        ],
        findings_schema=FINDINGS_SCHEMA,
        cells=[],
        cell_table=span_table(found.days, "days", "Days"),
        system_table=log_table(found),
        provenance=[],
    )


def present(
    found: UsageFindings, console: Console, form: ShownFormat | None, output: Path | None
) -> None:
    """Print the report, and write it if a format or a file is named.

    Without a file it is ``usage.html`` (or ``.md``, ``.json``) in the working directory. Raises
    AssayError if it can't be written.
    """
    present_report(build_usage(found), console, form, output, Path("usage.html"))
