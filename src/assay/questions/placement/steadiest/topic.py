"""Topic: a placement chosen for steadiness."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.placement.steadiest.answer import part
from assay.questions.placement.steadiest.findings import find
from assay.questions.placement.steadiest.tables import tables

TOPIC = Topic(name="steadiest", find=find, part=part, tables=tables)
