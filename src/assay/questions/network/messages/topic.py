"""Messages between two ranks as a topic of the network."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.network.messages.answer import part
from assay.questions.network.messages.figures import figures
from assay.questions.network.messages.findings import find

TOPIC = Topic(name="messages", find=find, part=part, figures=figures, kernels=("network.pingpong",))
