"""Builds, prints and writes the report on a subject other than a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from assay.questions.common.findings import findings_json
from assay.report import present_report
from assay.report.build import report_without_cells, section_of
from assay.report.destination import Destination
from assay.report.model import ReportModel, Section
from assay.subjects.subject import Subject

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F")


def build_subject(
    subject: Subject[F], found: F, *context: object, more: Sequence[Section] = ()
) -> ReportModel:
    """The report, with the layout of a run's report but without cells.

    ``context``: what this subject's frame needs in addition to the findings. ``more``: further
    sections.
    """
    frame = subject.frame(found, *context)
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
    console: Console,
    target: Destination | None,
    *,
    verbose: bool = False,
) -> None:
    """Print the report, and write it if a file is requested.

    ``verbose``: also print tables and all sentences. Raises AssayError if the file can't be
    written.
    """
    present_report(build_subject(subject, found), console, target, verbose=verbose)
