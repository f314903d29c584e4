"""The questions that a report answers, in its order. Each is a package and has a line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.questions.common.question import Measured, Question, Reply

NAMES = (
    "papers",
    "speed",
    "network",
    "steadiness",
    "placement",
    "design",
)


def questions() -> list[Question[Any]]:
    """Every question of a run's report, in order."""
    found: list[Question[Any]] = [
        import_module(f"assay.questions.{name}.question").QUESTION for name in NAMES
    ]
    return found


def ask_all(measured: Measured) -> list[Reply[Any]]:
    """The replies to the questions that the run is asked, in the report's order.

    Questions with ``answers_from`` are asked first: once they are answered, the others omit these
    kernels, so that each cell is reported once.
    """
    from dataclasses import replace

    from assay.questions.common.question import ask

    asked = [question for question in questions() if question.asked(measured)]
    replies = {}
    elsewhere: tuple[str, ...] = ()
    for question in sorted(asked, key=lambda question: not question.answers_from):
        reply = ask(question, replace(measured, elsewhere=elsewhere))
        if reply.answer.status == "answered":
            elsewhere += question.answers_from
        replies[question.name] = reply
    return [replies[question.name] for question in asked]
