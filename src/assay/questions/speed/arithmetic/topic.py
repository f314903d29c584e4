"""Floating-point speed as a topic of speed."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.speed.arithmetic.answer import part
from assay.questions.speed.arithmetic.figures import figures
from assay.questions.speed.arithmetic.findings import find

TOPIC = Topic(name="arithmetic", find=find, part=part, figures=figures, kernels=("compute.",))
