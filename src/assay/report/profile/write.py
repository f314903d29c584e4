"""The report on a program's profile: on the terminal, and in the requested format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.console import console as messages
from assay.questions.common.findings import findings_json
from assay.questions.common.tables import TableBuilder, fact_table, quantity
from assay.records.files import OUTPUT
from assay.report import make_folder, print_summary, write_asked
from assay.report.build import report_without_cells, section_of
from assay.report.destination import Destination
from assay.report.model import CompanionFile, ReportModel, Section
from assay.report.timeline.annotate import annotate
from assay.report.timeline.write import write_timeline
from assay.subjects.profile.answer import answer
from assay.subjects.profile.figures import figures
from assay.subjects.profile.model import ProfileFindings
from assay.subjects.profile.tables import program_table, rank_table, tables
from assay.subjects.profile.traced.answer import answer as traced_answer
from assay.subjects.profile.traced.figures import figures as traced_figures
from assay.subjects.profile.traced.model import TraceFindings
from assay.subjects.profile.traced.tables import tables as traced_tables
from assay.trace.matching import MatchedTrace
from assay.trace.model import ProfiledRun
from assay.units import counted, format_minute

if TYPE_CHECKING:
    from rich.console import Console

_MOST_WORDS = 80  # characters of a command in the summary


def build_profile(found: ProfileFindings, traced: TraceFindings | None = None) -> ReportModel:
    """The report, with the layout of a run's report but without cells; ranks are its rows.

    ``traced``: the findings of the trace, where there is one; they are a section of their own.
    """
    command = " ".join(found.command)
    shown = command if len(command) <= _MOST_WORDS else f"{command[:_MOST_WORDS]} …"
    return report_without_cells(
        name="profile",
        title="Profile of a program",
        utc=found.utc,
        complete=not found.absent,
        unfinished=_unfinished(found),
        summary=shown,
        sections=[
            section_of(
                answer(found),
                figures=figures(found),
                tables=tables(found),
                findings=findings_json(found),
            ),
            *([] if traced is None else [_traced_section(traced)]),
        ],
        rows=rank_table(found),
        facts=program_table(found),
    )


def build_trace(run: ProfiledRun, events: MatchedTrace, traced: TraceFindings) -> ReportModel:
    """The report on a trace whose program was killed before it could write its profile."""
    command = " ".join(run.command)
    ranks = TableBuilder(events.trace.ranks).counts("rank", "Rank", lambda one: one.rank)
    ranks.text("host", "Host", lambda one: one.host)
    ranks.numbers("wall", "Traced time", lambda one: quantity(one.wall, "s"), unit="s")
    ranks.counts("calls", "Calls", lambda one: len(one.events))
    facts = [
        ("Command", command),
        ("Started", format_minute(run.utc)),
        ("Exit status", str(run.status)),
        ("MPI", run.mpi),
    ]
    return report_without_cells(
        name="profile",
        title="Trace of a program",
        utc=run.utc,
        complete=False,
        unfinished="No rank wrote a profile: the program was killed.",
        summary=command if len(command) <= _MOST_WORDS else f"{command[:_MOST_WORDS]} …",
        sections=[_traced_section(traced)],
        rows=ranks.table("profile-ranks", "Ranks"),
        facts=fact_table("system", "Program", facts),
    )


def _traced_section(traced: TraceFindings) -> Section:
    return section_of(
        traced_answer(traced),
        figures=traced_figures(traced),
        tables=traced_tables(traced),
        findings=findings_json(traced),
    )


def _unfinished(found: ProfileFindings) -> str:
    if found.status:
        return f"The program ended with exit status {found.status}."
    return f"{counted(len(found.absent), 'rank')} wrote no profile." if found.absent else ""


def profile_json(found: ProfileFindings | None, traced: TraceFindings | None) -> object:
    """The findings for programs; those of the trace, where there is one, are its ``trace``.

    ``found``: None: the program was killed, and there is only the trace.
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
    """Print a report, and write it if a file is asked for.

    ``console`` is None where stdout belongs to JSON: then the file is written only.
    ``trace``: its timeline is written beside the HTML or Markdown report, which has a link to it.
    ``verbose``: print tables and all sentences, too. Raises AssayError if it can't be written.
    """
    if trace is not None and target is not None and target.form in ("html", "markdown"):
        timeline = _timeline_beside(target.path)
        make_folder(timeline.parent, OUTPUT)
        notes = console or messages(stderr=True)
        try:
            contents = write_timeline(trace.trace, timeline, annotate(trace))
        except Exception as error:  # whatever it is, the report is worth more
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
