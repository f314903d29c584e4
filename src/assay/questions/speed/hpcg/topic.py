"""hpcg as a topic of speed."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.speed.hpcg.answer import part
from assay.questions.speed.hpcg.figures import figures
from assay.questions.speed.hpcg.findings import KERNEL, find

TOPIC = Topic(
    name="hpcg", find=find, part=part, figures=figures, kernels=(KERNEL,), after=("memory",)
)
