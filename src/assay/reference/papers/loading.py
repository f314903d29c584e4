"""Reads the TOML files of the papers.

A file has a table ``paper``, tables ``cluster`` and tables ``set``. A set is a list of ``figures``
with the fields that they share; a figure's own fields take precedence.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from assay.reference.papers.model import Paper, PublishedCluster, PublishedFigure

_FOLDER = Path(__file__).parent
PAPERS = ("edmundsson-2004", "barczak-2003", "kramer-2003", "luecke-2005", "pepper-2005")


@cache
def paper(name: str) -> Paper:
    """A paper by its id, which is the name of its file."""
    return msgspec.convert({"id": name, **_document(name)["paper"]}, Paper)


@cache
def clusters_of(name: str) -> tuple[PublishedCluster, ...]:
    """The clusters of a paper, in the file's order."""
    entries = [{**entry, "paper": name} for entry in _document(name)["cluster"]]
    return msgspec.convert(tuple(entries), tuple[PublishedCluster, ...])


@cache
def figures_of(name: str) -> dict[str, PublishedFigure]:
    """The figures of a paper by id, in the file's order. Raises ValueError if an id occurs
    twice."""
    found: dict[str, PublishedFigure] = {}
    for each in _document(name)["set"]:
        shared = {key: value for key, value in each.items() if key != "figures"}
        for entry in each["figures"]:
            figure = msgspec.convert({"paper": name, **shared, **entry}, PublishedFigure)
            if figure.id in found:
                raise ValueError(f"{name}.toml has two figures '{figure.id}'")
            found[figure.id] = figure
    return found


def figures() -> tuple[PublishedFigure, ...]:
    """The figures of all papers."""
    return tuple(figure for name in PAPERS for figure in figures_of(name).values())


def figure_by_id(name: str) -> PublishedFigure:
    """A published number of any paper. Raises ValueError for an unknown id."""
    for figure in figures():
        if figure.id == name:
            return figure
    raise ValueError(f"no paper has a figure '{name}'")


def clusters() -> tuple[PublishedCluster, ...]:
    """The clusters of all papers."""
    return tuple(cluster for name in PAPERS for cluster in clusters_of(name))


@cache
def clusters_by_id() -> dict[str, PublishedCluster]:
    """The clusters of all papers by id."""
    return {cluster.id: cluster for cluster in clusters()}


def papers() -> tuple[Paper, ...]:
    """All papers."""
    return tuple(map(paper, PAPERS))


@cache
def _document(name: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
