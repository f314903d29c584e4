"""STREAM in C and Fortran, on one node and with MPI.

Source: ``stream.c`` and ``stream.f``. Rates are 10^6 bytes per second. The program's validation of
the solution, printed after the table, is the verification of all rows.
"""

from __future__ import annotations

import re
from decimal import Decimal

from assay.importers.model import FoundValue, Line, Output, Result, Series, TextImporter, words
from assay.importers.numbers import FIELD, WHOLE, number

_VERSION = re.compile(r"\s*STREAM version (?:\$Revision:\s*)?([\d.]+)\s*\$?\s*", re.I)
_ROW = re.compile(rf"\s*(Copy|Scale|Add|Triad):\s*({FIELD})\s+({FIELD})\s+({FIELD})\s+({FIELD})\s*")
_LIKE_ROW = re.compile(r"\s*(?:Copy|Scale|Add|Triad):")
_SETTINGS = {
    "elements": re.compile(rf"(?:.*Total Aggregate )?Array size\s*=\s*({WHOLE})\b.*", re.I),
    "offset": re.compile(r".*?Offset\s*=\s*(\d{1,18})\b.*", re.I),
    "threads": re.compile(rf"Number of Threads (?:counted )?\s*=\s*({WHOLE})"),
    "requested_threads": re.compile(rf"Number of Threads requested\s*=\s*({WHOLE})"),
    "element_bytes": re.compile(
        r"(?:This system uses|Assuming)\s+(\d{1,2})\s+bytes per (?:array element|\w+ PRECISION).*"
    ),
    "times": re.compile(
        rf"(?:Each kernel will be executed|Each test is run|You are running each test)"
        rf"\s*({WHOLE})\s+times.*"
    ),
    "ranks": re.compile(
        rf".*?(?:distributed across|using|Number of processors =)\s*({WHOLE})"
        r"(?: MPI ranks.*)?"
    ),
}
_METRICS = ("rate", "time", "time.min", "time.max")
_MB = Decimal(10) ** 6


class StreamImporter(TextImporter):
    """See the module."""

    SIGNATURE = (
        r"STREAM [vV]ersion \$?\S|This system uses +\d+ bytes per (?:array element|\w+ PRECISION)"
        r"|Assuming +\d+ bytes per \w+ PRECISION"
        r"|Function +(?:Best )?Rate \(?MB/s\)? +(?:Avg|RMS) time"
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._version: str | None = None
        self._settings: dict[str, FoundValue] = {}
        self._rows: list[tuple[FoundValue, list[Series]]] = []
        self._table = False
        self._verified: bool | None = None

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if version := _VERSION.fullmatch(text):
            # The word size comes before the version in Fortran, and after it in C.
            if self._rows or self._version is not None:
                self.leave()
            self._version = version[1]
        elif text.startswith("Function ") and "MB/s" in text:
            self._table = True
        elif row := _ROW.fullmatch(text):
            self._row(row, line.number)
        elif _LIKE_ROW.match(text):
            self.out.skip(line.number, "This row of STREAM's table is damaged.")
        elif self._rows and text.startswith("Solution Validates"):
            if self._verified is None:
                self._verified = True
            self.leave()
        elif self._rows and text.startswith("Failed Validation"):
            self._verified = False
        else:
            self._setting(text, line.number)

    def _setting(self, text: str, line: int) -> None:
        for name, pattern in _SETTINGS.items():
            if found := pattern.fullmatch(text):
                if self._rows:
                    self.leave()
                self._settings[name] = FoundValue(int(found[1]), found[1], line)

    def _row(self, row: re.Match[str], line: int) -> None:
        if not self._table:
            self.out.skip(line, "This row of STREAM comes before its table header.")
            return
        operation = words(row[1], line)
        if any(seen.value == operation.value for seen, _ in self._rows):
            self.out.skip(line, f"The row '{row[1]}' occurs twice.")
            return
        series = []
        for place, metric in enumerate(_METRICS):
            found = number(row[2 + place], line, _MB if metric == "rate" else 1)
            if found is None:
                self.out.skip(line, f"'{row[2 + place]}' is not a number.")
                return
            series.append(Series(metric, "B/s" if metric == "rate" else "s", [found]))
        self._rows.append((operation, series))

    def leave(self) -> None:
        """Process the end of the table, verified or not."""
        for operation, series in self._rows:
            self.out.result(
                Result(
                    code="stream",
                    tool="STREAM",
                    version=self._version,
                    parameters={"op": _small(operation)} | self._settings,
                    series=series,
                    verified=self._verified,
                    check="validation of the solution" if self._verified is not None else "",
                )
            )
        self._version, self._settings, self._rows = None, {}, []
        self._table, self._verified = False, None


def _small(operation: FoundValue) -> FoundValue:
    return FoundValue(str(operation.value).lower(), operation.printed, operation.line)


IMPORTER = StreamImporter
