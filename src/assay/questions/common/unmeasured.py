"""Answers to questions that a run can't answer: a verdict that says what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import QUESTIONS, Answer

_MISSING = {
    "steadiness": "Not measured in this run: it needs runs spread over time.",
    "placement": "Not measured in this run: it needs the same work at several placements.",
}


def unmeasured(question: str) -> Answer:
    """The answer to a question for which a run holds no measurement."""
    return unmeasured_answer(question, _MISSING[question])


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
