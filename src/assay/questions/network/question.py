"""How does its network behave? The question's definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.charts.figure import Figure
from assay.questions.common.answer import QUESTIONS
from assay.questions.common.question import Question, Topic
from assay.questions.network.answer import FURTHER, answer
from assay.questions.network.findings import NetworkFindings, find
from assay.questions.network.messages.topic import TOPIC as MESSAGES

TOPICS: tuple[Topic[Any], ...] = (MESSAGES, *FURTHER)


def figures(found: NetworkFindings) -> Sequence[Figure]:
    """The figures of messages, concurrency, collectives and fabric."""
    sides = ((topic, getattr(found, topic.name)) for topic in TOPICS)
    return [figure for topic, side in sides if side is not None for figure in topic.figures(side)]


QUESTION = Question(
    name="network",
    title=QUESTIONS["network"],
    find=find,
    answer=answer,
    figures=figures,
    answers_from=("network.",),
)
