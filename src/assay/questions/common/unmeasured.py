"""Questions that a run doesn't answer: one line that says so, and what there is instead."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import QUESTIONS, Answer

_MISSING = {
    "steadiness": "Not measured in this run: it takes runs spread over time.",
    "placement": "Not measured in this run: it takes the same work placed in several ways.",
}


def unmeasured(question: str) -> Answer:
    """The answer that there is none, where a run holds nothing that comes near one."""
    return unmeasured_answer(question, _MISSING[question])


def unmeasured_answer(question: str, verdict: str, caveats: Sequence[str] = ()) -> Answer:
    """An answer whose verdict says that there is none; ``caveats``: what failed."""
    return Answer(
        question=question,
        title=QUESTIONS[question],
        status="unmeasured",
        verdict=verdict,
        confidence=None,
        confidence_why="",
        caveats=list(caveats),
    )
