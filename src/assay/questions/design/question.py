"""The question "What should I build next?": the answer says what a run lacks to answer it."""

from __future__ import annotations

from dataclasses import dataclass

from assay.questions.common.answer import QUESTIONS, Answer, unmeasured_answer
from assay.questions.common.question import Measured, Question


@dataclass(frozen=True)
class DesignFindings:
    """Empty, because a run has neither a workload nor prices."""


def find(_: Measured) -> DesignFindings:
    """Empty findings."""
    return DesignFindings()


def answer(_: DesignFindings) -> Answer:
    """One sentence on what is missing."""
    return unmeasured_answer(
        "design",
        "Not answered: a design also needs a workload and prices (see `assay design --example`).",
    )


QUESTION = Question(name="design", title=QUESTIONS["design"], find=find, answer=answer)
