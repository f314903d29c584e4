"""Devices of a node as a topic of the network."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.network.devices.answer import part
from assay.questions.network.devices.figures import figures
from assay.questions.network.devices.findings import KERNELS, find

TOPIC = Topic(name="devices", find=find, part=part, figures=figures, kernels=KERNELS)
