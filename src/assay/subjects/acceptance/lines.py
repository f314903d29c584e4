"""One line per promise that is not kept, or not decided."""

from __future__ import annotations

from assay.questions.common.lines import EVERYWHERE, ReportLine
from assay.subjects.acceptance.model import (
    AcceptanceFindings,
    JudgedCommitment,
    JudgedScore,
    Promised,
)


def lines(found: AcceptanceFindings) -> list[ReportLine]:
    """Rejected promises first."""
    return [
        _line(each)
        for outcome in ("rejected", "undecided")
        for each in found.promises
        if each.outcome == outcome
    ]


def _line(each: Promised) -> ReportLine:
    name = "score" if isinstance(each, JudgedScore) else each.name
    change = None
    if isinstance(each, JudgedCommitment) and each.shortfall is not None:
        change = -each.shortfall
    text = " ".join(part for part in (f"{each.outcome}:", each.reason, each.remedy) if part)
    return ReportLine(EVERYWHERE, name, text, change)
