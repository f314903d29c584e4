"""The samples of a program as a subject of reports.

It is a section in the report of the profile, or a report of its own for a program without MPI.
"""

from __future__ import annotations

from assay.questions.common.lines import advice_lines
from assay.questions.common.tables import TableBuilder, fact_table, quantity
from assay.subjects.profile.programs import command_line
from assay.subjects.profile.sampled.answer import answer
from assay.subjects.profile.sampled.figures import figures
from assay.subjects.profile.sampled.findings import find_samples
from assay.subjects.profile.sampled.model import SampledFindings
from assay.subjects.profile.sampled.tables import tables
from assay.subjects.subject import ReportFrame, Subject
from assay.trace.model import ProfiledRun
from assay.units import format_minute


def frame(found: SampledFindings, run: ProfiledRun) -> ReportFrame:
    """For a program without MPI; the rows are its threads."""
    threads = TableBuilder(found.threads).counts("process", "Process", lambda one: one.rank)
    threads.counts("thread", "Thread", lambda one: one.thread)
    threads.text("name", "Name", lambda one: one.name)
    threads.numbers("computing", "Computing", lambda one: quantity(one.computing, "s"), unit="s")
    facts = [
        ("Command", " ".join(run.command)),
        ("Started", format_minute(run.utc)),
        ("Exit status", str(run.status)),
    ]
    return ReportFrame(
        name="profile",
        title="Samples of a program",
        utc=run.utc,
        summary=command_line(run.command),
        rows=threads.table("profile-threads", "Threads"),
        facts=fact_table("system", "Program", facts),
        complete=not run.status,
        unfinished=f"The program ended with exit status {run.status}." if run.status else "",
    )


SUBJECT = Subject(
    name="samples",
    title="Samples of a program's call stacks (`assay profile --sample`)",
    find=find_samples,
    answer=answer,
    frame=frame,
    figures=figures,
    tables=tables,
    lines=lambda found: advice_lines("program", answer(found)),
)
