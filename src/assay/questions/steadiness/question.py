"""The question "How steady is it?": its topics, and the parts of its answer that concern all
topics.
"""

from __future__ import annotations

from assay.questions.common.topics import TopicQuestion
from assay.questions.steadiness.answer import arranged, judged, unmeasured, verdict
from assay.questions.steadiness.findings import TOPICS, find

QUESTION = TopicQuestion(
    name="steadiness",
    topics=TOPICS,
    find=find,
    verdict=verdict,
    unmeasured=unmeasured,
    arranged=arranged,
    judged=judged,
    kernels=("noise.",),
).question()
