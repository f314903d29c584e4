"""What a board needs on one page: the verdict, what it rests on, what it costs, what to decide."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.questions.common.answer import Answer, Evidence
from assay.questions.common.selection import quantity_text
from assay.questions.common.tables import Tone
from assay.units import capitalised, format_share

# Maximum numbers in large type, and sentences of each list.
MOST_HEADLINES = 6
MOST_SENTENCES = 5
_NO_CONFIDENCE = "This report states no confidence as a whole; its tables have intervals."
_NO_COSTS = "This report states no costs."
_NOTHING_TO_DECIDE = "Nothing has to be decided: no recommendation follows."


class Headline(msgspec.Struct, frozen=True):
    """A number of a board."""

    title: str
    text: str
    #: What it is compared with, in a few words.
    note: str
    tone: Tone = ""


class Board(msgspec.Struct, frozen=True):
    """What a board decides on. All texts are sentences, except verdict and headlines."""

    #: The verdict in a few words, and its colour.
    verdict: str
    tone: Tone
    #: The verdict in one sentence.
    sentence: str
    headlines: list[Headline]
    #: What is to be decided, and how sure the verdict is.
    decide: list[str]
    sure: list[str]
    #: ``what``, ``does``, ``costs``: what it is, what it does, and what it costs.
    what: list[str] = []
    does: list[str] = []
    costs: list[str] = []


def answer_board(
    answer: Answer,
    verdict: str,
    *,
    tone: Tone = "",
    sentence: str = "",
    headlines: Sequence[Headline] | None = None,
    what: Sequence[str] = (),
    does: Sequence[str] = (),
    costs: Sequence[str] = (),
) -> Board:
    """The board of a report with one answer.

    ``verdict``: in a few words. ``sentence``: replaces the answer's verdict. ``headlines`` replace
    the evidence.
    """
    return Board(
        verdict=verdict,
        tone=tone,
        sentence=sentence or answer.verdict,
        headlines=list(evidence_headlines(answer.evidence) if headlines is None else headlines),
        decide=decisions([answer]),
        sure=certainty([answer]) or [_NO_CONFIDENCE],
        what=list(what),
        does=list(does),
        costs=list(costs) or [_NO_COSTS],
    )


def evidence_headlines(evidence: Sequence[Evidence], most: int = MOST_HEADLINES) -> list[Headline]:
    """The first quantities, each with its interval and its share of its limit."""
    return [
        Headline(
            row.label,
            format_share(row.value, row.ci95)
            if row.unit == "1"
            else quantity_text(row.value, row.unit, row.ci95),
            _of_limit(row) or row.note,
        )
        for row in evidence[:most]
    ]


def _of_limit(row: Evidence) -> str:
    if row.share is None or row.limit is None:
        return ""
    limit = quantity_text(row.limit, row.unit)
    return f"{format_share(row.share)} of {limit}" + (
        f", {row.limit_source}" if row.limit_source else ""
    )


def decisions(answers: Sequence[Answer]) -> list[str]:
    """What readers must know first, and then the recommendations, the first of each answer first.

    Every sentence occurs once. A sentence says so if there is nothing to decide.
    """
    first = [each.sentence for answer in answers for each in answer.impossible]
    first += [sentence for answer in answers for sentence in answer.urgent]
    advice = [answer.advice[:1] for answer in answers] + [answer.advice[1:] for answer in answers]
    found = [*first, *(sentence for some in advice for sentence in some)]
    return list(dict.fromkeys(found)) or [_NOTHING_TO_DECIDE]


def certainty(answers: Sequence[Answer]) -> list[str]:
    """The confidence of each answer or of its parts with the first reason, then the caveats."""
    sentences = []
    several = len(answers) > 1
    for answer in answers:
        title = f"{answer.title} " if several else ""
        for part in answer.confidences:
            if part.confidence is None:
                continue
            sentences.append(
                f"{title}{capitalised(part.confidence)} confidence in the {part.part}: "
                f"{first_reason(part.why)}"
            )
        if answer.confidence is not None and not answer.confidences:
            why = answer.confidence_why
            reason = f": {first_reason(why)}" if why else "."
            sentences.append(f"{title}{capitalised(answer.confidence)} confidence{reason}")
    caveats = [caveat for answer in answers for caveat in answer.caveats]
    return list(dict.fromkeys([*sentences, *caveats]))


def first_reason(why: str) -> str:
    """The first reason for a confidence: up to its first semicolon or full stop."""
    reason = why.partition("; ")[0].partition(". ")[0]
    return reason if reason.endswith(".") else f"{reason}."
