"""Topic: causes of variation."""

from __future__ import annotations

from assay.questions.common.question import Measured, Topic
from assay.questions.steadiness.causes.answer import part
from assay.questions.steadiness.causes.figures import figures
from assay.questions.steadiness.causes.findings import CauseFindings, find
from assay.questions.steadiness.causes.tables import tables
from assay.questions.steadiness.noise.findings import NoiseFindings
from assay.questions.steadiness.variation.findings import VariationFindings


def _find(
    measured: Measured, variation: VariationFindings, noise: NoiseFindings | None
) -> CauseFindings | None:
    return find(variation.repeats, measured.run, noise)


TOPIC = Topic(
    name="causes",
    find=_find,
    part=part,
    figures=figures,
    tables=tables,
    after=("variation", "noise"),
)
