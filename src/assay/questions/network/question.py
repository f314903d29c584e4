"""How does its network behave? The question's definition."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.figure import Figure
from assay.questions.common.answer import QUESTIONS
from assay.questions.common.question import Question
from assay.questions.common.subject import in_order
from assay.questions.network.answer import answer
from assay.questions.network.findings import TOPICS, NetworkFindings, find


def figures(found: NetworkFindings) -> Sequence[Figure]:
    """The figures of each topic, in the plan's order."""
    sides = ((topic, getattr(found, topic.name)) for topic in in_order(TOPICS, found.order))
    return [figure for topic, side in sides if side is not None for figure in topic.figures(side)]


QUESTION = Question(
    name="network",
    title=QUESTIONS["network"],
    find=find,
    answer=answer,
    figures=figures,
    answers_from=("network.",),
    kernels=("network.",),
)
