"""docs/findings.md: the fields of every question's findings, as ``make docs`` writes them.

The page is generated from the types. It has a section per class, with the class's docstring and a
table of its fields. The descriptions of fields come from the comments above them. It follows
``assay.questions.common.findings.findings_json``, which writes the JSON.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import import_module
from typing import Any, Literal, TypeGuard, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions import questions
from assay.questions.common.findings import FINDINGS_SCHEMA
from assay.questions.common.selection import Point
from assay.report.documented.field_comments import field_comments
from assay.stats.core.model import CellSummary, MetricSummary
from assay.subjects import subjects

_HEAD = """# Findings

The findings of each question as plain data for programs: the field `findings` of the sections of a
[JSON report](report-format.md#section). `assay run --json` (with `--per-node` too) and
`assay report --json` print it. Four commands print only the findings of their subject:
`assay usage --json` (a log), `assay profile --json` (a program), `assay simulate --json`
(a simulation) and `assay history --json` (a history). The findings of a history have the points of
each cell, and whole cells in place of their ids ([formats](formats/history.md)). This page is
generated from the types in `src/assay/questions/` and `src/assay/subjects/` by `make docs`.

The report's `findings_schema`, now {schema}, is the version of this layout. Within a version,
fields may be added, but no field is removed or changes its meaning. Values are in SI base units;
undefined and infinite numbers are `null`. So is a topic that was not measured. A cell is given by
its id, as in `cells` of the report. A measured point is `{{"cell": id, "metric": name}}` and refers
to the metric's summary in `cells`. A point that was chosen for its result among comparable ones has
their number, itself included, as `among`, and an interval that allows for the choice as `ci95`.
Keys with several parts join them by `/`.

| question | findings |
| --- | --- |
{index}
"""
_WORDS: dict[object, str] = {
    bool: "true or false",
    int: "integer",
    float: "number",
    str: "text",
    type(None): "null",
    Any: "any value",
    object: "any value",
    Cell: "cell (its id)",
    CellSummary: "cell (its id)",
    Point: "point",
    Placement: "[placement](formats/README.md)",
    MetricSummary: "[metric](formats/README.md)",
}


def findings_page() -> str:
    """The whole page."""
    sections, index, written = [], [], set[type]()
    for name, title, found in findings_types():
        described = [cls for cls in classes(found) if cls not in written]
        written.update(described)
        index.append(f"| `{name}` | {_link(found)} |")
        sections.append(f"## {title}\n")
        sections += [_section(cls) for cls in described]
    head = _HEAD.format(schema=FINDINGS_SCHEMA, index="\n".join(index))
    return "\n".join([head, *sections])


def findings_types() -> Iterator[tuple[str, str, type]]:
    """Each question's name and title, and the type of its findings."""
    for question in questions():
        yield question.name, question.title, _returned(question.find)
    for subject in subjects():
        yield subject.name, subject.title, _returned(subject.find)


def _returned(find: Callable[..., object]) -> type:
    """The type that ``find`` returns: the class itself, or its return annotation without None."""
    if isinstance(find, type):
        return find
    (found,) = _classes_in(_hints(find)["return"])
    return found


def classes(found: type) -> list[type]:
    """The class and, recursively, the classes of its fields, each once, in field order."""
    reached: list[type] = []

    def visit(cls: type) -> None:
        if cls not in reached:
            reached.append(cls)
            for hint in fields(cls).values():
                for part in _classes_in(hint):
                    visit(part)

    visit(found)
    return reached


def fields(cls: type) -> dict[str, Any]:
    """The fields in the JSON, with their types."""
    hints = _hints(cls)
    if dataclasses.is_dataclass(cls):
        return {
            field.name: hints[field.name]
            for field in dataclasses.fields(cls)
            if not field.metadata.get("internal")
        }
    return {field.name: hints[field.name] for field in msgspec.structs.fields(cls)}


def _hints(what: type | Callable[..., object]) -> dict[str, Any]:
    """Type hints, including names imported only for type checkers."""
    try:
        return get_type_hints(what)
    except NameError:
        return get_type_hints(what, localns=_type_checking_names(what.__module__))


def _type_checking_names(module: str) -> dict[str, Any]:
    """The names that a module imports under ``if TYPE_CHECKING``."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    names: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for statement in node.body:
                if isinstance(statement, ast.ImportFrom) and statement.module:
                    source = import_module(statement.module)
                    for alias in statement.names:
                        names[alias.asname or alias.name] = getattr(source, alias.name)
    return names


def _is_described(hint: object) -> TypeGuard[type]:
    """Whether a type has its own section."""
    if not isinstance(hint, type) or hint in _WORDS:
        return False
    return dataclasses.is_dataclass(hint) or issubclass(hint, msgspec.Struct)


def _classes_in(hint: object) -> list[type]:
    """The documented classes that a type consists of."""
    if _is_described(hint):
        return [hint]
    return [cls for part in get_args(hint) for cls in _classes_in(part)]


def _section(cls: type) -> str:
    meaning = field_comments(cls)
    rows = [
        f"| `{name}` | {type_text(hint)} | {_cell_text(meaning.get(name, ''))} |"
        for name, hint in fields(cls).items()
    ]
    table = ["", "| field | type | meaning |", "| --- | --- | --- |", *rows] if rows else []
    text = documentation(cls).replace("``", "`")
    return "\n".join([f"### {cls.__name__}", "", text, *table, ""])


def _cell_text(text: str) -> str:
    """A text for a cell of a Markdown table."""
    return text.replace("``", "`").replace("|", "\\|")


def documentation(cls: type) -> str:
    """The docstring of a class and the docstrings of the bases that it inherits fields from."""
    bases = [base for base in cls.__mro__ if _is_described(base) and base is not msgspec.Struct]
    return "\n\n".join(inspect.cleandoc(base.__doc__ or "") for base in bases)


def _link(cls: type) -> str:
    return f"[{cls.__name__}](#{cls.__name__.lower()})"


def type_text(hint: object) -> str:
    """A type as text, with links to classes."""
    if getattr(hint, "__hash__", None) and hint in _WORDS:
        return _WORDS[hint]
    if _is_described(hint):
        return _link(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " or ".join(f'`"{value}"`' for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(type_text(part) for part in arguments)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return " or ".join(f"`{msgspec.json.encode(one.value).decode()}`" for one in hint)
    if (origin or hint) is np.ndarray:
        return "list of numbers"
    kind = origin or hint
    return _collection_text(kind, arguments) if isinstance(kind, type) else str(hint)


def _collection_text(kind: type, arguments: tuple[Any, ...]) -> str:
    if kind is tuple and arguments and arguments[-1] is not Ellipsis:
        return f"list [{', '.join(type_text(part) for part in arguments)}]"
    if issubclass(kind, Mapping):
        if not arguments:
            return "object"
        key = {str: "name", int: "number"}.get(arguments[0], "key")
        return f"object: {type_text(arguments[1])} by {key}"
    if issubclass(kind, Collection) and arguments:
        return f"list of {type_text(arguments[0])}"
    if issubclass(kind, (int, np.integer)):
        return "integer"
    if issubclass(kind, (float, np.floating)):
        return "number"
    return kind.__name__


if __name__ == "__main__":
    sys.stdout.write(findings_page())
