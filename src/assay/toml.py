"""Reads TOML with line numbers: the data from ``tomllib``, and the line of each value."""

from __future__ import annotations

import re
import tomllib
import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from assay.errors import AssayError, nearest

KeyPath = Sequence[str | int]
_T = TypeVar("_T")


@dataclass(frozen=True)
class TomlDocument:
    """A TOML file: ``data`` as ``tomllib`` returns it, and the line of every key."""

    path: Path
    text: str
    data: dict[str, Any]

    @cached_property
    def lines(self) -> Mapping[tuple[str | int, ...], int]:
        """Line (from 1) of every table, key and array element; computed on first use."""
        return _LineScan(self.text).lines

    def where(self, path: KeyPath) -> str:
        """``"file:line"`` of a key, such as ``("sweep", 0, "ppn")``.

        For a key that is not in the file, the line of the innermost existing table. For the empty
        path, the file without a line.
        """
        for length in range(len(path), 0, -1):
            line = self.lines.get(tuple(path[:length]))
            if line is not None:
                return f"{self.path}:{line}"
        return str(self.path)

    def error(self, path: KeyPath, what: str, fix: str = "") -> AssayError:
        """An AssayError at this key."""
        return AssayError(what, where=self.where(path), fix=fix)

    def check_keys(self, path: KeyPath, table: Collection[str], valid: Collection[str]) -> None:
        """Raise AssayError at the first invalid key of a table."""
        for key in table:
            if key not in valid:
                place = f" in [{dotted(path)}]" if path else ""
                raise self.error([*path, key], f"Unknown key '{key}'{place}.", nearest(key, valid))

    def read(self, path: KeyPath, value: object, kind: type[_T]) -> _T:
        """Convert the value at ``path`` of this file.

        ``kind``: a msgspec Struct, any type that msgspec converts to, or a tuple, list or dict of
        these. Raises AssayError with line and key for an unknown or missing key and for a wrong
        type.
        """
        converted: _T = self._read(list(path), value, kind)
        return converted

    def _read(self, path: list[str | int], value: object, kind: Any) -> Any:  # noqa: ANN401
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            inner = [a for a in arguments if _is_struct(a) or get_origin(a) in (dict, tuple, list)]
            if len(inner) == 1 and isinstance(value, dict | list):
                return self._read(path, value, inner[0])
        if _is_struct(kind) and isinstance(value, dict):
            fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
            self.check_keys(path, value, fields)
            for name, field in fields.items():
                if field.required and name not in value:
                    place = f"[{dotted(path)}]" if path else "The file"
                    raise self.error(path, f"{place} has no '{name}'.", f"Add {name} = …")
            return kind(
                **{
                    field.name: self._read([*path, name], value[name], field.type)
                    for name, field in fields.items()
                    if name in value
                }
            )
        if origin is dict and isinstance(value, dict):
            return {k: self._read([*path, k], v, arguments[1]) for k, v in value.items()}
        uniform = origin is list or (origin is tuple and arguments[-1] is Ellipsis)
        if uniform and isinstance(value, list):
            return origin(self._read([*path, i], v, arguments[0]) for i, v in enumerate(value))
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise self._wrong_value(path, value, kind, str(error)) from None

    def _wrong_value(self, path: KeyPath, value: object, kind: object, reason: str) -> AssayError:
        words = [
            w for k in (kind, *get_args(kind)) if get_origin(k) is Literal for w in get_args(k)
        ]
        if words and isinstance(value, str):
            return self.error(path, f"'{dotted(path)}' can't be '{value}'.", nearest(value, words))
        expected = re.match(r"Expected `(.+?)`, got `(.+?)`", reason)
        if expected:
            wanted, got = (_in_words(text) for text in expected.groups())
            return self.error(path, f"'{dotted(path)}' must be {wanted}, not {got}.")
        return self.error(path, f"'{dotted(path)}' is invalid: {reason}.")


def load_toml(path: Path) -> TomlDocument:
    """Read a TOML file. Raises AssayError with the line if it can't be read as TOML."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise AssayError(
            f"The file can't be read: {error.strerror or error}.",
            where=str(path),
            fix="Check the path and its permissions.",
        ) from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise AssayError(
            "The file is not UTF-8 text.", where=f"{path}:{line}", fix="Save it as UTF-8."
        ) from None
    return parse_toml(text, path)


def parse_toml(text: str, path: Path) -> TomlDocument:
    """Like ``load_toml``, from the file's text."""
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise AssayError("The file's nesting is too deep.", where=str(path)) from None
    except ValueError as error:  # TOMLDecodeError, or Python's own limit on digits
        reason = re.sub(r" \(at [^()]*\)$", "", str(error))
        found = re.search(r"\(at line (\d+), column \d+\)$", str(error))
        at_end = str(error).endswith("(at end of document)")
        line = int(found[1]) if found else len(text.rstrip().splitlines()) if at_end else None
        where = f"{path}:{line}" if line else str(path)
        raise AssayError(f"The file is not valid TOML: {reason}.", where=where) from None
    return TomlDocument(path, text, data)


