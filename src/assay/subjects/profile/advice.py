"""Advice on a program: what removes doubts first, then what would save most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.questions.common.answer import Evidence
from assay.subjects.profile.doubts import Doubts, ProgramStatement

# Shares of the run time below which a change isn't advised.
_LEAST = 0.01


@dataclass(frozen=True)
class PossibleGain:
    """``share`` of the run time that a change would save at most, and the ``sentence`` on it."""

    share: float
    sentence: str
    #: What the sentence says.
    statements: tuple[ProgramStatement, ...]


def advice_of(doubts: Doubts, gains: Sequence[PossibleGain]) -> list[str]:
    """The remedies of the doubts, then the changes by their gain, without what a doubt touches."""
    sure = [
        one for one in gains if one.share >= _LEAST and not any(map(doubts.about, one.statements))
    ]
    sure.sort(key=lambda one: -one.share)
    return [*doubts.remedies, *(one.sentence for one in sure)]


def sure_evidence(
    doubts: Doubts, rows: Sequence[tuple[ProgramStatement | None, Evidence]]
) -> list[Evidence]:
    """The evidence that no doubt touches. None: what is measured, whatever the doubt."""
    return [row for statement, row in rows if statement is None or not doubts.about(statement)]
