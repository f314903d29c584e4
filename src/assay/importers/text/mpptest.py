"""mpptest from Gropp and Lusk's perftest.

Source: perftest's ``gfile.c``. The rate is in bytes per second. The program prints no version.
goptest, which times collective operations, is not read: its rows have other columns.
"""

from __future__ import annotations

import re

from assay.importers.model import FoundValue, Line, Output, Result, Series, TextImporter
from assay.importers.numbers import FIELD, US, WHOLE, number

_HEAD = re.compile(r"#?p0\s+p1\s+dist\s+len\s+ave time \(us\)\s+rate")
_ROW = re.compile(rf"({WHOLE})\s+({WHOLE})\s+({WHOLE})\s+({WHOLE})\s+({FIELD})\s+({FIELD})")
_LIKE_ROW = re.compile(r"\d+\s+\d+\s+\d+\s+\d")


class MpptestImporter(TextImporter):
    """See the module."""

    SIGNATURE = r"#?p0\s+p1\s+dist\s+len\s+ave time \(us\)\s+rate"

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._table = False

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if _HEAD.fullmatch(text):
            self._table = True
        elif self._table and (row := _ROW.fullmatch(text)):
            self._row(row, line.number)
        elif self._table and _LIKE_ROW.match(text):
            self.out.skip(line.number, "This row of mpptest is damaged.")

    def _row(self, row: re.Match[str], line: int) -> None:
        time, rate = number(row[5], line, US), number(row[6], line)
        if time is None or rate is None:
            self.out.skip(line, "Time and rate of this row of mpptest are not both numbers.")
            return
        series = [Series("time", "s", [time])]
        # A message of 0 bytes has no bandwidth.
        if row[4].strip("0"):
            series.append(Series("bandwidth", "B/s", [rate]))
        self.out.result(
            Result(
                code="mpptest",
                tool="mpptest",
                version=None,
                parameters={
                    "bytes": FoundValue(int(row[4]), row[4], line),
                    "distance": FoundValue(int(row[3]), row[3], line),
                    "from": FoundValue(int(row[1]), row[1], line),
                    "to": FoundValue(int(row[2]), row[2], line),
                },
                series=series,
            )
        )

    def leave(self) -> None:
        """Rows after another tool's output belong to no table."""
        self._table = False


IMPORTER = MpptestImporter
