"""Storage as a topic of speed."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.speed.storage.answer import part
from assay.questions.speed.storage.figures import figures
from assay.questions.speed.storage.findings import KERNELS, find

TOPIC = Topic(name="storage", find=find, part=part, figures=figures, kernels=KERNELS)
