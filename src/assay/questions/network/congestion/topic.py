"""The network under load as a topic of the network."""

from __future__ import annotations

from assay.questions.common.question import Topic
from assay.questions.network.congestion.answer import part
from assay.questions.network.congestion.figures import figures
from assay.questions.network.congestion.findings import find
from assay.questions.network.congestion.impacts import KERNEL
from assay.questions.network.congestion.tables import tables

TOPIC = Topic(
    name="congestion", find=find, part=part, figures=figures, tables=tables, kernels=(KERNEL,)
)
