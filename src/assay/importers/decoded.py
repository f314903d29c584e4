"""The parts of a decoded JSON or XML document: values and elements, each with its line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

DEEPEST = 200  # levels of nested objects and lists


@dataclass(frozen=True)
class Document:
    """A decoded document. JSON: dicts, lists, ``Text`` for strings, ``FoundValue`` for finite
    numbers, ``Unusable`` for others, bool and None. XML: ``Element``.
    """

    value: object
    kind: str
    line: int
    #: Omitted parts: the line of each, and a sentence about it.
    problems: Sequence[tuple[int, str]] = ()


@dataclass(frozen=True)
class Unusable:
    """A value that is not a finite number: NaN, Infinity, or a number out of range."""

    printed: str
    line: int


class Text(str):
    """A string of a JSON document with its line."""

    line: int = 0


@dataclass
class Element:
    """An XML element: name, line, own text, child elements, attributes."""

    name: str
    line: int
    text: str = ""
    elements: list[Element] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)

    def first(self, name: str) -> Element | None:
        """The first child element with that name."""
        return next((element for element in self.elements if element.name == name), None)

    def all(self, name: str) -> Iterator[Element]:
        """The child elements with that name."""
        return (element for element in self.elements if element.name == name)

    def said(self, name: str) -> str:
        """The text of the first child element with that name; "" if there is none."""
        found = self.first(name)
        return found.text.strip() if found else ""
