"""Messages between two ranks: one side of the network's answer."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.network.messages.answer import part
from assay.questions.network.messages.figures import figures
from assay.questions.network.messages.findings import find

TOPIC = Topic(name="messages", find=find, part=part, figures=figures)
