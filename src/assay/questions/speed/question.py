"""How fast is it, and how far from its limits? The question's definition."""

from __future__ import annotations

from assay.questions.common.topics import TopicQuestion
from assay.questions.speed.answer import unmeasured, verdict
from assay.questions.speed.findings import TOPICS, find

QUESTION = TopicQuestion(
    name="speed",
    topics=TOPICS,
    find=find,
    verdict=verdict,
    unmeasured=unmeasured,
    order=lambda found: found.order,
).question()
