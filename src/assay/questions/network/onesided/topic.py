"""One-sided communication as a topic of the network."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.network.onesided.answer import part
from assay.questions.network.onesided.figures import figures
from assay.questions.network.onesided.findings import KERNEL, find

TOPIC = Topic(name="onesided", find=find, part=part, figures=figures, kernels=(KERNEL,))
