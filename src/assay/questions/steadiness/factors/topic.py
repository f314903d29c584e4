"""Topic: factors that change variation."""

from __future__ import annotations

from assay.questions.common.question import Measured, Topic
from assay.questions.steadiness.factors.answer import part
from assay.questions.steadiness.factors.figures import figures
from assay.questions.steadiness.factors.findings import FactorFindings, find
from assay.questions.steadiness.factors.tables import tables
from assay.questions.steadiness.variation.findings import VariationFindings


def _find(_: Measured, variation: VariationFindings) -> FactorFindings | None:
    return find(variation)


TOPIC = Topic(
    name="factors", find=_find, part=part, figures=figures, tables=tables, after=("variation",)
)
