"""Overlap as a topic of the network."""

from __future__ import annotations

from assay.kernels.nonblocking.overlap import OVERLAP
from assay.questions.common.question import Topic
from assay.questions.network.overlap.answer import part
from assay.questions.network.overlap.figures import figures
from assay.questions.network.overlap.findings import find
from assay.questions.network.overlap.tables import tables

TOPIC = Topic(
    name="overlap", find=find, part=part, figures=figures, tables=tables, kernels=(OVERLAP,)
)
