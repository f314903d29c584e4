"""Reads descriptions of fields from the comments that begin with ``#:`` above them.

``#: text`` describes the field below it. ``#: ``low``, ``high``: text`` describes several fields by
their names.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap

_MARK = "#:"
_NAMED = re.compile(r"(``\w+``(?:, ``\w+``)*): ")


def field_comments(cls: type) -> dict[str, str]:
    """The descriptions of a class's fields by name, including fields of its bases."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("assay."):
            found |= _own_comments(base)
    return found


@functools.cache
def _own_comments(cls: type) -> dict[str, str]:
    lines = textwrap.dedent(inspect.getsource(cls)).splitlines()
    (node,) = ast.parse("\n".join(lines)).body
    assert isinstance(node, ast.ClassDef)
    found: dict[str, str] = {}
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = _above(lines, field.lineno - 1)
            found |= _described(field.target.id, text) if text else {}
    return found


def _above(lines: list[str], place: int) -> str:
    """The text of the comment that ends directly above a line."""
    words: list[str] = []
    while place and lines[place - 1].strip().startswith(_MARK):
        place -= 1
        words.insert(0, lines[place].strip().removeprefix(_MARK).strip())
    return " ".join(words)


def _described(name: str, text: str) -> dict[str, str]:
    """The text of the comment above a field, by the names of the fields that it describes."""
    parts = _NAMED.split(text)
    found = {name: parts[0].strip()} if parts[0].strip() else {}
    for names, described in zip(parts[1::2], parts[2::2], strict=True):
        found |= dict.fromkeys(re.findall(r"\w+", names), described.strip())
    return found
