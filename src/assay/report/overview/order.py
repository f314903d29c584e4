"""Puts the asked question first, and names unmeasured questions with their commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from assay.questions import questions
from assay.records.model import RunData
from assay.report.model import ReportModel, Section

# Commands that answer questions that a run did not measure.
COMMANDS = {
    "speed": "assay run quick",
    "network": "assay run network",
    "steadiness": "assay run steadiness",
    "placement": "assay run placement",
    "design": "assay design --example",
}


class OpenQuestion(msgspec.Struct, frozen=True):
    """A question without an answer."""

    title: str
    #: Command that measures what the answer needs.
    command: str
    #: What is missing for an answer.
    why: str


def asked_question(run: RunData, sections: Sequence[Section]) -> str:
    """The id of the question that the run was made for.

    A campaign over time asks how steady the machine is, and a search for placements how to use its
    nodes. Otherwise it is the question that the plan names, or the question of the plan's first
    kernel. If another question reports this kernel, it is that question: the question on speed
    reports a ping-pong with one size.
    """
    plan = run.manifest.plan
    if plan.replication.repeated or plan.replication.unbroken:
        return "steadiness"
    if plan.search is not None:
        return "placement"
    if plan.question:
        return plan.question
    answered = [each.id for each in sections if each.status == "answered"]
    if "papers" in answered:
        return "papers"
    kernel = plan.cells[0].kernel if plan.cells else ""
    asks = (each.name for each in questions() if each.kernels and kernel.startswith(each.kernels))
    asked = next(asks, "speed")
    if asked in answered:
        return asked
    own = {cell.id for cell in plan.cells if cell.kernel == kernel}
    reported = (
        section.id
        for section in sections
        if section.status == "answered"
        and any(own.intersection(row.cells) for row in section.evidence)
    )
    return next(reported, asked)


def shown_sections(report: ReportModel) -> list[Section]:
    """The sections to show in full, in the report's order.

    An unmeasured question is shown in full only if it was asked or if something failed.
    """
    return [each for each in report.sections if not _folds(report, each)]


def asked_first(sections: Iterable[Section], asked: str) -> list[Section]:
    """The section whose question was asked, followed by the others in their order."""
    return sorted(sections, key=lambda each: each.id != asked)


def open_questions(report: ReportModel) -> list[OpenQuestion]:
    """The questions that were not measured, in the report's order."""
    return [
        OpenQuestion(each.title, COMMANDS[each.id], each.verdict)
        for each in report.sections
        if _folds(report, each)
    ]


def _folds(report: ReportModel, section: Section) -> bool:
    if section.id not in COMMANDS or section.id == report.asked:
        return False
    return section.status == "unmeasured" and not section.caveats and not section.impossible
