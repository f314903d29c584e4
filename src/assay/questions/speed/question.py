"""How fast is it, and how far from its limits? The question's definition."""

from __future__ import annotations

from assay.charts.figure import Figure
from assay.questions.common.answer import QUESTIONS
from assay.questions.common.question import Question
from assay.questions.common.tables import Table
from assay.questions.speed.answer import answer
from assay.questions.speed.findings import TOPICS, SpeedFindings, find


def figures(found: SpeedFindings) -> list[Figure]:
    """Figures of all topics."""
    return [
        figure
        for topic in TOPICS
        if (findings := getattr(found, topic.name)) is not None
        for figure in topic.figures(findings)
    ]


def tables(found: SpeedFindings) -> list[Table]:
    """Tables of all topics."""
    return [
        table
        for topic in TOPICS
        if (findings := getattr(found, topic.name)) is not None
        for table in topic.tables(findings)
    ]


QUESTION = Question(
    name="speed",
    title=QUESTIONS["speed"],
    find=find,
    answer=answer,
    figures=figures,
    tables=tables,
)
