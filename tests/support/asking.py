"""Answers of a report's questions on a run, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts.figure import Figure
from assay.questions import ask_all, questions
from assay.questions.common.answer import Answer
from assay.questions.common.question import Measured, Reply, ask
from assay.records.model import RunData
from assay.stats.core.model import CellSummary


def reply_to(
    question: str, cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()
) -> Reply:
    """The answer of a single question."""
    (asked,) = (one for one in questions() if one.name == question)
    return ask(asked, Measured(run, cells, history))


def answer_all(
    run: RunData, cells: Sequence[CellSummary], history: Sequence[RunData] = ()
) -> list[Answer]:
    """The answers of all questions, in the report's order."""
    return [reply.answer for reply in ask_all(Measured(run, cells, history))]


def figures_of(
    question: str, cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()
) -> list[Figure]:
    """The figures of one question, whether or not the question is answered."""
    reply = reply_to(question, cells, run, history)
    return list(reply.question.figures(reply.findings))
