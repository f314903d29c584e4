"""Topic: hosts that slow the sets that contain them."""

from __future__ import annotations

from assay.questions.common.question import Measured, Topic
from assay.questions.steadiness.host_effects.answer import part
from assay.questions.steadiness.host_effects.findings import HostEffectFindings, find
from assay.questions.steadiness.variation.findings import VariationFindings


def _find(_: Measured, variation: VariationFindings) -> HostEffectFindings | None:
    return find(variation.repeats)


TOPIC = Topic(name="host_effects", find=_find, part=part, after=("variation",))
