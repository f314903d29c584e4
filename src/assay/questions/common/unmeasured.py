"""Answers to questions that a run can't answer: a verdict that says what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import QUESTIONS, Answer


def unmeasured_answer(question: str, verdict: str, caveats: Sequence[str] = ()) -> Answer:
    """An answer of status unmeasured, with its verdict; ``caveats``: what failed."""
    return Answer(
        question=question,
        title=QUESTIONS[question],
        status="unmeasured",
        verdict=verdict,
        confidence=None,
        confidence_why="",
        caveats=list(caveats),
    )
