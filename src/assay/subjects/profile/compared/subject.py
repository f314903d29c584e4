"""Profiles compared function by function, as a subject of reports."""

from __future__ import annotations

from assay.questions.common.lines import advice_lines
from assay.questions.common.tables import fact_table
from assay.subjects.profile.compared.answer import answer
from assay.subjects.profile.compared.figures import figures
from assay.subjects.profile.compared.findings import find_changes
from assay.subjects.profile.compared.model import ProfileComparison
from assay.subjects.profile.compared.tables import side_table, tables
from assay.subjects.subject import ReportFrame, Subject
from assay.units import format_share


def frame(found: ProfileComparison) -> ReportFrame:
    """The rows are the profiles."""
    return ReportFrame(
        name="comparison",
        title="Comparison of profiles",
        utc=max(side.utc for side in found.sides),
        summary=", ".join(side.name for side in found.sides),
        rows=side_table(found),
        facts=fact_table("system", "Comparison", [("The same within", format_share(found.margin))]),
    )


SUBJECT = Subject(
    name="profiles",
    title="Comparison of profiles (`assay compare a.profile b.profile`)",
    find=find_changes,
    answer=answer,
    frame=frame,
    figures=figures,
    tables=tables,
    lines=lambda found: advice_lines("program", answer(found)),
)
