"""Why a program isn't faster, as a subject of reports."""

from __future__ import annotations

from assay.questions.common.lines import EVERYWHERE, ReportLine, day_of
from assay.subjects.profile.programs import command_line
from assay.subjects.subject import ReportFrame, Subject
from assay.subjects.why.answer import answer
from assay.subjects.why.figures import figures
from assay.subjects.why.findings import find
from assay.subjects.why.model import WhyFindings
from assay.subjects.why.tables import program_table, rank_table, tables


def frame(found: WhyFindings) -> ReportFrame:
    """The rows are the ranks."""
    ended = f"The program ended with exit status {found.status}." if found.status else ""
    return ReportFrame(
        name="why",
        title="Why a program isn't faster",
        utc=found.utc,
        complete=not found.status,
        unfinished=ended,
        summary=command_line(found.command),
        rows=rank_table(found),
        facts=program_table(found),
    )


def lines(found: WhyFindings) -> list[ReportLine]:
    """The reasons that stand out, the first reason first; none if nothing does."""
    if found.undecided:
        return []
    out = [one for one in found.reasons if one.outcome == "stands out"]
    out.sort(key=lambda one: (one.name != found.first, -(one.seconds or 0.0)))
    time = found.seconds
    return [
        ReportLine(
            where=one.where or EVERYWHERE,
            what=one.name,
            text=one.change,
            change=None if one.seconds is None else -one.seconds / time,
            ci95=None
            if one.low is None or one.high is None
            else (-one.high / time, -one.low / time),
            since=day_of(found.utc),
        )
        for one in out
    ]


SUBJECT = Subject(
    name="why",
    title="Why a program isn't faster (`assay why`)",
    find=find,
    answer=answer,
    frame=frame,
    figures=figures,
    tables=tables,
    lines=lines,
)
