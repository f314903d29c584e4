"""Builds, prints and writes the report on a subject other than a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from assay.console import print_json
from assay.questions.common.findings import findings_json
from assay.report import present_report, print_lines, write_asked
from assay.report.build import report_without_cells, section_of
from assay.report.destination import Destination
from assay.report.model import ReportModel, Section
from assay.report.terms.printing import print_explained
from assay.subjects.board import answer_board
from assay.subjects.subject import Subject

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F")
# The verdict on the page of a subject without a page of its own.
_WORD = "Findings"


def build_subject(
    subject: Subject[F], found: F, *context: object, more: Sequence[Section] = ()
) -> ReportModel:
    """The report, with the layout of a run's report but without cells.

    ``context``: what this subject's frame needs in addition to the findings. ``more``: further
    sections.
    """
    frame = subject.frame(found, *context)
    answer = subject.answer(found)
    return report_without_cells(
        name=frame.name,
        title=frame.title,
        utc=frame.utc,
        summary=frame.summary,
        sections=[subject_section(subject, found), *more],
        rows=frame.rows,
        facts=frame.facts,
        suite=frame.suite,
        system=frame.system,
        unfinished=frame.unfinished,
        complete=frame.complete,
        provenance=frame.provenance,
        lines=subject.lines(found),
        page=answer_board(answer, _WORD) if subject.board is None else subject.board(found),
    )


def subject_section(subject: Subject[F], found: F) -> Section:
    """The section with the subject's answer, figures, tables and findings."""
    return section_of(
        subject.answer(found),
        figures=subject.figures(found),
        tables=subject.tables(found),
        findings=findings_json(found),
    )


def present_subject(
    subject: Subject[F],
    found: F,
    console: Console | None,
    target: Destination | None,
    *,
    verbose: bool = False,
    screen: Callable[[F, Console], None] | None = None,
    document: object = None,
    model: Callable[[], ReportModel] | None = None,
) -> None:
    """Print the report, and write it if a file is requested; or only print its lines.

    ``console`` is None if the findings are printed as JSON instead. ``verbose``: also print tables
    and all sentences. ``screen``: prints subjects whose terminal has a layout of its own.
    ``document``: printed as JSON instead of the findings. ``model``: builds the report of the file,
    if it needs more than the findings. Raises AssayError if the file can't be written.
    """
    if target is not None and target.on_stdout:
        print_lines(subject.lines(found))
        return
    if console is None:
        print_json(found if document is None else document)
    elif screen is not None:
        draw, terminal = screen, console
        print_explained(terminal, lambda: draw(found, terminal))
    elif model is None:
        present_report(build_subject(subject, found), console, target, verbose=verbose)
        return
    if target is not None:
        build = model or (lambda: build_subject(subject, found))
        write_asked(build(), console, target)
