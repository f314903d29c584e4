"""The history of a machine as a subject of reports."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.figure import Figure
from assay.questions.common.tables import Table
from assay.subjects.history import figures as drawn
from assay.subjects.history import tables as listed
from assay.subjects.history.answer import answer
from assay.subjects.history.findings import find
from assay.subjects.history.lines import lines
from assay.subjects.history.model import History
from assay.subjects.history.words import summary_line
from assay.subjects.subject import ReportFrame, Subject
from assay.units import counted


def figures(history: History) -> Sequence[Figure]:
    """The figures; none if every cell has too few runs."""
    return drawn.figures(history) if answer(history).status == "answered" else []


def tables(history: History) -> Sequence[Table]:
    """The tables; none if every cell has too few runs."""
    return listed.tables(history) if answer(history).status == "answered" else []


def frame(history: History) -> ReportFrame:
    """The rows are the cells."""
    systems = ", ".join(history.systems) or "no system"
    return ReportFrame(
        name="history",
        title=f"{systems}: history of {counted(history.runs, 'run')}",
        utc=history.utc,
        summary=summary_line(history),
        rows=listed.cell_table(history),
        facts=listed.span_table(history),
        system=systems,
    )


SUBJECT = Subject(
    name="history",
    title="History (`assay history`)",
    find=find,
    answer=answer,
    frame=frame,
    figures=figures,
    tables=tables,
    lines=lines,
)
