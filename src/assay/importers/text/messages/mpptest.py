"""mpptest and goptest from Gropp and Lusk's perftest.

Source: perftest's ``gfile.c``. mpptest's rate is in bytes per second. goptest times a collective
operation: a row per number of processes, a column per message size. The sizes are printed only
after the table, in the plot commands of CIt or Gnuplot, in elements of the operation (doubles for
dsum, ints for isum). The programs print no version.
"""

from __future__ import annotations

import re

from assay.importers.model import (
    FoundValue,
    Line,
    Output,
    Result,
    Series,
    TextImporter,
    slug,
    words,
)
from assay.importers.numbers import FIELD, US, WHOLE, number

_HEAD = re.compile(r"#?p0\s+p1\s+dist\s+len\s+ave time \(us\)\s+rate")
_ROW = re.compile(rf"({WHOLE})\s+({WHOLE})\s+({WHOLE})\s+({WHOLE})\s+({FIELD})\s+({FIELD})")
_LIKE_ROW = re.compile(r"\d+\s+\d+\s+\d+\s+\d")

_TITLE = re.compile(r"top '.*|set title \"Comm Perf for .*?(?: type ([A-Za-z][\w ]{0,30}?))?\"")
_OPERATION = re.compile(r"'type = ([A-Za-z][\w ]{0,30}?)'")
_GOP_HEAD = re.compile(r"#?np time \(us\) for various sizes")
_GOP_ROW = re.compile(rf"{WHOLE}(?:\s+{FIELD}){{1,256}}")
# CIt prints the column of the rows that is drawn, then its size. Gnuplot names both in one line.
_ORDER = re.compile(r"set order x((?: d)*) y(?: d)*")
_JOIN = re.compile(rf"join '({WHOLE})'")
_USING = re.compile(rf"(?:plot )?'[^']*' using 1:(\d{{1,3}}) title '({WHOLE})'.*")
# Maximum rows of a table: one per number of processes.
_MOST_ROWS = 10_000


class MpptestImporter(TextImporter):
    """See the module."""

    SIGNATURE = (
        r"#?p0\s+p1\s+dist\s+len\s+ave time \(us\)\s+rate|#?np time \(us\) for various sizes"
        r"|top 'Comm Perf for |set title \"Comm Perf for "
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._table = False
        self._operation: FoundValue | None = None
        self._gop = _Collective(out)

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if _HEAD.fullmatch(text):
            kind = self._operation
            self.leave()
            self._table, self._operation = True, kind
        elif title := _TITLE.fullmatch(text):
            self.leave()
            self._operation = words(title[1], line.number) if title[1] else None
        elif operation := _OPERATION.fullmatch(text):
            self._operation = words(operation[1], line.number)
        elif _GOP_HEAD.fullmatch(text):
            operation_before = self._operation
            self.leave()
            self._gop.begin(line.number, operation_before)
        elif self._gop.begun:
            self._gop.feed(text, line.number)
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
                parameters=({} if self._operation is None else {"type": self._operation})
                | {
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
        self._gop.end()
        self._table = False
        self._operation = None


class _Collective:
    """A table of goptest: rows, then the sizes of their columns."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._line = 0
        self._operation: FoundValue | None = None
        self._rows: list[tuple[int, list[str]]] = []
        self._sizes: dict[int, FoundValue] = {}
        self._column = 0
        self._twice = False

    @property
    def begun(self) -> bool:
        """Whether lines belong to a table."""
        return self._line > 0

    def begin(self, line: int, operation: FoundValue | None) -> None:
        """Process the head of a table."""
        self._line, self._operation = line, operation
        self._rows, self._sizes, self._column, self._twice = [], {}, 0, False

    def feed(self, text: str, line: int) -> None:
        """Process a line after the head."""
        if order := _ORDER.fullmatch(text):
            self._column = len(order[1]) // 2 + 1
        elif join := _JOIN.fullmatch(text):
            self._size(self._column, join[1], line)
            self._column = 0
        elif using := _USING.fullmatch(text):
            self._size(int(using[1]) - 1, using[2], line)
        elif _GOP_ROW.fullmatch(text):
            if len(self._rows) == _MOST_ROWS:
                self._out.skip(line, "This table of goptest has too many rows.")
                self._line = 0
            else:
                self._rows.append((line, text.split()))

    def _size(self, column: int, printed: str, line: int) -> None:
        if column < 1 or column in self._sizes:
            self._twice = True
        self._sizes[column] = FoundValue(int(printed), printed, line)

    def end(self) -> None:
        """Process the end of the table: its results."""
        if not self.begun:
            return
        if self._operation is None:
            self._out.skip(self._line, "The operation of this table of goptest is not named.")
        elif (
            not self._sizes
            or self._twice
            or set(self._sizes) != set(range(1, len(self._sizes) + 1))
        ):
            self._out.skip(self._line, "The sizes of this table of goptest are not complete.")
        else:
            for line, fields in self._rows:
                self._row(line, fields, self._operation)
        self._line = 0

    def _row(self, line: int, fields: list[str], operation: FoundValue) -> None:
        times = [number(printed, line, US) for printed in fields[1:]]
        if len(times) != len(self._sizes) or None in times:
            self._out.skip(line, "This row of goptest is damaged.")
            return
        for column, time in enumerate(times, 1):
            assert time is not None
            self._out.result(
                Result(
                    code=f"goptest.{slug(str(operation.value))}",
                    tool="goptest",
                    version=None,
                    parameters={
                        "ranks": FoundValue(int(fields[0]), fields[0], line),
                        "size": self._sizes[column],
                    },
                    series=[Series("time", "s", [time])],
                )
            )


IMPORTER = MpptestImporter
