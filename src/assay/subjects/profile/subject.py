"""The profile of a program as a subject of reports."""

from __future__ import annotations

from assay.questions.common.lines import advice_lines
from assay.subjects.profile.answer import answer
from assay.subjects.profile.figures import figures
from assay.subjects.profile.findings import find
from assay.subjects.profile.model import ProfileFindings
from assay.subjects.profile.programs import command_line
from assay.subjects.profile.tables import program_table, rank_table, tables
from assay.subjects.subject import ReportFrame, Subject
from assay.units import counted


def frame(found: ProfileFindings) -> ReportFrame:
    """The rows are the ranks."""
    return ReportFrame(
        name="profile",
        title="Profile of a program",
        utc=found.utc,
        complete=not found.absent,
        unfinished=_unfinished(found),
        summary=command_line(found.command),
        rows=rank_table(found),
        facts=program_table(found),
    )


def _unfinished(found: ProfileFindings) -> str:
    if found.status:
        return f"The program ended with exit status {found.status}."
    return f"{counted(len(found.absent), 'rank')} wrote no profile." if found.absent else ""


SUBJECT = Subject(
    name="profile",
    title="Profile of a program (`assay profile`)",
    find=find,
    answer=answer,
    frame=frame,
    figures=figures,
    tables=tables,
    lines=lambda found: advice_lines("program", answer(found)),
)
