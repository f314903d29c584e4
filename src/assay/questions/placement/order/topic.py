"""Topic: rank orders."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.placement.order.answer import part
from assay.questions.placement.order.figures import figures
from assay.questions.placement.order.findings import find
from assay.questions.placement.order.tables import tables

TOPIC = Topic(name="order", find=find, part=part, figures=figures, tables=tables)
