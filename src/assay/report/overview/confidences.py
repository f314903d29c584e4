"""The confidence of an answer in words, or of each of its parts."""

from __future__ import annotations

from dataclasses import dataclass

from assay.questions.common.answer import Confidence
from assay.report.model import Section


@dataclass(frozen=True)
class ConfidenceLine:
    """A line of the report on confidence."""

    #: None if a part isn't answered.
    confidence: Confidence | None
    #: Such as "high confidence", "low confidence in the what-ifs", "what-ifs not answered".
    heading: str
    #: Reasons.
    why: str


def confidence_lines(section: Section) -> list[ConfidenceLine]:
    """The lines on a section's confidence: one, or one per part; empty if nothing was measured."""
    if section.confidences:
        return [
            ConfidenceLine(
                each.confidence,
                f"{each.confidence} confidence in the {each.part}"
                if each.confidence
                else f"{each.part} not answered",
                each.why,
            )
            for each in section.confidences
        ]
    if section.confidence is None:
        return []
    return [
        ConfidenceLine(
            section.confidence, f"{section.confidence} confidence", section.confidence_why
        )
    ]
