"""io500 as a topic of speed."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.speed.io500.answer import part
from assay.questions.speed.io500.figures import figures
from assay.questions.speed.io500.findings import KERNEL, find

TOPIC = Topic(name="io500", find=find, part=part, figures=figures, kernels=(KERNEL,))
