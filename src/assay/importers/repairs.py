"""JSON as real tools write it: read where the meaning is unambiguous, with the line of each value.

This is RFC 8259 with the common errors of writers: extra or missing commas, duplicate keys, control
characters and invalid escapes in strings, numbers with leading zeros or signs, and ``-nan``,
``inf`` or nothing in place of a number. A value that is not a finite number is ``Unusable``. If a
key occurs twice with different values, neither is used: the value is None, and a sentence names the
key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from assay.importers.decoded import DEEPEST, Text, Unusable
from assay.importers.numbers import number

_TOKEN = re.compile(
    r'(?P<blank>[ \t\r\f\v]+)|(?P<row>\n)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<mark>[{}\[\],:])'
    r'|(?P<word>[^\s{}\[\],:"]+)',
    re.DOTALL,
)
_WORDS = {"true": True, "false": False, "null": None}
# Unambiguous numbers that JSON forbids; other words are not numbers.
_LENIENT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_MOST_PROBLEMS = 100

_Token = tuple[str, str, int]


class Irreparable(ValueError):
    """A text whose structure is lost. ``line``: the line where this becomes evident."""

    def __init__(self, line: int) -> None:
        super().__init__("The JSON document is damaged here.")
        self.line = line


class LenientReader:
    """Reads one document. ``problems``: omitted parts, as lines and sentences."""

    def __init__(self, text: str, lines: Sequence[int]) -> None:
        """``lines``: the line numbers in the file, one for each line of the text."""
        self.problems: list[tuple[int, str]] = []
        self._tokens = _tokens(text, lines)
        self._place = 0
        self._depth = 0

    def read(self) -> object:
        """The document. Raises Irreparable."""
        value = self._value()
        if self._kind() != "end":
            raise Irreparable(self._line())
        return value

    def _value(self) -> object:
        kind, text, line = self._tokens[self._place]
        if kind == "string":
            self._place += 1
            return _string(text, line)
        if kind == "word":
            self._place += 1
            return _word(text, line)
        if text in ("{", "["):
            self._depth += 1
            if self._depth > DEEPEST:
                raise Irreparable(line)
            self._place += 1
            value = self._object() if text == "{" else self._array()
            self._depth -= 1
            return value
        if text in (",", "}", "]"):  # nothing in place of a value
            return Unusable("", line)
        raise Irreparable(line)

    def _object(self) -> dict[str, object]:
        found: dict[str, object] = {}
        twice: set[str] = set()
        while (text := self._text()) != "}":
            if text == ",":
                self._place += 1
                continue
            if self._kind() != "string":
                raise Irreparable(self._line())
            line = self._line()
            key = str(_string(text, line))
            self._place += 1
            if self._text() != ":":
                raise Irreparable(self._line())
            self._place += 1
            value = self._value()
            if key not in found:
                found[key] = value
            elif not same(found[key], value):
                twice.add(key)
                self._report(line, f"'{key}' occurs twice with different values; it is left out.")
        self._place += 1
        return {key: None if key in twice else value for key, value in found.items()}

    def _array(self) -> list[object]:
        found: list[object] = []
        while (text := self._text()) != "]":
            if text == ",":
                self._place += 1
            elif text == "}":
                raise Irreparable(self._line())
            else:
                found.append(self._value())
        self._place += 1
        return found

    def _kind(self) -> str:
        return self._tokens[self._place][0]

    def _text(self) -> str:
        kind, text, line = self._tokens[self._place]
        if kind == "end":
            raise Irreparable(line)
        return text if kind != "string" or text[0] == '"' else ""

    def _line(self) -> int:
        return self._tokens[self._place][2]

    def _report(self, line: int, what: str) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append((line, what))


def same(one: object, other: object) -> bool:
    """Whether two decoded values are equal, regardless of their places."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) is not type(other):
        return False
    if isinstance(one, Unusable) and isinstance(other, Unusable):
        return one.printed == other.printed
    return getattr(one, "value", one) == getattr(other, "value", other)


def _tokens(text: str, lines: Sequence[int]) -> list[_Token]:
    found: list[_Token] = []
    row = place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:  # an unterminated string
            raise Irreparable(lines[row])
        kind = str(match.lastgroup)
        if kind == "row":
            row += 1
        elif kind != "blank":
            found.append((kind, match[0], lines[row]))
            row += match[0].count("\n")
        place = match.end()
    return [*found, ("end", "", lines[min(row, len(lines) - 1)])]


def _string(text: str, line: int) -> Text:
    try:
        value = Text(json.loads(text, strict=False))
    except ValueError:  # an invalid escape stands for itself
        value = Text(text[1:-1])
    value.line = line
    return value


def _word(text: str, line: int) -> object:
    if text in _WORDS:
        return _WORDS[text]
    printed = text if _LENIENT.fullmatch(text) else ""
    return (number(printed, line) if printed else None) or Unusable(text, line)
