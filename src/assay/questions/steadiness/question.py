"""The question "How steady is it?": findings, answer, figures and tables of its topics."""

from __future__ import annotations

from assay.charts.figure import Figure
from assay.questions.common.answer import QUESTIONS
from assay.questions.common.question import Question
from assay.questions.common.tables import Table
from assay.questions.steadiness.answer import answer
from assay.questions.steadiness.findings import SteadinessFindings, find
from assay.questions.steadiness.topics import topics_of


def figures(found: SteadinessFindings) -> list[Figure]:
    """The figures of each topic."""
    return [figure for topic, one in topics_of(found) for figure in topic.figures(one)]


def tables(found: SteadinessFindings) -> list[Table]:
    """The tables of each topic."""
    return [table for topic, one in topics_of(found) for table in topic.tables(one)]


QUESTION = Question(
    name="steadiness",
    title=QUESTIONS["steadiness"],
    find=find,
    answer=answer,
    figures=figures,
    tables=tables,
    kernels=("noise.",),
)
