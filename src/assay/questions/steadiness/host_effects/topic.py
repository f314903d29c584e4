"""Topic: hosts that slow the sets they are part of.

The question passes its findings of variation; ``find_alone`` computes them first.
"""

from __future__ import annotations

from assay.questions.common.question import Measured, Topic
from assay.questions.steadiness.host_effects.answer import part
from assay.questions.steadiness.host_effects.findings import HostEffectFindings, find
from assay.questions.steadiness.variation.findings import find as find_variation


def find_alone(measured: Measured) -> HostEffectFindings | None:
    """Find the host effects, and the variation first."""
    return find(find_variation(measured).repeats)


TOPIC = Topic(name="host effects", find=find_alone, part=part)