def dotted(path: KeyPath) -> str:
    """A key path in TOML notation: ``toolchains.gcc``, ``sweep[0].ppn``, ``a."b c"``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            word = part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else f'"{part}"'
            text += f".{word}" if text else word
    return text


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


_TYPE_WORDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "a table",
    "array": "an array",
    "datetime": "a date and time",
    "date": "a date",
    "time": "a time",
    "null": "nothing",
}


def _in_words(types_of_msgspec: str) -> str:
    """``"int | str"`` → ``"a whole number or a string"``."""
    words = [_TYPE_WORDS.get(name, name) for name in types_of_msgspec.split(" | ")]
    return " or ".join(word for word in words if word != "nothing")


class _LineScan:
    """Records the line of each key path in one pass over a valid TOML document.

    Follows the TOML 1.0 grammar: statements are headers or key/value pairs. Only strings, arrays
    and inline tables are parsed; every other value ends at a delimiter.
    """

    _SPACE = re.compile(r"[ \t]*")
    _VOID = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
    _BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
    _PLAIN_VALUE = re.compile(r"[^,\]}\n#]*")
    # In order of precedence. The content of a multi-line string may end with up to two quotes.
    _STRING = re.compile(
        r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}'
        r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
        r'|"(?:[^"\\]|\\.)*"'
        r"|'[^']*'",
        re.DOTALL,
    )

    def __init__(self, text: str) -> None:
        self.lines: dict[tuple[str | int, ...], int] = {}
        self._text = text
        self._at = 0
        self._line = 1
        self._line_at = 0
        self._elements: dict[tuple[str | int, ...], int] = {}
        table: tuple[str | int, ...] = ()
        while self._skip(self._VOID) < len(text):
            if text.startswith("[[", self._at):
                table = self._header(2)
            elif text[self._at] == "[":
                table = self._header(1)
            else:
                self._pair(table)

    def _skip(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self._text, self._at)
        assert match, f"not valid TOML at {self._at}"
        self._at = match.end()
        return self._at

    def _line_here(self) -> int:
        self._line += self._text.count("\n", self._line_at, self._at)
        self._line_at = self._at
        return self._line

    def _key(self) -> Iterator[str]:
        """The parts of a dotted key. The position moves past the key."""
        while True:
            self._skip(self._SPACE)
            start = self._at
            if self._text[start] in "\"'":
                end = self._skip(self._STRING)
                yield tomllib.loads(f"key = {self._text[start:end]}")["key"]
            else:
                end = self._skip(self._BARE_KEY)
                yield self._text[start:end]
            self._skip(self._SPACE)
            if self._text[self._at] != ".":
                return
            self._at += 1

    def _note(self, path: tuple[str | int, ...], known: int, line: int) -> None:
        """Record the line of a path, and of the new tables that it implies beyond the first
        ``known``.
        """
        for length in range(known + 1, len(path)):
            self.lines.setdefault(path[:length], line)
        self.lines[path] = line

    def _header(self, brackets: int) -> tuple[str | int, ...]:
        line = self._line_here()
        self._at += brackets
        table: tuple[str | int, ...] = ()
        parts = list(self._key())
        self._at += brackets
        for part in parts[:-1]:
            table = (*table, part)
            if table in self._elements:
                table = (*table, self._elements[table])
        table = (*table, parts[-1])
        if brackets == 2:
            self.lines.setdefault(table, line)
            self._elements[table] = self._elements.get(table, -1) + 1
            table = (*table, self._elements[table])
        self._note(table, 0, line)
        return table

    def _pair(self, table: tuple[str | int, ...]) -> None:
        line = self._line_here()
        path = (*table, *self._key())
        self._at += 1  # the equals sign
        self._note(path, len(table), line)
        self._value(path)

    def _value(self, path: tuple[str | int, ...]) -> None:
        self._skip(self._SPACE)
        opening = self._text[self._at]
        if opening in "\"'":
            self._skip(self._STRING)
        elif opening in "[{":
            self._at += 1
            index = 0
            while self._text[self._skip(self._VOID)] not in "]}":
                if opening == "[":
                    self.lines[*path, index] = self._line_here()
                    self._value((*path, index))
                    index += 1
                else:
                    self._pair(path)
                self._skip(self._VOID)
                if self._text[self._at] == ",":
                    self._at += 1
            self._at += 1
        else:
            self._skip(self._PLAIN_VALUE)
