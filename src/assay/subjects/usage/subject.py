"""The use of a machine as a subject of reports."""

from __future__ import annotations

from assay.charts.figure import Figure
from assay.questions.common.lines import advice_lines
from assay.questions.common.tables import Table
from assay.subjects.subject import ReportFrame, Subject
from assay.subjects.usage import figures as of_use
from assay.subjects.usage import tables as tables_of_use
from assay.subjects.usage.answer import answer
from assay.subjects.usage.board import board
from assay.subjects.usage.findings import find
from assay.subjects.usage.model import UsageFindings
from assay.subjects.usage.queue import figures as of_queue
from assay.subjects.usage.queue import tables as tables_of_queue
from assay.subjects.usage.words import summary_line


def figures(found: UsageFindings) -> list[Figure]:
    """The figures of the log, and of replays of its queue."""
    queue = of_queue.figures(found.queue) if found.queue else ()
    return [*of_use.figures(found), *queue]


def tables(found: UsageFindings) -> list[Table]:
    """The tables of the log, and of replays of its queue."""
    queue = tables_of_queue.tables(found.queue) if found.queue else ()
    return [*tables_of_use.tables(found), *queue]


def frame(found: UsageFindings) -> ReportFrame:
    """The rows are the days."""
    return ReportFrame(
        name="usage",
        title="Use of the machine",
        utc=found.utc,
        summary=summary_line(found),
        rows=tables_of_use.span_table(found.days, "days", "Days"),
        facts=tables_of_use.log_table(found),
    )


SUBJECT = Subject(
    name="usage",
    title="Use of a machine (`assay usage`)",
    find=find,
    answer=answer,
    frame=frame,
    figures=figures,
    tables=tables,
    lines=lambda found: advice_lines("use", answer(found)),
    board=board,
)
