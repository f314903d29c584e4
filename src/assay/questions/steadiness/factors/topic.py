"""Topic: factors that change variation.

The question passes its findings of variation; ``find_alone`` computes them first.
"""

from __future__ import annotations

from assay.questions.common.question import Measured, Topic
from assay.questions.steadiness.factors.answer import part
from assay.questions.steadiness.factors.figures import figures
from assay.questions.steadiness.factors.findings import FactorFindings, find
from assay.questions.steadiness.factors.tables import tables
from assay.questions.steadiness.variation.findings import find as find_variation


def find_alone(measured: Measured) -> FactorFindings | None:
    """Find the factors, and the variation first."""
    return find(find_variation(measured))


TOPIC = Topic(name="factors", find=find_alone, part=part, figures=figures, tables=tables)
