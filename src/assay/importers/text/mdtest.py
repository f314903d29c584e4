"""mdtest 1.9 to 4: the summary of its iterations.

Source: ``mdtest.c``. Rates are operations per second. From 4.0 on, columns per rank can precede the
columns per iteration; only the latter are read. In all versions times (``-Z``, ``-P``) are the
seconds of the whole phase, its ``time``; the rate is the number of items divided by it. Headings
don't name their unit (3.2 to 4.0), or call it "ops/sec" or "ms/op" (later development versions).
"""

from __future__ import annotations

import re

from assay.importers.model import FoundValue, Line, Output, Result, Series, TextImporter, slug
from assay.importers.numbers import FIELD, number
from assay.importers.settings import command_options

_HEADER = re.compile(
    r"mdtest-(\d\S*) was launched with (\d{1,9}) total task\(s\)"
    r" on (\d{1,9}) node(?:\(s\)|s)?\.?\s*"
)
_COMMAND = re.compile(r"Command line used:\s*(\S.*)")
_SUMMARY = re.compile(
    r"SUMMARY(?: (rate|time))?\s*(?:\(in [^)]+\))?:.*?\(of (\d{1,9}) iterations?\)\s*"
)
_ITEMS = re.compile(r"(\d{1,9}) tasks, (\d{1,12}) (files/directories|files|directories).*")
_ROW = re.compile(
    r"((?:Directory|File|Tree) [a-z]+(?: [a-z]+| \([a-z]+\))?)\s*:?\s+"
    rf"({FIELD}(?:\s+{FIELD}){{3,6}})\s*"
)
_LIKE_ROW = re.compile(r"(?:Directory|File|Tree) (?:creation|stat|read|removal|rename)\b")
_METRICS = (".max", ".min", "", ".stddev")


class MdtestImporter(TextImporter):
    """See the module."""

    SIGNATURE = r"mdtest-\d\S* was launched with"

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._version: str | None = None
        self._settings: dict[str, FoundValue] = {}
        self._kind: str | None = None

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if header := _HEADER.fullmatch(text):
            self._version, self._kind = header[1], None
            self._settings = {
                "ranks": FoundValue(int(header[2]), header[2], line.number),
                "nodes": FoundValue(int(header[3]), header[3], line.number),
            }
        elif command := _COMMAND.fullmatch(text):
            options = command_options(command[1], line.number, alone="vV", valued="dfiV")
            if options is not None:
                self._settings["options"] = options
        elif items := _ITEMS.fullmatch(text):
            self._settings["items"] = FoundValue(int(items[2]), items[2], line.number)
        elif summary := _SUMMARY.fullmatch(text):
            self._kind = summary[1] or "rate"
            iterations = FoundValue(int(summary[2]), summary[2], line.number)
            self._settings["iterations"] = iterations
        elif text.startswith("-- finished"):
            self._kind = None
        elif self._kind is not None and (row := _ROW.fullmatch(text)):
            self._row(row[1], row[2].split(), line.number)
        elif self._kind is not None and _LIKE_ROW.match(text):
            self.out.skip(line.number, "This row of mdtest's summary is damaged.")

    def _row(self, operation: str, fields: list[str], line: int) -> None:
        if len(fields) not in (4, 7):
            self.out.skip(line, "This row of mdtest's summary doesn't have 4 or 7 numbers.")
            return
        metric, unit = ("rate", "op/s") if self._kind == "rate" else ("time.phase", "s")
        series = []
        for printed, ending in zip(fields[-4:], _METRICS, strict=True):
            if printed == "NA":  # for operations cut off by the stonewall, only the mean is printed
                continue
            found = number(printed, line)
            if found is None:
                self.out.skip(line, f"'{printed}' is not a number.")
                return
            series.append(Series(metric + ending, unit, [found]))
        # Operations that were not requested have zeros.
        if not series or all(each.found[0].value == 0 for each in series):
            return
        self.out.result(
            Result(
                code="mdtest",
                tool="mdtest",
                version=self._version,
                parameters={"op": FoundValue(slug(operation), operation, line)} | self._settings,
                series=series,
            )
        )

    def leave(self) -> None:
        """Rows after another tool's output belong to no summary."""
        self._kind = None


IMPORTER = MdtestImporter
