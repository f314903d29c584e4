"""Answers to questions that a run can't answer: the verdict says what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import QUESTIONS, Answer


def unmeasured_answer(question: str, verdict: str, caveats: Sequence[str] = ()) -> Answer:
    """An answer with the status unmeasured and this verdict; ``caveats`` say what failed."""
    return Answer(
        question=question,
        title=QUESTIONS[question],
        status="unmeasured",
        verdict=verdict,
        confidence=None,
        confidence_why="",
        caveats=list(caveats),
    )
