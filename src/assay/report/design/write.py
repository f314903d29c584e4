"""The report on a design: on the terminal, and in the requested format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.questions.common.findings import findings_json
from assay.report import present_report
from assay.report.build import report_without_cells, section_of
from assay.report.destination import Destination
from assay.report.model import ReportModel
from assay.subjects.design.answer import answer
from assay.subjects.design.figures import figures
from assay.subjects.design.model import ClusterDesign
from assay.subjects.design.tables import front_table, spec_table, tables

if TYPE_CHECKING:
    from rich.console import Console


def build_design(found: ClusterDesign) -> ReportModel:
    """The report, with the layout of a run's report but without cells; the front is its rows."""
    return report_without_cells(
        name="design",
        title=f"Design: {found.title}",
        utc=found.utc,
        summary=f"{found.possible:,} clusters within the limits of {found.considered:,}",
        sections=[
            section_of(
                answer(found),
                figures=figures(found),
                tables=tables(found),
                findings=findings_json(found),
            )
        ],
        rows=front_table(found),
        facts=spec_table(found),
    )


def present(
    found: ClusterDesign,
    console: Console,
    target: Destination | None,
    *,
    verbose: bool = False,
) -> None:
    """Print the report, and write it if a file is asked for.

    ``verbose``: print tables and all sentences, too. Raises AssayError if it can't be written.
    """
    present_report(build_design(found), console, target, verbose=verbose)
