"""What an importer reads and yields: lines of text in, numbers with their place and unit out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import msgspec

from assay.model.placement import Value


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line of a tool's output: its number in the file, from 1, and its text.

    The text has lost what others put around it: control sequences, carriage returns and the label
    of a rank.
    """

    number: int
    text: str


@dataclass(frozen=True)
class FoundValue:
    """A value as it stands in a file: ``printed`` is in line ``line``, ``value`` is in SI units."""

    value: Value
    printed: str
    line: int


@dataclass(frozen=True)
class Series:
    """The numbers of one metric, all in ``unit`` (SI; "" where the tool names none)."""

    metric: str
    unit: str
    found: Sequence[FoundValue]


@dataclass(frozen=True)
class Result:
    """What a tool said about one cell in one run of it.

    ``code``: the program that was timed, which becomes the kernel of the cell. ``tool`` and
    ``version``: as the tool calls itself; None where it names no version. ``parameters``: what
    makes the cell. ``verified``: what the tool's own check said, None where it made none; ``check``
    names it, and ``checked`` is the number that it was about. ``error``: why the tool itself calls
    the result a failure.
    """

    code: str
    tool: str
    version: str | None
    parameters: Mapping[str, FoundValue]
    series: Sequence[Series]
    verified: bool | None = None
    check: str = ""
    checked: FoundValue | None = None
    error: str | None = None

    def found(self) -> Iterator[FoundValue]:
        """Every value of it, parameters first."""
        yield from self.parameters.values()
        if self.checked is not None:
            yield self.checked
        for series in self.series:
            yield from series.found

    @property
    def line(self) -> int:
        """The first line that one of its numbers is in."""
        return min(found.line for series in self.series for found in series.found)


class Output(Protocol):
    """Where importers put what they find."""

    def result(self, result: Result) -> None:
        """Take in the numbers of one cell."""

    def skip(self, line: int, what: str) -> None:
        """Name a part that is unknown or damaged, in one sentence."""


class TextImporter:
    """Reads one tool's output line by line.

    ``SIGNATURE``: how a line begins with which the tool's output begins or goes on, whatever other
    tool's output came before. It has no groups. From there on ``feed`` gets every line, that one
    included, until another tool's signature comes. ``UNLABELLED``: lines that look as if they began
    with the label of a rank, and don't.
    """

    SIGNATURE: ClassVar[str]
    UNLABELLED: ClassVar[str] = ""

    def __init__(self, out: Output) -> None:
        self.out = out

    def feed(self, line: Line) -> None:
        """Take in a line."""
        raise NotImplementedError

    def holds(self, name: str, text: str) -> bool:
        """Whether what looks like the output of the importer ``name`` is a part of this one's."""
        return False

    def leave(self) -> None:
        """The tool's output ends here, or another's interrupts it."""


class DocumentImporter(Protocol):
    """Reads a whole document that was decoded with the place of each value."""

    def takes(self, document: object) -> bool:
        """Whether the document is of this tool."""

    def read(self, document: object, out: Output) -> None:
        """Yield its numbers."""


def words(text: str, line: int) -> FoundValue:
    """A parameter in words."""
    return FoundValue(text, text, line)


def slug(text: str) -> str:
    """A name in the form of assay's: small letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
