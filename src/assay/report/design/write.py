"""The report on a design: on the terminal, and in the requested format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.questions.common.findings import findings_json
from assay.questions.design.answer import answer
from assay.questions.design.figures import figures
from assay.questions.design.model import ClusterDesign
from assay.questions.design.tables import front_table, spec_table, tables
from assay.report import ShownFormat, present_report
from assay.report.build import report_without_cells, section_of
from assay.report.model import ReportModel

if TYPE_CHECKING:
    from rich.console import Console

# The report without --output, in the working directory.
USUAL = Path("design.html")


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
    form: ShownFormat | None,
    output: Path | None,
    usual: Path = USUAL,
    *,
    verbose: bool = False,
) -> None:
    """Print the report, and write it if a format or a file is named.

    Without a file it is ``usual`` (``design.html``, or ``.md``, ``.json``). Raises AssayError if it
    can't be written. ``verbose``: print tables and all sentences, too.
    """
    present_report(build_design(found), console, form, output, usual, verbose=verbose)
