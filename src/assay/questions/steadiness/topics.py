"""The topics of steadiness, in the report's order."""

from __future__ import annotations

from typing import Any

from assay.questions.common.question import Topic
from assay.questions.steadiness.arrivals.topic import TOPIC as ARRIVALS
from assay.questions.steadiness.causes.topic import TOPIC as CAUSES
from assay.questions.steadiness.factors.topic import TOPIC as FACTORS
from assay.questions.steadiness.findings import SteadinessFindings
from assay.questions.steadiness.host_effects.topic import TOPIC as HOST_EFFECTS
from assay.questions.steadiness.noise.topic import TOPIC as NOISE
from assay.questions.steadiness.variation.topic import TOPIC as VARIATION


def topics_of(found: SteadinessFindings) -> list[tuple[Topic[Any], object]]:
    """Each topic with findings, and its findings."""
    topics: list[tuple[Topic[Any], object]] = [
        (VARIATION, found.variation),
        (FACTORS, found.factors),
        (HOST_EFFECTS, found.host_effects),
        (CAUSES, found.causes),
        (NOISE, found.noise),
        (ARRIVALS, found.arrivals),
    ]
    return [(topic, one) for topic, one in topics if one is not None]
