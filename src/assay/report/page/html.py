"""The page for a board as one self-contained HTML file."""

from __future__ import annotations

from assay.errors import AssayError
from assay.report.html import stylesheet, template_environment, unescaped
from assay.report.model import ReportModel
from assay.report.page.fit import fitted


def to_page(report: ReportModel, paper: str = "") -> str:
    """The HTML file as text. It prints on one sheet of A4 or letter paper.

    ``paper``: the size of the sheet, A4 or letter; empty leaves it to the browser. Raises
    AssayError for a report without a page.
    """
    if report.page is None:
        raise AssayError("This report has no page for a board.", where="--page")
    css = stylesheet("report.css", "page.css", paper=paper)
    return (
        template_environment()
        .get_template("page.html.j2")
        .render(
            report=report,
            page=fitted(report, report.page),
            css=unescaped(css),
        )
    )
