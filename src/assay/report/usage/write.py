"""The report on the use of a machine: on the terminal, and in the requested format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.questions.common.findings import findings_json
from assay.report import present_report
from assay.report.build import report_without_cells, section_of
from assay.report.destination import Destination
from assay.report.model import ReportModel
from assay.subjects.usage.answer import answer
from assay.subjects.usage.figures import figures
from assay.subjects.usage.model import UsageFindings
from assay.subjects.usage.queue.figures import figures as queue_figures
from assay.subjects.usage.queue.tables import tables as queue_tables
from assay.subjects.usage.tables import log_table, span_table, tables
from assay.subjects.usage.words import summary_line

if TYPE_CHECKING:
    from rich.console import Console


def build_usage(found: UsageFindings) -> ReportModel:
    """The report, with the layout of a run's report but without cells; days are its rows."""
    return report_without_cells(
        name="usage",
        title="Use of the machine",
        utc=found.utc,
        summary=summary_line(found),
        sections=[
            section_of(
                answer(found),
                figures=[*figures(found), *(queue_figures(found.queue) if found.queue else ())],
                tables=[*tables(found), *(queue_tables(found.queue) if found.queue else ())],
                findings=findings_json(found),
            )
        ],
        rows=span_table(found.days, "days", "Days"),
        facts=log_table(found),
    )


def present(
    found: UsageFindings,
    console: Console,
    target: Destination | None,
    *,
    verbose: bool = False,
) -> None:
    """Print the report, and write it if a file is asked for.

    ``verbose``: print tables and all sentences, too. Raises AssayError if it can't be written.
    """
    present_report(build_usage(found), console, target, verbose=verbose)
