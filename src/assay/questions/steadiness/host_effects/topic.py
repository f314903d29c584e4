"""Which hosts slow the sets they are part of.

By itself it finds the variation first; the question hands over the one it has.
"""

from __future__ import annotations

from assay.questions.common.question import Measured, Topic
from assay.questions.steadiness.host_effects.answer import part
from assay.questions.steadiness.host_effects.findings import HostEffectFindings, find
from assay.questions.steadiness.variation.findings import find as find_variation


def find_alone(measured: Measured) -> HostEffectFindings | None:
    """The host effects in what was measured."""
    return find(find_variation(measured).repeats)


TOPIC = Topic(name="host effects", find=find_alone, part=part)
