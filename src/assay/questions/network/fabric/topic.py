"""Pairs, rings and bisections as a topic of the network."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.network.fabric.answer import part
from assay.questions.network.fabric.figures import figures
from assay.questions.network.fabric.findings import find

TOPIC = Topic(name="fabric", find=find, part=part, figures=figures)
