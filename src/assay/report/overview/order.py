"""The question that was asked first, and questions that were not measured, with their commands."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.records.model import RunData
from assay.report.model import ReportModel, Section

# The question of each shipped suite; the others ask how fast the machine is.
_OF_SUITES = {
    "network": "network",
    "ring": "network",
    "noise": "steadiness",
    "steadiness": "steadiness",
    "placement": "placement",
    "toolchains": "placement",
}
# The command that answers a question that a run did not measure.
COMMANDS = {
    "speed": "assay run quick",
    "network": "assay run network",
    "steadiness": "assay run steadiness",
    "placement": "assay run placement",
    "design": "assay design --example",
}


class OpenQuestion(msgspec.Struct, frozen=True):
    """A question without an answer. ``command``: measures it. ``why``: what was missing."""

    title: str
    command: str
    why: str


def asked_question(run: RunData, sections: Sequence[Section]) -> str:
    """The id of the question that the run was made for.

    A campaign over time asks how steady the machine is, a suite its own question, and a plan of the
    user's the first that it answers.
    """
    plan = run.manifest.plan
    if plan.replication.repeated or plan.replication.unbroken:
        return "steadiness"
    answered = next((each.id for each in sections if each.status == "answered"), "speed")
    if plan.search is not None:
        return "placement"
    return _OF_SUITES.get(plan.name, answered)


def shown_sections(report: ReportModel) -> list[Section]:
    """The sections to show in full, the question that was asked first.

    A question that was not measured is shown in full only if it was asked or if something failed.
    """
    shown = [each for each in report.sections if not _folds(report, each)]
    return sorted(shown, key=lambda each: each.id != report.asked)


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
