"""Joins sentences that differ only in their numbers or their cells."""

from __future__ import annotations

import re
from collections.abc import Iterable

from assay.units import MINUS

# A number with its sign, decimals and exponent, not within a word (``eth0``, ``npb3``).
_NUMBER = re.compile(r"(?<![\w.])[±−-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w]*\d)")
_SUBJECT = re.compile(r"(.*[.!?]) \(([^()]+(?:\([^()]*\))?[^()]*)\)", re.DOTALL)
# Placeholder for the names of cells.
_COUNT = re.compile(r"(\d+) headline cells")
_MOST_SUBJECTS = 3


def grouped(sentences: Iterable[str]) -> list[str]:
    """The sentences. Sentences that differ only in numbers become one, with ranges of numbers.

    ``Known to ±2.1% …: the budget was spent. (EP class W)`` and the same sentence on CG
    become ``2 cells: known to ±1.7 to 2.1% …: the budget was spent. (EP class W, CG class A)``.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for sentence in sentences:
        match = _SUBJECT.fullmatch(sentence)
        text, subject = match.groups() if match else (sentence, "")
        key = _NUMBER.sub("\0", text) if match else text
        groups.setdefault(key, []).append((text, subject))
    return [_together(members) for members in groups.values()]


def merged_notes(notes: list[str]) -> tuple[list[str], list[int]]:
    """Notes with those that differ only in numbers joined, and the new index of each old note."""
    groups: dict[str, list[str]] = {}
    places = []
    for note in notes:
        key = _NUMBER.sub("\0", note)
        places.append(list(groups).index(key) if key in groups else len(groups))
        groups.setdefault(key, []).append(note)
    return [_ranges(members) for members in groups.values()], places


def _together(members: list[tuple[str, str]]) -> str:
    text = _ranges([text for text, _ in members])
    subjects = list(dict.fromkeys(subject for _, subject in members if subject))
    if not subjects:
        return text
    if len(subjects) == 1:
        return f"{text} ({subjects[0]})"
    counts = [match for each in subjects if (match := _COUNT.fullmatch(each))]
    names = [each for each in subjects if not _COUNT.fullmatch(each)]
    cells = len(names) + sum(int(match[1]) for match in counts)
    named = ", ".join(names[:_MOST_SUBJECTS])
    others = cells - min(len(names), _MOST_SUBJECTS)
    more = f" and {others} more" if named and others else ""
    which = f" ({named}{more})" if named else ""
    return f"{cells} cells: {text[0].lower()}{text[1:]}{which}"


def _ranges(texts: list[str]) -> str:
    """The first text, with every differing number replaced by the range over all texts."""
    if len(set(texts)) == 1:
        return texts[0]
    columns = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    shown = iter([_range(list(column)) for column in columns])
    return _NUMBER.sub(lambda _: next(shown), texts[0])


def _range(numbers: list[str]) -> str:
    low, high = min(numbers, key=_value), max(numbers, key=_value)
    if _value(low) == _value(high):
        return low
    return f"{low} to {high.lstrip('±')}"


def _value(number: str) -> float:
    return float(number.lstrip("±").replace(MINUS, "-"))
