"""nvbandwidth, all versions: the matrices of each test case.

Source: ``output.cpp`` and ``testcase.cpp``. A test case is named by ``Running NAME.``; the line
below describes rows and columns (``memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)``), and since
version 0.4 the line ``SUM NAME`` ends the matrix. A matrix counts only if its numbers add up to
this sum; in older versions, if its rows are all there. GB/s are 10^9 bytes per second.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

from assay.importers.model import FoundValue, Line, Output, Result, Series, TextImporter, words
from assay.importers.numbers import NS, WHOLE, is_number, number

_VERSION = re.compile(r"nvbandwidth Version:\s*v?(\S+)\s*")
_RUNNING = re.compile(r"Running (?:benchmark )?([a-z][a-z0-9_]{2,80})\.?")
_TITLE = re.compile(r"(.{0,80}?\b(?:CPU|GPU|local|[Pp]rocess).{0,80}?)\s*\((GB/s|ns)\)")
_COLUMNS = re.compile(r"\d{1,4}(?:\s+\d{1,4})*")
_END = re.compile(r"(SUM|MIN|MAX|AVG)\s+([a-z][a-z0-9_]{2,80})\s+(\S+)")
_DEVICE = re.compile(rf"Device ({WHOLE}): (\S.*?)(?:\s+\([0-9a-fA-F:.]+\))?")
_PROCESS = re.compile(
    rf"Process\s+({WHOLE}) \((\S+)\): device ({WHOLE}): (\S.*?)(?:\s+\([\da-fA-F:.]+\))?"
)
_FACT = re.compile(r"(CUDA Runtime Version|Driver Version):\s*(\S.{0,30}?)\s*")
_FACTS = {"CUDA Runtime Version": "cuda", "Driver Version": "driver"}
_HOST = re.compile(r"[A-Za-z0-9][\w.-]{0,80}")
_MISSING = re.compile(r"(?:Waived|Error|ERROR|Not Found|\[?CUDA_ERROR\w*)\b.*")
UNITS: dict[str, tuple[str, str, Decimal]] = {
    "GB/s": ("bandwidth", "B/s", Decimal(10) ** 9),
    "ns": ("time", "s", NS),
}
PART = re.compile(r"\b(Read1|Read2|Write1|Write2|Total)\b")
_WITHOUT_SUM = ("0.1", "0.2", "0.3")
_SUMMARIES = {"SUM": "sum", "MIN": "min", "MAX": "max", "AVG": "mean"}


class NvbandwidthImporter(TextImporter):
    """See the module."""

    SIGNATURE = (
        r"nvbandwidth Version:"
        r"|Running (?:benchmark )?[a-z]\w{1,70}_(?:ce|sm|write|read|latency)\.?\s*$"
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._version: str | None = None
        self._settings: dict[str, FoundValue] = {}
        self._devices: dict[int, FoundValue] = {}
        self._hosts: dict[int, FoundValue] = {}  # of the processes of a run on several nodes
        self._host: FoundValue | None = None
        self._close()

    def _close(self) -> None:
        self._test: FoundValue | None = None
        self._title = ""
        self._unit = ""
        self._columns: list[int] = []
        self._matrix: dict[tuple[int, int], FoundValue] = {}
        self._read: list[int] = []
        self._problem = ""
        self._ended = False

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if running := _RUNNING.fullmatch(text):
            self._finish()
            self._test = words(running[1], line.number)
        elif end := _END.fullmatch(text):
            self._end(end, line.number)
        elif self._test is None:
            self._header(text, line.number)
        elif self._title and self._columns and re.match(r"\d", text):
            self._row(text.split(), line.number)
        elif self._title and not self._columns and _COLUMNS.fullmatch(text):
            self._columns = [int(word) for word in text.split()]
        elif title := _TITLE.fullmatch(text):
            self._next(title[1], title[2])
        elif _MISSING.fullmatch(text) and not self._matrix:
            self.out.skip(
                line.number, f"nvbandwidth's {self._test.value} has no result: {text[:120]}."
            )
            self._close()
        elif _VERSION.fullmatch(text):
            self._finish()
            self._header(text, line.number)

    def _header(self, text: str, line: int) -> None:
        if version := _VERSION.fullmatch(text):
            self._version, self._settings, self._host = version[1], {}, None
            self._devices, self._hosts = {}, {}
        elif fact := _FACT.fullmatch(text):
            self._settings[_FACTS[fact[1]]] = words(fact[2], line)
        elif process := _PROCESS.fullmatch(text):
            self._hosts[int(process[1])] = words(process[2], line)
            self._devices[int(process[1])] = words(process[4], line)
        elif device := _DEVICE.fullmatch(text):
            self._devices[int(device[1])] = words(device[2], line)
        elif _HOST.fullmatch(text) and "driver" in self._settings and not self._devices:
            self._host = words(text, line)

    def _next(self, title: str, unit: str) -> None:
        """A matrix begins: a test of both directions prints one for each, and one of the sums."""
        test = self._test
        if self._title:
            self._finish()
        self._test, self._title, self._unit = test, title, unit

    def _row(self, fields: list[str], line: int) -> None:
        if len(fields) != len(self._columns) + 1 or not fields[0].isdigit():
            self._problem = self._problem or f"row {fields[0][:20]} is damaged"
            return
        row = int(fields[0])
        self._read.append(row)
        for column, printed in zip(self._columns, fields[1:], strict=True):
            if printed == "N/A":
                continue
            found = number(printed, line, UNITS[self._unit][2])
            if found is None or (row, column) in self._matrix:
                self._problem = self._problem or f"'{printed[:40]}' is not a number of the matrix"
            else:
                self._matrix[row, column] = found

    def _end(self, end: re.Match[str], line: int) -> None:
        if self._test is None or end[2] != self._test.value or (self._ended and end[1] == "SUM"):
            self.out.skip(line, f"This {end[1]} of nvbandwidth belongs to no test case before it.")
            return
        if end[1] == "SUM":
            if not self._problem and not _adds_up(self._matrix.values(), end[3]):
                self._problem = "its numbers do not add up to their sum"
            self._put()
            self._ended = True
        if self._unit == "GB/s" and not self._problem and self._matrix:
            self._summary(end[1], end[3], line)

    def _summary(self, kind: str, printed: str, line: int) -> None:
        found = number(printed, line, UNITS[self._unit][2])
        if found is not None:
            of = FoundValue(_SUMMARIES[kind], kind, line)
            self._result({"of_matrix": of} | self._where(None, None), found)

    def _put(self) -> None:
        assert self._test is not None
        if self._problem or not self._matrix:
            what = self._problem or "it has no numbers"
            line = self._test.line
            self.out.skip(line, f"nvbandwidth's {self._test.value} is left out: {what}.")
            return
        for (row, column), found in self._matrix.items():
            if float(found.value) > 0.0:  # 0.00 is the diagonal of versions without N/A
                named = row_of(self._title, row, len(self._read), found.line)
                self._result(self._where(*place_of(self._title, row, column)) | named, found)

    def _where(self, device: int | None, peer: int | None) -> dict[str, FoundValue]:
        """Node, device and peer, with the model of the device."""
        assert self._test is not None
        found: dict[str, FoundValue] = {}
        line = self._test.line
        if part := PART.search(self._title):
            found["part"] = FoundValue(part[1], "", line)
        for name, index in (("device", device), ("peer", peer)):
            if index is not None:
                at = self._devices.get(index)
                found[name] = FoundValue(str(index), "", at.line if at else line)
        host = self._host if device is None else self._hosts.get(device, self._host)
        if host is not None:
            found["node"] = host
        model = self._devices.get(device) if device is not None else None
        if device is None and len({str(d.value) for d in self._devices.values()}) == 1:
            model = next(iter(self._devices.values()))
        return found | ({"gpu": model} if model is not None else {})

    def _result(self, where: Mapping[str, FoundValue], found: FoundValue) -> None:
        assert self._test is not None
        metric, unit, _ = UNITS[self._unit]
        self.out.result(
            Result(
                code=f"nvbandwidth.{self._test.value}",
                tool="nvbandwidth",
                version=self._version,
                parameters={**where, **self._settings},
                series=[Series(metric, unit, [found])],
            )
        )

    def _finish(self) -> None:
        """A matrix without its sum is incomplete, unless the version prints none."""
        if self._test is not None and self._matrix and not self._ended:
            if self._version in _WITHOUT_SUM and self._whole():
                self._put()
            else:
                self.out.skip(self._test.line, f"nvbandwidth's {self._test.value} is incomplete.")
        self._close()

    def _whole(self) -> bool:
        """Whether all rows of the matrix were read: as many as columns, if they are devices."""
        return "GPU(row)" not in self._title or self._read == list(range(len(self._columns)))

    def leave(self) -> None:
        """The end of the output."""
        self._finish()
        self._version, self._settings, self._devices, self._hosts = None, {}, {}, {}
        self._host = None


def place_of(title: str, row: int, column: int) -> tuple[int | None, int | None]:
    """The device and its peer by the words of the title: CPU(row) -> GPU(column)."""
    if "GPU(row)" in title or "GPU (row)" in title:
        return row, column
    if "row" in title and "column" not in title:
        return row, None
    return column, None


def row_of(title: str, row: int, rows: int, line: int) -> dict[str, FoundValue]:
    """The row as a parameter, if the processor has several: {} else."""
    several = rows > 1 and "CPU(row)" in title
    return {"row": FoundValue(str(row), "", line)} if several else {}


def _adds_up(found: Iterable[FoundValue], printed: str) -> bool:
    """Whether numbers add up to their printed sum, as precisely as they are printed."""
    values = [Decimal(each.printed) for each in found]
    if not is_number(printed):
        return False
    total = Decimal(printed)
    ulps = [Decimal((0, (1,), int(value.as_tuple().exponent))) for value in [*values, total]]
    return abs(sum(values, Decimal(0)) - total) <= sum(ulps, Decimal(0))


IMPORTER = NvbandwidthImporter
