"""Message rates as a topic of the network."""

from __future__ import annotations

from assay.kernels.nonblocking.rate import RATE
from assay.questions.common.question import Topic
from assay.questions.network.rates.answer import part
from assay.questions.network.rates.figures import figures
from assay.questions.network.rates.findings import find

TOPIC = Topic(name="rates", find=find, part=part, figures=figures, kernels=(RATE,))
