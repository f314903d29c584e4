"""Topic: compiler, MPI and placement as factors."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.placement.toolchains.answer import part
from assay.questions.placement.toolchains.figures import figures
from assay.questions.placement.toolchains.findings import find
from assay.questions.placement.toolchains.tables import tables

TOPIC = Topic(name="toolchains", find=find, part=part, figures=figures, tables=tables)
