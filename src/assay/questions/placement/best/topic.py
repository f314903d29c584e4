"""Topic: the best placement."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.placement.best.answer import part
from assay.questions.placement.best.figures import figures
from assay.questions.placement.best.findings import find
from assay.questions.placement.best.tables import tables

TOPIC = Topic(name="best", find=find, part=part, figures=figures, tables=tables)
