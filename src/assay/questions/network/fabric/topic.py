"""Pairs, rings and bisections as a topic of the network."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.network.fabric.answer import part
from assay.questions.network.fabric.figures import figures
from assay.questions.network.fabric.findings import find
from assay.questions.network.fabric.tables import tables

TOPIC = Topic(
    name="fabric",
    find=find,
    part=part,
    figures=figures,
    tables=tables,
    kernels=("network.ring", "network.pairs", "network.bisection"),
)
