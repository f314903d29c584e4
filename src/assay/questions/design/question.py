"""What should I build next? A run alone can't answer it; the answer says what is missing."""

from __future__ import annotations

from dataclasses import dataclass

from assay.questions.common.answer import QUESTIONS, Answer
from assay.questions.common.question import Measured, Question
from assay.questions.common.unmeasured import unmeasured_answer


@dataclass(frozen=True)
class DesignFindings:
    """Empty: a run holds neither a workload nor prices to design by."""


def find(_: Measured) -> DesignFindings:
    """Empty findings."""
    return DesignFindings()


def answer(_: DesignFindings) -> Answer:
    """One line on what is missing."""
    return unmeasured_answer(
        "design",
        "Not answered: it also needs a workload and prices. `assay design --example` shows how.",
    )


QUESTION = Question(name="design", title=QUESTIONS["design"], find=find, answer=answer)
