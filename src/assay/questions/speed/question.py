"""How fast is it, and how far from its limits? The question's definition."""

from __future__ import annotations

from assay.charts.figure import Figure
from assay.questions.common.answer import QUESTIONS
from assay.questions.common.question import Question
from assay.questions.common.tables import Table
from assay.questions.speed.answer import answer
from assay.questions.speed.benchmarks.tables import headline_table
from assay.questions.speed.benchmarks.topic import TOPIC as BENCHMARKS
from assay.questions.speed.findings import SpeedFindings, find


def figures(found: SpeedFindings) -> list[Figure]:
    """Figures of all topics."""
    return [figure for topic, findings in found.topics for figure in topic.figures(findings)]


def tables(found: SpeedFindings) -> list[Table]:
    """Tables of all topics; where a plan begins with benchmarks, their rates first."""
    begins = found.topics[:1]
    first = [
        table
        for topic, findings in begins
        if topic is BENCHMARKS
        for table in headline_table(findings)
    ]
    return first + [table for topic, findings in found.topics for table in topic.tables(findings)]


QUESTION = Question(
    name="speed",
    title=QUESTIONS["speed"],
    find=find,
    answer=answer,
    figures=figures,
    tables=tables,
)
