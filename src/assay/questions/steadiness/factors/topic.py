"""What changes variation.

By itself it finds the variation first; the question hands over the one it has.
"""

from __future__ import annotations

from assay.questions.common.question import Measured, Topic
from assay.questions.steadiness.factors.answer import part
from assay.questions.steadiness.factors.figures import figures
from assay.questions.steadiness.factors.findings import FactorFindings, find
from assay.questions.steadiness.factors.tables import tables
from assay.questions.steadiness.variation.findings import find as find_variation


def find_alone(measured: Measured) -> FactorFindings | None:
    """The factors of what was measured."""
    return find(find_variation(measured))


TOPIC = Topic(name="factors", find=find_alone, part=part, figures=figures, tables=tables)
