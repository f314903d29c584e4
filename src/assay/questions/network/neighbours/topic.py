"""Exchange between neighbours as a topic of the network."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.network.neighbours.answer import part
from assay.questions.network.neighbours.figures import figures
from assay.questions.network.neighbours.findings import KERNEL, find

TOPIC = Topic(name="neighbours", find=find, part=part, figures=figures, kernels=(KERNEL,))
