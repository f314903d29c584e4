"""The question "How should I use its nodes?": findings, answer, figures and tables."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.figure import Figure
from assay.questions.common.answer import QUESTIONS
from assay.questions.common.question import Question
from assay.questions.common.tables import Table
from assay.questions.placement.answer import answer
from assay.questions.placement.findings import PlacementFindings, find


def figures(found: PlacementFindings) -> Sequence[Figure]:
    """The figures of each topic."""
    return [
        figure for topic, of_topic in found.measured_topics() for figure in topic.figures(of_topic)
    ]


def tables(found: PlacementFindings) -> Sequence[Table]:
    """The tables of each topic."""
    return [
        table for topic, of_topic in found.measured_topics() for table in topic.tables(of_topic)
    ]


QUESTION = Question(
    name="placement",
    title=QUESTIONS["placement"],
    find=find,
    answer=answer,
    figures=figures,
    tables=tables,
)
