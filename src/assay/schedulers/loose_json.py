"""JSON as schedulers write it: parsed strictly if valid, else as far as its meaning is clear.

PBS decides by strtod(3) whether a value is a number, and prints ``005123``, ``.5`` and ``0x1F``
without quotes; it also prints the backslashes with which it stores commas and quotes (``\\,``). LSF
prints job names and reasons unchanged, with quotes, backslashes and line ends. A truncated answer
is not read, because it may lack jobs.
"""

from __future__ import annotations

import json
import re
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
# A value without quotes extends to the end of its line or its group.
_BARE = re.compile(r"[^,\]}\r\n]*")
# A quote ends a text if it is followed by something that may follow a text; otherwise it is part of
# the text.
_AFTER_KEY = re.compile(r"\s*:")
_AFTER_VALUE = re.compile(r'\s*(?:[\]}]|,\s*(?:["\[{\]}]|-?\d|true|false|null)|"[^"\n]*"\s*:|$)')
_ESCAPES = {**dict(zip("bfnrt", "\b\f\n\r\t", strict=True)), '"': '"', "\\": "\\", "/": "/"}
# Maximum nesting of groups, more than any scheduler prints.
_DEEPEST = 100


def read_json(text: str) -> Any:  # noqa: ANN401
    """The value of a JSON text. Raises ValueError if it has none even under the loose rules.

    Groups with the same name are joined; for other values with the same name, the last one counts.
    A number that JSON does not allow is kept as text, as written.
    """
    try:
        return json.loads(text, strict=False, object_pairs_hook=_joined)
    except RecursionError:
        raise ValueError("its groups are nested too deeply") from None
    except ValueError:
        return _Reader(text).read()


def _joined(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        known = found.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            value = {**known, **value}
        found[name] = value
    return found


class _Reader:
    """Reads a text from its first brace on; output of the site before it is skipped."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = text.find("{")

    def read(self) -> Any:  # noqa: ANN401
        if self._place < 0:
            raise ValueError("it contains no group")
        return self._group(0)

    def _next(self) -> str:
        """The next character that isn't white space; empty at the end."""
        match = _SPACE.match(self._text, self._place)
        assert match is not None
        self._place = match.end()
        return self._text[self._place : self._place + 1]

    def _value(self, depth: int) -> Any:  # noqa: ANN401
        if depth > _DEEPEST:
            raise ValueError("its groups are nested too deeply")
        first = self._next()
        if first == "{":
            return self._group(depth)
        if first == "[":
            return self._list(depth)
        if first == '"':
            return self._string(_AFTER_VALUE)
        return self._bare()

    def _group(self, depth: int) -> dict[str, Any]:
        self._place += 1
        pairs: list[tuple[str, Any]] = []
        while (first := self._next()) != "}":
            if first == ",":
                self._place += 1
                continue
            if first != '"':
                what = "no name where one must be" if first else "it is truncated"
                raise ValueError(f"{what} (line {self._line()})")
            name = self._string(_AFTER_KEY)
            if self._next() != ":":
                raise ValueError(f"no value where one must be (line {self._line()})")
            self._place += 1
            pairs.append((name, self._value(depth + 1)))
        self._place += 1
        return _joined(pairs)

    def _list(self, depth: int) -> list[Any]:
        self._place += 1
        values: list[Any] = []
        while (first := self._next()) != "]":
            if first == ",":
                self._place += 1
            elif first in ("}", ""):
                raise ValueError(f"a list without an end (line {self._line()})")
            else:
                values.append(self._value(depth + 1))
        self._place += 1
        return values

    def _bare(self) -> Any:  # noqa: ANN401
        match = _BARE.match(self._text, self._place)
        assert match is not None
        self._place = match.end()
        word = match[0].strip()
        if not word:
            raise ValueError(f"no value where one must be (line {self._line()})")
        try:
            return json.loads(word)
        except ValueError:
            return word

    def _string(self, after: re.Pattern[str]) -> str:
        text, place = self._text, self._place + 1
        letters: list[str] = []
        while place < len(text):
            letter = text[place]
            if letter == '"' and after.match(text, place + 1):
                self._place = place + 1
                return "".join(letters)
            if letter == "\\":
                letter, place = self._escaped(place)
            letters.append(letter)
            place += 1
        raise ValueError(f"a text without an end (line {self._line()})")

    def _escaped(self, place: int) -> tuple[str, int]:
        """The character of an escape, and the position of its end; others mean themselves."""
        code = self._text[place + 1 : place + 2]
        number = self._text[place + 2 : place + 6]
        if code == "u" and re.fullmatch(r"[0-9A-Fa-f]{4}", number):
            return chr(int(number, 16)), place + 5
        if code in _ESCAPES:
            return _ESCAPES[code], place + 1
        return "\\", place

    def _line(self) -> int:
        return self._text.count("\n", 0, self._place) + 1
