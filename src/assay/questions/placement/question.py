"""The question "How should I use its nodes?": its topics, and the parts of its answer that concern
all topics.
"""

from __future__ import annotations

from assay.questions.common.topics import TopicQuestion
from assay.questions.placement.answer import answering, arranged, judged, unmeasured, verdict
from assay.questions.placement.findings import TOPICS, find, order

QUESTION = TopicQuestion(
    name="placement",
    topics=TOPICS,
    find=find,
    verdict=verdict,
    unmeasured=unmeasured,
    order=order,
    answering=answering,
    arranged=arranged,
    judged=judged,
    general=False,
).question()
