"""Advice on a program: first what removes doubts, then what would save most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.questions.common.answer import Evidence
from assay.subjects.profile.doubts import Doubts, ProgramStatement

# Minimum share of the run time for which a change is advised.
_LEAST = 0.01


@dataclass(frozen=True)
class PossibleGain:
    """Maximum ``share`` of the run time that a change would save, and the ``sentence`` on it."""

    share: float
    sentence: str
    #: The statements that the sentence makes.
    statements: tuple[ProgramStatement, ...]


def advice_of(doubts: Doubts, gains: Sequence[PossibleGain]) -> list[str]:
    """The remedies of the doubts, then the changes that no doubt touches, by their gain."""
    sure = [
        one for one in gains if one.share >= _LEAST and not any(map(doubts.about, one.statements))
    ]
    sure.sort(key=lambda one: -one.share)
    return [*doubts.remedies, *(one.sentence for one in sure)]


def sure_evidence(
    doubts: Doubts, rows: Sequence[tuple[ProgramStatement | None, Evidence]]
) -> list[Evidence]:
    """The evidence that no doubt touches. Rows with None are measured, so no doubt touches them."""
    return [row for statement, row in rows if statement is None or not doubts.about(statement)]
