"""How does its network behave? The question's definition."""

from __future__ import annotations

from assay.questions.common.topics import TopicQuestion
from assay.questions.network.answer import arranged, finished, unmeasured, verdict
from assay.questions.network.findings import TOPICS, find

QUESTION = TopicQuestion(
    name="network",
    topics=TOPICS,
    find=find,
    verdict=verdict,
    unmeasured=unmeasured,
    order=lambda found: found.order,
    arranged=arranged,
    finished=finished,
    answers_from=("network.",),
    kernels=("network.",),
).question()
