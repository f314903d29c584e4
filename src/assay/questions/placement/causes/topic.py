"""Topic: time breakdowns of placements."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.placement.causes.answer import part
from assay.questions.placement.causes.figures import figures
from assay.questions.placement.causes.findings import find
from assay.questions.placement.causes.tables import tables

TOPIC = Topic(name="causes", find=find, part=part, figures=figures, tables=tables)
