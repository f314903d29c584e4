"""Concurrent pairs and senders as a topic of the network."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.network.concurrency.answer import part
from assay.questions.network.concurrency.figures import figures
from assay.questions.network.concurrency.findings import find

TOPIC = Topic(
    name="concurrency",
    find=find,
    part=part,
    figures=figures,
    kernels=("network.multi_pingpong", "network.concurrent", "network.stream"),
)
