"""IOzone 3: the table of its automatic mode, and its throughput mode.

Source: ``iozone.c`` and its documentation. A kByte is 1024 bytes. A row is imported only if its
numbers fill the first columns without gaps: tests that were not requested leave blank columns.
"""

from __future__ import annotations

import re
from decimal import Decimal

from assay.importers.model import (
    FoundValue,
    Line,
    Output,
    Result,
    Series,
    TextImporter,
    slug,
)
from assay.importers.numbers import FIELD, KIB, US, number
from assay.importers.settings import command_options

_VERSION = re.compile(r"\s*Version \$Revision: ([\d.]+) \$\s*")
_UNIT = re.compile(r"\s*Output is in (kBytes|Kbytes|KBytes|kbytes|operations|[Mm]icroseconds)\b.*")
_HEAD = re.compile(r"\s*(?:kB|KB)\s+reclen\s+\S.*")
# The columns of the automatic table in order, and the words in the two lines of its header.
_ORDER = (
    "write",
    "rewrite",
    "read",
    "reread",
    "random_read",
    "random_write",
    "backward_read",
    "record_rewrite",
    "stride_read",
    "fwrite",
    "frewrite",
    "fread",
    "freread",
)
_UPPER = ["random", "random", "bkwd", "record", "stride"]
_LOWER = [
    "write",
    "rewrite",
    "read",
    "reread",
    "read",
    "write",
    "read",
    "rewrite",
    "read",
    "fwrite",
    "frewrite",
    "fread",
    "freread",
]
_UNITS: dict[str, tuple[str, str, Decimal | int]] = {
    "k": ("bandwidth", "B/s", KIB),
    "o": ("rate", "op/s", 1),
    "m": ("time", "s", US),
}
_ROW = re.compile(rf"\s*(\d{{1,15}})\s+(\d{{1,12}})((?:\s+{FIELD})*)\s*")
_THROUGHPUT = re.compile(
    r"\s*Children see throughput for\s+(\d{1,6})\s+(.+?)\s*=\s*(\S+)"
    r"\s*([kK]B(?:ytes)?/sec|ops/sec)\s*"
)
_SETTING = re.compile(r"\s*(Record Size|File size set to)\s+(\d{1,15})\s*(kB|KB)\s*")


_COMMAND = re.compile(r"\s*Command line used:\s*(\S.*?)\s*")
# Modes that change what is measured; they are printed if an option requests them.
_MODES = {
    "direct": re.compile(r"\s*(O_DIRECT feature enabled)\b.*", re.I),
    "flush": re.compile(r"\s*(Include fsync in write timing)\b.*"),
    "close": re.compile(r"\s*(Include close in write timing)\b.*"),
    "sync": re.compile(r"\s*(SYNC Mode)\b.*"),
    "purge": re.compile(r"\s*(Purge Mode On)\b.*"),
    "stride": re.compile(r"\s*File stride size set to\s+(\d.*?)\.?\s*"),
    "throughput": re.compile(r"\s*Throughput test with\s+(\d{1,6}\s+(?:process|thread)\w*)\b.*"),
    "cpu_cache": re.compile(r"\s*Processor cache size set to\s+(\d+\s+\w+)\.?\s*"),
    "retest": re.compile(r"\s*(No retest option selected)\b.*"),
    "stonewall": re.compile(r"\s*(Stonewall disabled)\b.*"),
}


