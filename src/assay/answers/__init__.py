"""Answers: records become findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.answers.model import Answer
    from assay.records.model import RunData
    from assay.stats.model import CellSummary


def answer_all(
    run: RunData, cells: Sequence[CellSummary], history: Sequence[RunData] = ()
) -> list[Answer]:
    """The five questions in their order; what a run can't answer is one honest line."""
    from assay.answers.model import QUESTIONS
    from assay.answers.network import answer_network
    from assay.answers.speed import answer_speed
    from assay.answers.unmeasured import unmeasured

    answers = {"speed": answer_speed, "network": answer_network}
    return [
        answers[question](cells, run, history)
        if question in answers
        else unmeasured(question, cells)
        for question in QUESTIONS
    ]
