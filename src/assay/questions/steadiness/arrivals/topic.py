"""Topic: ranks that arrive late at barriers."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.steadiness.arrivals.answer import part
from assay.questions.steadiness.arrivals.figures import figures
from assay.questions.steadiness.arrivals.findings import find

TOPIC = Topic(name="arrivals", find=find, part=part, figures=figures)
