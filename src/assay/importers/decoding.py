"""JSON and XML documents within text, decoded with the line of each value.

A document of up to ``LARGEST`` bytes is held in memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from xml.parsers import expat

from assay.importers.decoded import DEEPEST, Document, Element, Text, Unusable
from assay.importers.model import FoundValue, Line
from assay.importers.numbers import number
from assay.importers.repairs import Irreparable, LenientReader

# Maximum bytes of a document. Decoded, it takes about ten times as much memory.
LARGEST = 64 << 20

_START = re.compile(r'\{\s*(?:"|\}|$)|\[\s*(?:\{|$)|<\?xml\b|<PhoronixTestSuite>|<clpeak[ >]')
_END_OF_XML = re.compile(r"</(?:PhoronixTestSuite|clpeak)>")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]"]')
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|NaN|-?Infinity|\n')


def _blanks(text: str) -> int:
    return len(text) - len(text.lstrip(" \t"))


def starts_document(text: str) -> bool:
    """Whether a line looks like the beginning of a document."""
    text = text.lstrip(" \t")
    return bool(text) and text[0] in "{[<" and _START.match(text) is not None


class DocumentText:
    """Collects a document line by line. ``rest``: text after it on its last line."""

    def __init__(self) -> None:
        self.first = 0
        self.kind = ""
        self.whole = False
        self.rest = ""
        self._margin = 0  # blanks before it
        self._indented: bool | None = None  # None: there is no second line yet
        self._last = ""  # bracket, mark or other character that the text ends with
        self._lines: list[str] = []
        self._numbers: list[int] = []
        self._depth = 0
        self._size = 0

    def add(self, line: Line) -> str | None:
        """Add a line. Returns a sentence if this can't be a document, else None."""
        text = line.text
        if not self._lines:
            self.first = line.number
            self.kind = "XML document" if text.lstrip().startswith("<") else "JSON document"
            self._margin = _blanks(text)
        elif self._indented is None and text.strip():
            self._indented = _blanks(text) > self._margin
        self._size += len(text)
        if self._size > LARGEST:
            return f"This {self.kind} is larger than {LARGEST >> 20} MiB."
        if self.kind == "XML document":
            end = _END_OF_XML.search(text)
            self.whole = end is not None
            if end is not None:
                text, self.rest = text[: end.end()], text[end.end() :]
        else:
            for bracket in _BRACKETS.finditer(text):
                if bracket[0] == '"':
                    return f"The {self.kind} that begins here has an unterminated string."
                if bracket[0] in "{[":
                    self._depth += 1
                elif bracket[0] in "}]":
                    self._depth -= 1
                if self._depth > DEEPEST:
                    return f"The {self.kind} that begins here is nested too deeply."
                if self._depth == 0:
                    text, self.rest = text[: bracket.end()], text[bracket.end() :]
                    self.whole = True
                    break
            self._last = text.rstrip()[-1:] or self._last
        self._lines.append(text)
        self._numbers.append(line.number)
        return None

    def is_cut_by(self, text: str) -> bool:
        """Whether a line begins another document, so that this one is truncated.

        An object or list may begin wherever a value may: after a bracket, a colon or a comma. In an
        indented document, none begins at the start of a line.
        """
        begins = text.lstrip(" \t")
        if self.kind == "XML document" or begins.startswith("<"):
            inside_xml = self.kind == "XML document"
            return begins.startswith("<?xml") or begins.startswith("<") != inside_xml
        if self._last not in ("[", "{", ":", ","):
            return True
        return bool(self._indented) and _blanks(text) <= self._margin

    def decode(self) -> Document | tuple[int, str]:
        """The document, or if it is damaged, the line and a sentence."""
        return self._decode_xml() if self.kind == "XML document" else self._decode_json()

    def _decode_json(self) -> Document | tuple[int, str]:
        text = "\n".join(self._lines)
        numbers = _Places(text, self._numbers, strings=False)
        strings = _Places(text, self._numbers, strings=True)
        try:
            # The decoder parses numbers in the order of the text.
            value = json.loads(
                text,
                parse_int=numbers.number,
                parse_float=numbers.number,
                parse_constant=numbers.number,
                object_pairs_hook=_unique,
            )
        except ValueError:
            return self._decode_leniently(text)
        except RecursionError:
            return self.first, "The JSON document is nested too deeply."
        return Document(strings.placed(value), self.kind, self.first)

    def _decode_leniently(self, text: str) -> Document | tuple[int, str]:
        try:
            reader = LenientReader(text, self._numbers)
            value = reader.read()
        except Irreparable as error:
            return error.line, str(error)
        return Document(value, self.kind, self.first, reader.problems)

    def _decode_xml(self) -> Document | tuple[int, str]:
        builder = _Builder(self._numbers)
        try:
            text = "\n".join(self._lines).lstrip(" \t")  # none may precede the declaration
            builder.parser.Parse(text.encode("utf-8", "replace"), True)
        except (expat.ExpatError, ValueError, LookupError):  # also an unknown encoding
            place = min(builder.parser.CurrentLineNumber, len(self._numbers))
            return self._numbers[max(place, 1) - 1], "The XML document is damaged here."
        if builder.root is None:
            return self.first, "The XML document is empty."
        return Document(builder.root, self.kind, self.first)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object with these pairs. Raises ValueError for a key that occurs twice."""
    decoded = dict(pairs)
    if len(decoded) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return decoded


class _Places:
    """The lines of a JSON text's numbers, or of its strings, in order."""

    def __init__(self, text: str, lines: list[int], *, strings: bool) -> None:
        self._places = self._find(text, lines, strings)

    @staticmethod
    def _find(text: str, lines: list[int], strings: bool) -> Iterator[tuple[str, int]]:
        row = 0
        for token in _TOKENS.finditer(text):
            if token[0] == "\n":
                row += 1
            elif (token[0][0] == '"') == strings:
                yield token[0], lines[row]

    def number(self, printed: str) -> FoundValue | Unusable:
        found, line = next(self._places, ("", 0))
        if found != printed:
            raise ValueError(f"the number {printed} can't be located")
        return number(printed, line) or Unusable(printed, line)

    def placed(self, value: object) -> object:
        """A decoded value with lines added to its strings; keys count as strings of the text."""
        if isinstance(value, str):
            text = Text(value)
            text.line = next(self._places)[1]
            return text
        if isinstance(value, list):
            return [self.placed(item) for item in value]
        if isinstance(value, dict):
            placed = {}
            for key, item in value.items():
                next(self._places)
                placed[key] = self.placed(item)
            return placed
        return value


class _Builder:
    """Builds elements from the parser's events; entity declarations are refused."""

    def __init__(self, lines: list[int]) -> None:
        self.root: Element | None = None
        self._open: list[Element] = []
        self._lines = lines
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._refuse

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        line = self._lines[self.parser.CurrentLineNumber - 1]
        element = Element(name, line, attributes=attributes)
        if len(self._open) > DEEPEST:
            raise ValueError("nested too deeply")
        if self._open:
            self._open[-1].elements.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        if self._open:
            self._open[-1].text += text

    def _refuse(self, *_: object) -> None:
        raise ValueError("entities are not read")
