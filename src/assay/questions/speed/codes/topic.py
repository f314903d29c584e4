"""Codes as a topic of speed: assay's code beside the site's."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.speed.codes.answer import part
from assay.questions.speed.codes.findings import find
from assay.questions.speed.codes.tables import tables

TOPIC = Topic(name="codes", find=find, part=part, tables=tables)
