"""Topic: operating-system noise."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.steadiness.noise.answer import part
from assay.questions.steadiness.noise.figures import figures
from assay.questions.steadiness.noise.findings import find

TOPIC = Topic(name="noise", find=find, part=part, figures=figures)
