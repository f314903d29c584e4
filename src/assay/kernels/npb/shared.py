"""Classes, constants and formulas that Python shares with the native kernels of the NPB.

Each is defined once, in the files ``native/npb/**/*.def``, which C++ includes as macros
(``native/npb/common/shared.hpp`` has the rules) and this module reads:

* ``classes.def``: sizes, iterations and official results of the problem classes;
* ``constants.def``: facts about an implementation that the catalogue needs, such as how a cube may
be cut among ranks, or the size of a message;
* all other files: formulas, term by term, for the memory of a rank, the cost of a process grid, the
  size of a batch.

Plans need grids and memory before anything is built, possibly on a machine without a compiler, and
the kernels need them without Python. Expressions are restricted to those with the same meaning in
both languages.

Implemented in both languages are the search for the cheapest process grid (``grid.choose_grid``,
``ft.ft_grid``), the choice of the levels of MG that are gathered (``mg.levels_of``), and the sizes
of MG's fields, which native code allocates and Python predicts. docs/decisions.md has the
reasons; ``tests/native/npb/test_*.py`` compare both over many sizes.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import CodeType
from typing import Any

from assay.kernels.sources import native_sources

_COMMENT = re.compile(r"//[^\n]*")
_MACRO = re.compile(r"\s*NPB_(CLASS|CONSTANT|TERM)\(")
_BRACKETS = {"(": 1, "{": 1, ")": -1, "}": -1}
_NODES = (
    *(ast.Expression, ast.Name, ast.Load, ast.Constant, ast.Call, ast.Compare, ast.BinOp),
    *(ast.UnaryOp, ast.USub, ast.Add, ast.Sub, ast.Mult, ast.Div),
    *(ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq),
)


def _pick(condition: bool, then: float, otherwise: float) -> float:
    return then if condition else otherwise


_FUNCTIONS: dict[str, Any] = {
    "__builtins__": {},
    "min": min,
    "max": max,
    "pick": _pick,
    "ceil_div": lambda a, b: -(-a // b),
    "floor_div": lambda a, b: a // b,
    "round_up": lambda a, unit: -(-a // unit) * unit,
    "power_of_two": lambda least: 2 ** math.ceil(math.log2(least)),
}


@dataclass(frozen=True)
class SharedFormula:
    """The terms of a file, in order: names and compiled expressions."""

    terms: tuple[tuple[str, CodeType], ...]
    constants: Mapping[str, Any]

    def __call__(self, **inputs: float) -> dict[str, float]:
        """All terms by name, with constants and inputs."""
        values: dict[str, Any] = {**self.constants, **inputs}
        for name, code in self.terms:
            values[name] = eval(code, _FUNCTIONS, values)
        return values


def class_table(benchmark: str, *fields: str) -> dict[str, tuple[Any, ...]]:
    """The given fields of each class of ``benchmark``, by class name."""
    table = {}
    for _, body in _macros(f"{benchmark}/classes.def"):
        row = dict(_designated(part) for part in _split(body))
        table[json.loads(row["name"])] = tuple(_value(row[field], {}) for field in fields)
    return table


@cache
def constants(*folders: str) -> Mapping[str, Any]:
    """The constants of these folders; each may use earlier ones."""
    found: dict[str, Any] = {}
    for folder in folders:
        for _, body in _macros(f"{folder}/constants.def"):
            _, name, *value = _split(body)
            found[name] = _value(", ".join(value), found)
    return found


@cache
def formula(file: str, *folders: str) -> SharedFormula:
    """The formula in ``native/npb/FILE``; its terms may use the constants of ``folders``."""
    terms = []
    for _, body in _macros(file):
        name, *expression = _split(body)
        terms.append((name, _compiled(", ".join(expression))))
    return SharedFormula(tuple(terms), constants(*folders))


def _macros(file: str) -> list[tuple[str, str]]:
    """Kind and arguments of each macro. Raises ValueError for other content than comments."""
    path = native_sources() / "npb" / file
    text = _COMMENT.sub("", path.read_text("utf-8"))
    found, at = [], 0
    while text[at:].strip():
        start = _MACRO.match(text, at)
        if start is None:
            raise ValueError(f"{path}: not a macro of common/shared.hpp: {text[at:].split()[0]}")
        depth, at = 1, start.end()
        while depth:
            if at == len(text):
                raise ValueError(f"{path}: a bracket is not closed")
            depth += _BRACKETS.get(text[at], 0)
            at += 1
        found.append((start[1], text[start.end() : at - 1]))
    return found


def _split(text: str) -> list[str]:
    """The parts between commas outside brackets."""
    depth, commas = 0, [-1]
    for at, letter in enumerate(text):
        depth += _BRACKETS.get(letter, 0)
        if letter == "," and depth == 0:
            commas.append(at)
    return [text[a + 1 : b].strip() for a, b in pairwise([*commas, len(text)])]


def _designated(text: str) -> tuple[str, str]:
    """Name and value of ``.name = value``."""
    name, value = text.removeprefix(".").split("=", 1)
    return name.strip(), value.strip()


def _value(text: str, names: Mapping[str, Any]) -> object:
    if not text.startswith("{"):
        text = {"true": "1 == 1", "false": "1 == 0"}.get(text, text)
        return eval(_compiled(re.sub(r"\w+::", "", text)), _FUNCTIONS, dict(names))
    parts = _split(text[1:-1])
    if all(part.startswith(".") for part in parts):
        return {key: _value(value, names) for key, value in map(_designated, parts)}
    return tuple(_value(part, names) for part in parts)


def _compiled(expression: str) -> CodeType:
    """An expression that means the same in C++ and in Python; ValueError for any other."""
    tree = ast.parse(" ".join(expression.split()), mode="eval")
    for node in ast.walk(tree):
        literal = isinstance(node, ast.Constant) and not isinstance(node.value, int | float)
        if not isinstance(node, _NODES) or literal:
            raise ValueError(f"not an expression of common/shared.hpp: {expression}")
    return compile(tree, "<native/npb>", "eval")
