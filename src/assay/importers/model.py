"""Interfaces of importers: lines or documents in, numbers with place and unit out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import msgspec

from assay.model.placement import Value

# Maximum rows of one table that an importer keeps until the end of the table; further rows are
# skipped.
MOST_ROWS = 10_000


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line of a tool's output: its number in the file, from 1, and its text.

    Control sequences, carriage returns and the rank label are removed.
    """

    number: int
    text: str


@dataclass(frozen=True)
class FoundValue:
    """A value in a file: ``printed``, its text in line ``line``, and ``value`` in SI units."""

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
    """The result of a tool for one cell, from one run of the tool."""

    #: Program that was timed; it becomes the kernel of the cell.
    code: str
    #: ``tool``, ``version``: as the tool reports them; None if it reports no version.
    tool: str
    version: str | None
    #: Parameters that define the cell.
    parameters: Mapping[str, FoundValue]
    series: Sequence[Series]
    #: Result of the tool's own check, None without a check; ``check`` names the check, and
    #: ``checked`` is the number that was checked.
    verified: bool | None = None
    check: str = ""
    checked: FoundValue | None = None
    #: Failure that the tool reports for the result.
    error: str | None = None

    def found(self) -> Iterator[FoundValue]:
        """All values of the result, parameters first."""
        yield from self.parameters.values()
        if self.checked is not None:
            yield self.checked
        for series in self.series:
            yield from series.found

    @property
    def line(self) -> int:
        """The first line with one of its numbers."""
        return min(found.line for series in self.series for found in series.found)


class Output(Protocol):
    """Receives the results of importers."""

    def result(self, result: Result) -> None:
        """Receive the numbers of one cell."""

    def skip(self, line: int, what: str) -> None:
        """Report an unknown or damaged part; ``what``: a sentence about it."""


class TextImporter:
    """Reads one tool's output line by line.

    ``SIGNATURE``: a pattern without groups for the beginning of a line that starts or continues the
    tool's output, even after another tool's output. ``feed`` gets this line and all further lines
    up to another tool's signature. ``WEAK``: a pattern of signature lines that other tools print
    too; they count only if no other tool's output is being read. ``UNLABELLED``: a pattern of lines
    that seem to begin with a rank label but don't.
    """

    SIGNATURE: ClassVar[str]
    WEAK: ClassVar[str] = ""
    UNLABELLED: ClassVar[str] = ""

    def __init__(self, out: Output) -> None:
        self.out = out

    def feed(self, line: Line) -> None:
        """Process a line."""
        raise NotImplementedError

    def holds(self, name: str, text: str) -> bool:
        """Whether a line with the signature of importer ``name`` belongs to this tool's output."""
        return False

    def leave(self) -> None:
        """Process the end of the tool's output, or its interruption by another tool's output."""


class DocumentImporter(Protocol):
    """Reads a whole document, decoded with the line of each value."""

    def takes(self, document: object) -> bool:
        """Whether the document is from this tool."""

    def read(self, document: object, out: Output) -> None:
        """Put its results into ``out``."""


def words(text: str, line: int) -> FoundValue:
    """A parameter that is text."""
    return FoundValue(text, text, line)


def slug(text: str) -> str:
    """A name in assay's form: lower-case letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
