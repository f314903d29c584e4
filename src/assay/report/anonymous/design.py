"""Anonymous designs: replaces the specification's files and the runs that its figures come from."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath

import msgspec

from assay.report.anonymous.collect import part_of_name
from assay.report.anonymous.names import FoundNames, Names
from assay.report.anonymous.runs import replaced
from assay.subjects.design.model import ClusterDesign

_RUN = re.compile(r"\b\d{8}T\d{6}Z-[\w.-]*\w")
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
    places = [_where(source.where, names) for source in found.inputs]
    plain = replaced(msgspec.to_builtins(found), names)
    changed = msgspec.convert(plain, ClusterDesign)
    inputs = [
        dataclasses.replace(source, where=place)
        for source, place in zip(changed.inputs, places, strict=True)
    ]
    # The title of an untitled specification is its file's name.
    title = file if found.title == PurePath(found.file).stem else changed.title
    return dataclasses.replace(changed, file=file, title=title, inputs=inputs)


def _where(where: str, names: Names) -> str:
    parts = _FILE.fullmatch(where)
    return f"{names.name('file', parts['file'])}{parts['line'] or ''}" if parts else where


def _named_in(found: ClusterDesign) -> FoundNames:
    names = FoundNames()
    names.put("file", found.file)
    for source in found.inputs:
        if parts := _FILE.fullmatch(source.where):
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
