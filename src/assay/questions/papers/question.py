"""What did the paper find, and what is it here? Only for runs of suites that repeat a paper."""

from __future__ import annotations

from assay.questions.common.answer import QUESTIONS
from assay.questions.common.question import Measured, Question
from assay.questions.papers.answer import NAME, answer
from assay.questions.papers.figures import figures
from assay.questions.papers.findings import find
from assay.questions.papers.loading import paper_suites
from assay.questions.papers.tables import tables


def asked(measured: Measured) -> bool:
    """Whether the run's suite repeats a paper."""
    return measured.run.manifest.plan.name in paper_suites()


QUESTION = Question(
    name=NAME,
    title=QUESTIONS[NAME],
    find=find,
    answer=answer,
    figures=figures,
    tables=tables,
    asked=asked,
)
