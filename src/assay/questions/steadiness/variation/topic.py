"""Topic: variation from run to run."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.steadiness.variation.answer import part
from assay.questions.steadiness.variation.figures import figures
from assay.questions.steadiness.variation.findings import find
from assay.questions.steadiness.variation.tables import tables

TOPIC = Topic(name="variation", find=find, part=part, figures=figures, tables=tables)
