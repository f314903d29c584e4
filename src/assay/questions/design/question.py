"""What should I build next? A run alone does not answer it, and the report says what it takes."""

from __future__ import annotations

from dataclasses import dataclass

from assay.questions.common.answer import QUESTIONS, Answer
from assay.questions.common.question import Measured, Question
from assay.questions.common.unmeasured import unmeasured_answer


@dataclass(frozen=True)
class DesignFindings:
    """A run holds no workload and no prices to design by: nothing is found."""


def find(_: Measured) -> DesignFindings:
    """Nothing: see the class."""
    return DesignFindings()


def answer(_: DesignFindings) -> Answer:
    """One line on what it takes."""
    return unmeasured_answer(
        "design", "Not asked: it takes a workload and prices besides measurements."
    )


QUESTION = Question(name="design", title=QUESTIONS["design"], find=find, answer=answer)
