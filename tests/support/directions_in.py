"""Words of direction in answers; the words are data (``tests/data/language/directions.toml``)."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.questions.common.answer import Answer

_DATA = Path(__file__).parents[1] / "data" / "language" / "directions.toml"


@dataclass(frozen=True)
class DirectionWord:
    """A word of direction: its pattern, an example, and contexts in which it states none."""

    pattern: re.Pattern[str]
    example: str
    excepted: tuple[re.Pattern[str], ...]

    def matches(self, text: str) -> Iterator[str]:
        """The words in ``text``, except those within an exception."""
        fine = [found.span() for each in self.excepted for found in each.finditer(text)]
        for found in self.pattern.finditer(text):
            if not any(low <= found.start() and found.end() <= high for low, high in fine):
                yield found[0]


@functools.cache
def direction_words() -> tuple[DirectionWord, ...]:
    """All words of direction."""
    return tuple(
        DirectionWord(
            re.compile(each["pattern"], re.IGNORECASE),
            each["example"],
            tuple(re.compile(one, re.IGNORECASE) for one in each.get("except", ())),
        )
        for each in tomllib.loads(_DATA.read_text("utf-8"))["word"]
    )


def directions_in(*sentences: str) -> list[str]:
    """Each word of direction in these sentences, with its sentence."""
    return [
        f"[{found}] {sentence}"
        for sentence in sentences
        for word in direction_words()
        for found in word.matches(sentence)
    ]


def directions_of(answer: Answer, *, without: Iterable[str] = ()) -> list[str]:
    """The words of direction in an answer's statements about results.

    Searched are the verdict, the notes of the evidence, the advice, the limits, the caveats and
    the urgent sentences; not the methods, which are the same for every result. ``without``:
    sentences that the caller knows to be general.
    """
    said = [
        answer.verdict,
        *(row.note for row in answer.evidence),
        *answer.advice,
        *answer.limits,
        *answer.caveats,
        *answer.urgent,
    ]
    general = set(without)
    return directions_in(*(sentence for sentence in said if sentence not in general))
