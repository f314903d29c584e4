"""Prints the report on a program's profile, and writes it in the requested format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.console import console as messages
from assay.questions.common.findings import findings_json
from assay.records.files import OUTPUT
from assay.report import make_folder, print_summary, write_asked
from assay.report.destination import Destination
from assay.report.model import CompanionFile, ReportModel
from assay.report.subject import build_subject, subject_section
from assay.report.timeline.annotate import annotate
from assay.report.timeline.write import write_timeline
from assay.subjects.profile.model import ProfileFindings
from assay.subjects.profile.subject import SUBJECT
from assay.subjects.profile.traced.model import TraceFindings
from assay.subjects.profile.traced.subject import SUBJECT as TRACED
from assay.trace.matching import MatchedTrace
from assay.trace.model import ProfiledRun

if TYPE_CHECKING:
    from rich.console import Console


def build_profile(found: ProfileFindings, traced: TraceFindings | None = None) -> ReportModel:
    """The report on a profile.

    ``traced``: the findings of the trace, if there is one; they become a separate section.
    """
    more = [] if traced is None else [subject_section(TRACED, traced)]
    return build_subject(SUBJECT, found, more=more)


def build_trace(run: ProfiledRun, events: MatchedTrace, traced: TraceFindings) -> ReportModel:
    """The report on a trace whose program was killed before it could write its profile."""
    return build_subject(TRACED, traced, run, events)


def profile_json(found: ProfileFindings | None, traced: TraceFindings | None) -> object:
    """The findings for programs.

    Findings of the trace, if there is one, are the key ``trace``. ``found`` is None if the program
    was killed and left only a trace.
    """
    if found is None:
        return {"trace": findings_json(traced)}
    plain = findings_json(found)
    if traced is None or not isinstance(plain, dict):
        return plain
    return {**plain, "trace": findings_json(traced)}


def present(
    report: ReportModel,
    console: Console | None,
    target: Destination | None,
    trace: MatchedTrace | None = None,
    *,
    verbose: bool = False,
) -> None:
    """Print a report, and write it if a file is requested.

    ``console`` is None where JSON goes to stdout; then only the file is written. ``trace``: its
    timeline is written next to the HTML or Markdown report, which links to it. ``verbose``: also
    print tables and all sentences. Raises AssayError if a file can't be written.
    """
    if trace is not None and target is not None and target.form in ("html", "markdown"):
        timeline = _timeline_beside(target.path)
        make_folder(timeline.parent, OUTPUT)
        notes = console or messages(stderr=True)
        try:
            contents = write_timeline(trace.trace, timeline, annotate(trace))
        except Exception as error:  # any failure: the report is more important than the timeline
            notes.print(f"\nThe timeline isn't drawn: {error}", markup=False, soft_wrap=True)
        else:
            title = f"Timeline: {contents.kept:,} of {contents.calls:,} calls in full detail"
            report = msgspec.structs.replace(report, files=[CompanionFile(title, timeline.name)])
            if console is not None:
                console.print(f"\ntimeline: {timeline}", markup=False, soft_wrap=True)
    if console is not None:
        print_summary(report, console, verbose=verbose)
    write_asked(report, console, target)


def _timeline_beside(report: Path) -> Path:
    """``profile-timeline.html`` of ``profile.html``."""
    return report.with_name(f"{report.stem}-timeline.html")
