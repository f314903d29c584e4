"""Finds the terms of a text, in the order of their first occurrence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

_LIST = Path(__file__).parent / "terms.toml"
# Letters and what belongs to a term's first word, such as warm-up, n½ and 99th.
_WORD = re.compile(r"[^\W_][\w½]*(?:-\w+)*")


class ReportTerm(msgspec.Struct, frozen=True):
    """A term of the list."""

    name: str
    forms: list[str]
    text: str
    #: Whether case matters.
    exact: bool = False

    @property
    def anchor(self) -> str:
        """Its place on a page, after ``term-``, and in docs/terms.md."""
        plain = self.name.lower().replace("½", "-half").replace("%", "")
        return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


class TermOccurrence(NamedTuple):
    """An occurrence of a term in a text."""

    term: ReportTerm
    start: int
    stop: int


class _List(msgspec.Struct):
    term: list[ReportTerm]


@lru_cache(maxsize=1)
def terms() -> list[ReportTerm]:
    """All terms."""
    return msgspec.toml.decode(_LIST.read_bytes(), type=_List).term


@lru_cache(maxsize=1)
def _by_word() -> Mapping[str, list[tuple[str, ReportTerm]]]:
    """The forms of all terms by their first word in lower case, the longest forms first."""
    found: dict[str, list[tuple[str, ReportTerm]]] = {}
    for term in terms():
        for form in term.forms:
            word = _WORD.match(form)
            assert word is not None
            found.setdefault(word[0].lower(), []).append((form, term))
    for forms in found.values():
        forms.sort(key=lambda pair: -len(pair[0]))
    return found


class TermFinder:
    """Finds each term once, over all texts that it is given."""

    def __init__(self) -> None:
        self.found: list[ReportTerm] = []
        self._texts: set[str] = set()

    def first(self, text: str) -> list[TermOccurrence]:
        """The terms that occur here for the first time."""
        if text in self._texts:
            return []
        self._texts.add(text)
        found = []
        by_word = _by_word()
        stop = 0
        for word in _WORD.finditer(text):
            forms = by_word.get(word[0].lower())
            if forms is None or word.start() < stop:
                continue
            one = _occurrence(text, word.start(), forms)
            if one is not None:
                stop = one.stop
                if one.term not in self.found:
                    self.found.append(one.term)
                    found.append(one)
        return found


def _occurrence(
    text: str, start: int, forms: list[tuple[str, ReportTerm]]
) -> TermOccurrence | None:
    for form, term in forms:
        stop = start + len(form)
        here = text[start:stop]
        if here != form and (term.exact or here.lower() != form.lower()):
            continue
        if stop < len(text) and (text[stop].isalnum() or text[stop] in "_½-"):
            continue
        if start and text[start - 1] in "-_./":  # a part of a name, such as memory.stream
            continue
        return TermOccurrence(term, start, stop)
    return None


def terms_in(text: str) -> list[ReportTerm]:
    """The terms of a text, in the order of their first occurrence."""
    finder = TermFinder()
    finder.first(text)
    return finder.found
