"""Anonymous designs: replaces the specification's files and the runs that its figures come from."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TypeVar

import msgspec

from assay.report.anonymous.collect import part_of_name
from assay.report.anonymous.names import FoundNames, Names
from assay.report.anonymous.runs import replaced
from assay.subjects.design.model import (
    ClusterDesign,
    EndingOffer,
    RentedNodes,
    UncertainInput,
)

_RUN = re.compile(r"\b\d{8}T\d{6}Z-[\w.-]*\w")
_Source = TypeVar("_Source", UncertainInput, RentedNodes, EndingOffer)
_FILE = re.compile(r"(?P<file>.+?)(?P<line>:\d+)?")


def design_without_names(found: ClusterDesign) -> ClusterDesign:
    """The findings with names of files, systems, users and addresses replaced.

    Names of parts and the title are the specification's own words; they stay unless they contain
    such a name.
    """
    names = Names()
    names.add(_named_in(found))
    # Files are recognised by their field, since a relative path could be an ordinary word.
    file = names.name("file", found.file)
    places, rented, offers = (
        [_where(source.where, names) for source in sources]
        for sources in (found.inputs, found.rented, found.offers)
    )
    plain = replaced(msgspec.to_builtins(found), names)
    changed = msgspec.convert(plain, ClusterDesign)
    # The title of an untitled specification is its file's name.
    title = file if found.title == PurePath(found.file).stem else changed.title
    return dataclasses.replace(
        changed,
        file=file,
        title=title,
        inputs=_at(changed.inputs, places),
        rented=_at(changed.rented, rented),
        offers=_at(changed.offers, offers),
    )


def _at(sources: Sequence[_Source], places: Sequence[str]) -> list[_Source]:
    """The sources with these places."""
    return [
        dataclasses.replace(source, where=place)
        for source, place in zip(sources, places, strict=True)
    ]


def _where(where: str, names: Names) -> str:
    parts = _FILE.fullmatch(where)
    return f"{names.name('file', parts['file'])}{parts['line'] or ''}" if parts else where


def _named_in(found: ClusterDesign) -> FoundNames:
    names = FoundNames()
    names.put("file", found.file)
    sources = (found.inputs, found.rented, found.offers)
    for where in (source.where for several in sources for source in several):
        if parts := _FILE.fullmatch(where):
            names.put("file", parts["file"])
    for text in _texts(msgspec.to_builtins(found)):
        names.text(text)
        for run in _RUN.findall(text):
            if system := part_of_name(run):
                names.put("system", system)
                suite = run.partition(f"-{system}-")[2]
                names.runs.append((run, system, suite))
    return names


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
