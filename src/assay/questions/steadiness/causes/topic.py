"""Topic: causes of variation.

The question passes its findings of variation and noise; ``find_alone`` computes them first.
"""

from __future__ import annotations

from assay.questions.common.question import Measured, Topic
from assay.questions.steadiness.causes.answer import part
from assay.questions.steadiness.causes.figures import figures
from assay.questions.steadiness.causes.findings import CauseFindings, find
from assay.questions.steadiness.causes.tables import tables
from assay.questions.steadiness.noise.findings import find as find_noise
from assay.questions.steadiness.variation.findings import find as find_variation


def find_alone(measured: Measured) -> CauseFindings | None:
    """Find the causes, and variation and noise first."""
    variation = find_variation(measured)
    return find(variation.repeats, measured.run, find_noise(measured))


TOPIC = Topic(name="causes", find=find_alone, part=part, figures=figures, tables=tables)
