"""Topic: ratios of performance between placements."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.placement.ratios.answer import part
from assay.questions.placement.ratios.figures import figures
from assay.questions.placement.ratios.findings import find
from assay.questions.placement.ratios.tables import tables

TOPIC = Topic(name="ratios", find=find, part=part, figures=figures, tables=tables)
