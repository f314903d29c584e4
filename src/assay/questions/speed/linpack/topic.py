"""Linpack as a topic of speed."""

from __future__ import annotations

from assay.models.linpack.sizing import KERNEL, SEARCH
from assay.questions.common.question import Topic
from assay.questions.speed.linpack.answer import part
from assay.questions.speed.linpack.figures import figures
from assay.questions.speed.linpack.findings import find
from assay.questions.speed.linpack.tables import tables

# Names of the kernels that this topic reports.
KERNELS = (KERNEL, SEARCH)
TOPIC = Topic(name="linpack", find=find, part=part, figures=figures, tables=tables, kernels=KERNELS)
