"""The design of a cluster as a subject of reports."""

from __future__ import annotations

from assay.questions.common.lines import advice_lines
from assay.subjects.design.answer import answer
from assay.subjects.design.board import board
from assay.subjects.design.figures import figures
from assay.subjects.design.findings import find
from assay.subjects.design.model import ClusterDesign
from assay.subjects.design.tables import front_table, spec_table, tables
from assay.subjects.subject import ReportFrame, Subject


def frame(found: ClusterDesign) -> ReportFrame:
    """The rows are the Pareto front."""
    return ReportFrame(
        name="design",
        title=f"Design: {found.title}",
        utc=found.utc,
        summary=f"{found.possible:,} of {found.considered:,} clusters meet the limits",
        rows=front_table(found),
        facts=spec_table(found),
    )


SUBJECT = Subject(
    name="clusters",
    title="Designed clusters (`assay design`)",
    find=find,
    answer=answer,
    frame=frame,
    figures=figures,
    tables=tables,
    lines=lambda found: advice_lines("design", answer(found)),
    board=board,
)