class IozoneImporter(TextImporter):
    """See the module."""

    SIGNATURE = r"Iozone: Performance Test of File I/O|Version \$Revision: 3\.\d+ \$\s*$"

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._begin()

    def _begin(self) -> None:
        self._version: str | None = None
        self._unit = _UNITS["k"]
        self._columns: list[str] = []
        self._above = ""
        self._settings: dict[str, FoundValue] = {}
        self._modes: dict[str, FoundValue] = {}

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.expandtabs()
        if "Iozone: Performance Test" in text:
            self._begin()
        elif version := _VERSION.fullmatch(text):
            self._version = version[1]
        elif unit := _UNIT.fullmatch(text):
            self._unit = _UNITS[unit[1][0].lower()]
        elif _HEAD.fullmatch(text):
            self._head(text, line.number)
        elif self._columns and (row := _ROW.fullmatch(text)):
            self._row(row, line.number)
        elif throughput := _THROUGHPUT.fullmatch(text):
            self._throughput(throughput, line.number)
        elif setting := _SETTING.fullmatch(text):
            name = "record_bytes" if setting[1] == "Record Size" else "file_bytes"
            found = number(setting[2], line.number)
            if found is not None and isinstance(found.value, int):
                size = FoundValue(found.value * KIB, found.printed, found.line)
                self._settings[name] = size
        elif not self._columns:
            self._mode(text, line.number)
        self._above = text

    def _mode(self, text: str, line: int) -> None:
        if command := _COMMAND.fullmatch(text):
            options = command_options(
                command[1], line, alone="aARw", valued="bdfgilnqrstuy", listed="F"
            )
            if options is not None:
                self._modes["options"] = options
        for name, pattern in _MODES.items():
            if mode := pattern.fullmatch(text):
                # Nothing was printed: tabs have become blanks.
                self._modes[name] = FoundValue(" ".join(mode[1].split()), "", line)

    def _head(self, text: str, line: int) -> None:
        known = text.split()[2:] == _LOWER and self._above.split() == _UPPER
        self._columns = list(_ORDER) if known else []
        if not known:
            self.out.skip(line, "The columns of IOzone's table are unknown.")

    def _row(self, row: re.Match[str], line: int) -> None:
        printed = row[3].split()
        places = [match.end() for match in re.finditer(r"\S+", row[3])]
        if not printed:
            return
        if len(printed) > len(self._columns):
            self.out.skip(line, "This row of IOzone's table has too many numbers.")
            return
        if len(printed) < len(self._columns) and not self._leading(printed, places):
            self.out.skip(line, "The blank columns of this row can't be identified.")
            return
        metric, unit, factor = self._unit
        parameters = {
            "file_bytes": FoundValue(int(row[1]) * KIB, row[1], line),
            "record_bytes": FoundValue(int(row[2]) * KIB, row[2], line),
        }
        results = []
        for text, operation in zip(printed, self._columns, strict=False):
            found = number(text, line, factor)
            if found is None:
                self.out.skip(line, f"'{text}' is not a number.")
                return
            results.append((operation, found))
        for operation, found in results:
            self._put(operation, parameters, Series(metric, unit, [found]), line)

    @staticmethod
    def _leading(printed: list[str], places: list[int]) -> bool:
        """Whether the numbers fill the first columns, without gaps."""
        return all(b - a <= 12 for a, b in zip([0, *places], places, strict=False))

    def _throughput(self, throughput: re.Match[str], line: int) -> None:
        rate = throughput[4].startswith("ops")
        found = number(throughput[3], line, 1 if rate else KIB)
        if found is None:
            self.out.skip(line, f"'{throughput[3]}' is not a number.")
            return
        processes = FoundValue(int(throughput[1]), throughput[1], line)
        series = Series("rate" if rate else "bandwidth", "op/s" if rate else "B/s", [found])
        operation = slug(throughput[2])
        self._put(operation, self._settings | {"processes": processes}, series, line)

    def _put(
        self, operation: str, parameters: dict[str, FoundValue], series: Series, line: int
    ) -> None:
        self.out.result(
            Result(
                code="iozone",
                tool="IOzone",
                version=self._version,
                parameters={"op": FoundValue(operation, "", line)} | parameters | self._modes,
                series=[series],
            )
        )

    def leave(self) -> None:
        """Rows after another tool's output belong to no table."""
        self._columns = []


IMPORTER = IozoneImporter
