"""Devices as a topic of speed."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.speed.devices.answer import part
from assay.questions.speed.devices.figures import figures
from assay.questions.speed.devices.findings import KERNELS, find

TOPIC = Topic(name="devices", find=find, part=part, figures=figures, kernels=KERNELS)
