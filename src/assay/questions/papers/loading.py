"""Reads the exhibits of the papers that suites repeat.

In a file, an entry of ``quantity``, ``statement`` or ``curve`` may have ``each``: a list of words.
It stands for one entry per word, with ``{each}`` replaced by the word and ``{EACH}`` by the word in
capitals.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from assay.questions.papers.model import PaperSuite
from assay.reference.papers.loading import figures_of
from assay.reference.papers.model import PublishedFigure

_FOLDER = Path(__file__).with_name("exhibits")
_REPEATED = ("curve", "quantity", "statement")


def paper_suites() -> tuple[str, ...]:
    """The names of the suites that repeat a paper."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


@cache
def exhibits_of(suite: str) -> PaperSuite | None:
    """The exhibits of a suite; None if it repeats no paper.

    Raises ValueError if the data contradict themselves; a test reads all files.
    """
    if suite not in paper_suites():
        return None
    found = read_exhibits((_FOLDER / f"{suite}.toml").read_text(encoding="utf-8"))
    _check(found)
    return found


def read_exhibits(text: str) -> PaperSuite:
    """The exhibits of a file's text. Raises msgspec.ValidationError."""
    import tomllib

    data = tomllib.loads(text)
    for exhibit in data["exhibit"]:
        for key in _REPEATED:
            exhibit[key] = [one for entry in exhibit.get(key, []) for one in _each(entry)]
    return msgspec.convert(data, PaperSuite)


def chosen_figures(paper: str, patterns: tuple[str, ...]) -> list[PublishedFigure]:
    """The published numbers of a paper with matching ids, in the order of the patterns, each once.

    Raises ValueError for a pattern that matches none.
    """
    figures = figures_of(paper)
    found: dict[str, PublishedFigure] = {}
    for pattern in patterns:
        matching = [name for name in figures if fnmatchcase(name, pattern)]
        if not matching:
            raise ValueError(f"{paper} has no figure '{pattern}'")
        found |= {name: figures[name] for name in matching}
    return list(found.values())


def _each(entry: dict[str, Any]) -> list[dict[str, Any]]:
    words = entry.pop("each", None)
    return [entry] if words is None else [_filled(entry, word) for word in words]


def _filled(value: Any, word: str) -> Any:  # noqa: ANN401 - whatever TOML holds
    if isinstance(value, str):
        return value.replace("{each}", word).replace("{EACH}", word.upper())
    if isinstance(value, list):
        return [_filled(one, word) for one in value]
    if isinstance(value, dict):
        return {key: _filled(one, word) for key, one in value.items()}
    return value


def _check(suite: PaperSuite) -> None:
    """Raises ValueError unless names are unique and defined before they are used."""
    quantities: set[str] = set()
    curves: set[str] = set()
    for exhibit in suite.exhibit:
        for quantity in exhibit.quantity:
            wanted = {*quantity.over, *([quantity.of] if quantity.of else [])}
            if quantity.name in quantities or not wanted <= quantities:
                raise ValueError(f"{suite.paper}: quantity '{quantity.name}' {wanted - quantities}")
            quantities.add(quantity.name)
        for curve in exhibit.curve:
            if curve.name in curves:
                raise ValueError(f"{suite.paper}: curve '{curve.name}' occurs twice")
            curves.add(curve.name)
        for statement in exhibit.statement:
            bounds = [statement.above, statement.below]
            named = {each for each in bounds if isinstance(each, str)}
            named |= {statement.quantity} if statement.quantity else set()
            if not named <= quantities or (statement.curve and statement.curve not in curves):
                raise ValueError(f"{suite.paper}: '{statement.says}' refers to {sorted(named)}")
