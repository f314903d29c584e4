"""The trace of a program as a subject of reports.

It is a section in the report of the profile, or a report of its own.
"""

from __future__ import annotations

from assay.questions.common.tables import TableBuilder, fact_table, quantity
from assay.subjects.profile.programs import command_line
from assay.subjects.profile.traced.answer import answer
from assay.subjects.profile.traced.figures import figures
from assay.subjects.profile.traced.findings import find_trace
from assay.subjects.profile.traced.model import TraceFindings
from assay.subjects.profile.traced.tables import tables
from assay.subjects.subject import ReportFrame, Subject
from assay.trace.matching import MatchedTrace
from assay.trace.model import ProfiledRun
from assay.units import format_minute


def frame(_: TraceFindings, run: ProfiledRun, events: MatchedTrace) -> ReportFrame:
    """For a program that was killed before it could write its profile; the rows are the ranks."""
    ranks = TableBuilder(events.trace.ranks).counts("rank", "Rank", lambda one: one.rank)
    ranks.text("host", "Host", lambda one: one.host)
    ranks.numbers("wall", "Traced time", lambda one: quantity(one.wall, "s"), unit="s")
    ranks.counts("calls", "Calls", lambda one: len(one.events))
    facts = [
        ("Command", " ".join(run.command)),
        ("Started", format_minute(run.utc)),
        ("Exit status", str(run.status)),
        ("MPI", run.mpi),
    ]
    return ReportFrame(
        name="profile",
        title="Trace of a program",
        utc=run.utc,
        complete=False,
        unfinished="No rank wrote a profile: the program was killed.",
        summary=command_line(run.command),
        rows=ranks.table("profile-ranks", "Ranks"),
        facts=fact_table("system", "Program", facts),
    )


SUBJECT = Subject(
    name="trace",
    title="Trace of a program (`assay profile`)",
    find=find_trace,
    answer=answer,
    frame=frame,
    figures=figures,
    tables=tables,
)
