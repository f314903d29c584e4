"""Prints the report on a program's profile, and writes it in the requested format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.console import console as messages
from assay.questions.common.findings import findings_json
from assay.records.files import OUTPUT
from assay.report import make_folder, print_lines, print_summary, write_asked
from assay.report.destination import Destination
from assay.report.model import CompanionFile, ReportModel
from assay.report.profile.analysis import AnalysedProgram
from assay.report.subject import build_subject, subject_section
from assay.report.timeline.annotate import annotate
from assay.report.timeline.write import write_timeline
from assay.subjects.profile.model import ProfileFindings
from assay.subjects.profile.sampled.model import SampledFindings
from assay.subjects.profile.sampled.subject import SUBJECT as SAMPLED
from assay.subjects.profile.subject import SUBJECT
from assay.subjects.profile.traced.model import TraceFindings
from assay.subjects.profile.traced.subject import SUBJECT as TRACED
from assay.trace.matching import MatchedTrace
from assay.trace.model import ProfiledRun
from assay.trace.samples.model import ProgramSamples

if TYPE_CHECKING:
    from rich.console import Console


def build_profile(
    found: ProfileFindings,
    traced: TraceFindings | None = None,
    sampled: SampledFindings | None = None,
) -> ReportModel:
    """The report on a profile.

    ``traced``, ``sampled``: the findings of the trace and of the samples, if there are some; they
    become separate sections.
    """
    more = [] if sampled is None else [subject_section(SAMPLED, sampled)]
    more += [] if traced is None else [subject_section(TRACED, traced)]
    report = build_subject(SUBJECT, found, more=more)
    return report if sampled is None else _with_lines(report, sampled)


def build_report(
    run: ProfiledRun, program: AnalysedProgram, events: MatchedTrace | None
) -> ReportModel:
    """The report on what was recorded of a program: a profile, a trace, samples, or some of these.

    ``events``: the trace.
    """
    if program.found is not None:
        return build_profile(program.found, program.traced, program.sampled)
    if program.traced is not None and events is not None:
        return build_trace(run, events, program.traced, program.sampled)
    assert program.sampled is not None
    return build_samples(run, program.sampled)


def build_samples(run: ProfiledRun, sampled: SampledFindings) -> ReportModel:
    """The report on the samples of a program without MPI."""
    return build_subject(SAMPLED, sampled, run)


def _with_lines(report: ReportModel, sampled: SampledFindings) -> ReportModel:
    return msgspec.structs.replace(report, lines=[*report.lines, *SAMPLED.lines(sampled)])


def build_trace(
    run: ProfiledRun,
    events: MatchedTrace,
    traced: TraceFindings,
    sampled: SampledFindings | None = None,
) -> ReportModel:
    """The report on a trace whose program was killed before it could write its profile."""
    more = [] if sampled is None else [subject_section(SAMPLED, sampled)]
    return build_subject(TRACED, traced, run, events, more=more)


def profile_json(
    found: ProfileFindings | None,
    traced: TraceFindings | None,
    sampled: SampledFindings | None = None,
) -> object:
    """The findings for programs.

    Findings of the trace and of the samples, if there are some, are the keys ``trace`` and
    ``samples``. ``found`` is None if the program was killed and left only these, or has no MPI.
    """
    plain = {} if found is None else findings_json(found)
    assert isinstance(plain, dict)
    more = {"trace": traced, "samples": sampled}
    return plain | {name: findings_json(one) for name, one in more.items() if one is not None}


def present(
    report: ReportModel,
    console: Console | None,
    target: Destination | None,
    trace: MatchedTrace | None = None,
    samples: ProgramSamples | None = None,
    *,
    verbose: bool = False,
) -> None:
    """Print a report, and write it if a file is requested; or only print its lines.

    ``console`` is None where JSON goes to stdout; then only the file is written. ``trace``: its
    timeline is written next to the HTML or Markdown report, which links to it; ``samples`` add
    functions to it. ``verbose``: also print tables and all sentences. Raises AssayError if a file
    can't be written.
    """
    if target is not None and target.on_stdout:
        print_lines(report.lines)
        return
    if trace is not None and target is not None and target.form in ("html", "markdown"):
        timeline = _timeline_beside(target.path)
        make_folder(timeline.parent, OUTPUT)
        notes = console or messages(stderr=True)
        try:
            contents = write_timeline(trace.trace, timeline, annotate(trace, samples))
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
