"""Memory as a topic of speed."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.speed.memory.answer import part
from assay.questions.speed.memory.figures import figures
from assay.questions.speed.memory.findings import find

TOPIC = Topic(name="memory", find=find, part=part, figures=figures, kernels=("memory.",))
