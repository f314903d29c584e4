"""Collective operations as a topic of the network."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.network.collectives.answer import part
from assay.questions.network.collectives.figures import figures
from assay.questions.network.collectives.findings import find

TOPIC = Topic(
    name="collectives", find=find, part=part, figures=figures, kernels=("network.collective",)
)
