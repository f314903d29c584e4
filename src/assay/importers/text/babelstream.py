"""BabelStream, formerly GPU-STREAM, as text and as CSV.

Source: ``main.cpp`` of versions 1 to 5. Rates are 10^6 bytes per second, or 2^20 where the table
header has MiBytes/sec. The program reports only failed validations. With ``--triad-only``, versions
up to 4 print no table but one time of all repetitions and the resulting rate; these form a separate
cell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from assay.importers.model import (
    MOST_ROWS,
    FoundValue,
    Line,
    Output,
    Result,
    Series,
    TextImporter,
    words,
)
from assay.importers.numbers import FIELD, WHOLE, number

_VERSION = re.compile(r"Version:\s*(\d[\w.]*)\s*")
_UNIT = r"[KMGT]i?(?:B|Bytes)"
_HEAD = re.compile(rf"Function\s+({_UNIT})/s(?:ec)?\s+Min \(sec\)\s+Max\s+Average\s*")
_RATE_COLUMN = re.compile(rf"max_({_UNIT})_per_sec", re.I)
_ROW = re.compile(
    rf"(Copy|Mul|Add|Triad|Dot|Nstream)\s+({FIELD})\s+({FIELD})\s+({FIELD})\s+({FIELD})\s*"
)
_LIKE_ROW = re.compile(r"(?:Copy|Mul|Add|Triad|Dot|Nstream)\s+[\d.]")
_CSV_HEAD = "function,num_times,n_elements,sizeof,"
# The output with --triad-only.
_ONE = re.compile(r"Running (triad|nstream) \d+ times\b.*")
_RUNTIME = re.compile(rf"Runtime \(seconds\):\s*({FIELD})\s*")
_BANDWIDTH = re.compile(rf"Bandwidth \(({_UNIT})/s\):\s*({FIELD})\s*")
_WHOLE_COLUMN = re.compile(rf"({_UNIT})_per_sec", re.I)
_ELEMENTS = re.compile(rf"Number of elements:\s*({WHOLE})\s*")
_WORDS = {
    "implementation": re.compile(
        r"(?:Implementation:|Using(?!.*\bdevice\b))\s*([A-Za-z][\w +.-]{0,40}?)\s*"
    ),
    "precision": re.compile(r"Precision:\s*(double|float)\s*"),
    "memory": re.compile(r"Memory:\s*(\S.{0,40}?)\s*"),
    "reduction": re.compile(r"Reduction kernel config:\s*(\S.{0,80}?)\s*"),
    "order": re.compile(r"Running .{0,60} in (\w+) order"),
    "device": re.compile(r"Using (?:\w+ )?device:?\s+(\S.{0,80}?)\s*"),
}
_TIMES = re.compile(rf"Running (?:.{{0,60}}\s)?({WHOLE}) times\b.*")
_SIZE = re.compile(rf"Array size:\s*({FIELD})\s*(MB|KB|GB|MiB|KiB|GiB)\b.*")
_SIZES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class BabelStreamImporter(TextImporter):
    """See the module."""

    SIGNATURE = r"BabelStream\s*$|GPU-STREAM\s*$|function,num_times,n_elements,sizeof,"

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._version: str | None = None
        self._settings: dict[str, FoundValue] = {}
        self._factor: int | None = None
        self._columns: list[str] = []
        self._rows: list[tuple[dict[str, FoundValue], list[Series]]] = []
        self._wrong = False
        self._wrong_since = False  # since the last row
        self._runtime: tuple[str, int] | None = None
        self._only: FoundValue | None = None

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if text in ("BabelStream", "GPU-STREAM"):
            self.leave()
        elif version := _VERSION.fullmatch(text):
            self._version = version[1]
        elif head := _HEAD.fullmatch(text):
            self._factor = _factor(head[1])
        elif text.startswith(_CSV_HEAD):
            if self._columns and self._rows:  # the table of another run of the program
                self._flush()
            self._columns = text.split(",")
        elif text.startswith(("Validation failed", "FAILED validation")):
            self._wrong = self._wrong_since = True
        elif self._columns and text.count(",") == len(self._columns) - 1:
            self._csv(text.split(","), line.number)
        elif row := _ROW.fullmatch(text):
            self._row(row, line.number)
        elif runtime := _RUNTIME.fullmatch(text):
            self._runtime = runtime[1], line.number
        elif bandwidth := _BANDWIDTH.fullmatch(text):
            self._whole(bandwidth, line.number)
        elif _LIKE_ROW.match(text):
            self.out.skip(line.number, "This row of BabelStream's table is damaged.")
        else:
            self._setting(text, line.number)

    def _setting(self, text: str, line: int) -> None:
        for name, pattern in _WORDS.items():
            if found := pattern.fullmatch(text):
                self._settings[name] = words(found[1], line)
        if one := _ONE.fullmatch(text):
            self._only = words(one[1], line)
        if times := _TIMES.fullmatch(text):
            self._settings["times"] = FoundValue(int(times[1]), times[1], line)
        if elements := _ELEMENTS.fullmatch(text):
            self._settings["elements"] = FoundValue(int(elements[1]), elements[1], line)
        if size := _SIZE.fullmatch(text):
            # The program rounds this number: it distinguishes sizes but isn't exact.
            found_size = number(size[1], line, _SIZES[size[2]])
            if found_size is not None:
                self._settings["array_bytes"] = found_size

    def _row(self, row: re.Match[str], line: int) -> None:
        if self._factor is None:
            self.out.skip(line, "This row of BabelStream comes before its table header.")
            return
        operation = FoundValue(row[1].lower(), row[1], line)
        printed = dict(zip(("rate", "time.min", "time.max", "time"), row.groups()[1:], strict=True))
        self._take({"op": operation}, printed, self._factor, line)

    def _whole(self, bandwidth: re.Match[str], line: int) -> None:
        """The two lines of ``--triad-only``; the second is the bandwidth."""
        time, self._runtime = self._runtime, None
        if time is None or time[1] != line - 1 or self._only is None:
            self.out.skip(line, "The operation or the run time of this bandwidth is missing.")
            return
        self._take(
            {"op": self._only, "timed": FoundValue("all repetitions", "", line)},
            {"rate": bandwidth[2], "time.all": time[0]},
            _factor(bandwidth[1]),
            line,
            {"time.all": time[1]},
        )

    def _csv(self, fields: list[str], line: int) -> None:
        row = dict(zip(self._columns, fields, strict=True))
        rate = next((name for name in row if _RATE_COLUMN.fullmatch(name)), "")
        names = {"rate": rate, "time.min": "min_runtime", "time.max": "max_runtime"}
        names["time"] = "avg_runtime"
        whole = next((name for name in row if _WHOLE_COLUMN.fullmatch(name)), "")
        if whole and "runtime" in row:
            rate, names = whole, {"rate": whole, "time.all": "runtime"}
        if not all(name in row for name in names.values()):
            self.out.skip(line, "This row of BabelStream's CSV has unknown columns.")
            return
        parameters = {"op": FoundValue(row["function"].lower(), row["function"], line)}
        for column, name in (
            ("n_elements", "elements"),
            ("sizeof", "element_bytes"),
            ("num_times", "times"),
        ):
            found = number(row.get(column, ""), line)
            if found is None:
                self.out.skip(line, f"'{row.get(column, '')}' is not a number.")
                return
            parameters[name] = found
        if rate == whole:
            parameters["timed"] = FoundValue("all repetitions", "", line)
        unit = _RATE_COLUMN.fullmatch(rate) or _WHOLE_COLUMN.fullmatch(rate)
        assert unit is not None
        self._take(parameters, {m: row[name] for m, name in names.items()}, _factor(unit[1]), line)

    def _take(
        self,
        parameters: dict[str, FoundValue],
        printed: dict[str, str],
        factor: int,
        line: int,
        lines: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Keep a row. ``lines``: lines of the metrics that are not printed in ``line``."""
        series = []
        for metric, text in printed.items():
            rate = metric == "rate"
            place = lines.get(metric, line)
            found = number(text, place, factor if rate else 1)
            if found is None:
                self.out.skip(place, f"'{text}' is not a number.")
                return
            series.append(Series(metric, "B/s" if rate else "s", [found]))
        if len(self._rows) >= MOST_ROWS:
            self.out.skip(line, f"BabelStream's table has more than {MOST_ROWS:,} rows.")
            return
        self._rows.append((parameters, series))
        self._wrong_since = False

    def _flush(self) -> None:
        """A table's results; a failed validation after its last row may be the next table's."""
        for parameters, series in self._rows:
            self.out.result(
                Result(
                    code="babelstream",
                    tool="BabelStream",
                    version=self._version,
                    parameters=parameters | self._settings,
                    series=series,
                    verified=False if self._wrong else None,
                    check="validation of the solution" if self._wrong else "",
                )
            )
        self._rows, self._wrong, self._wrong_since = [], self._wrong_since, False

    def leave(self) -> None:
        """The end of the output."""
        self._flush()
        self._version, self._settings, self._factor = None, {}, None
        self._columns, self._wrong, self._wrong_since = [], False, False
        self._runtime = self._only = None


def _factor(unit: str) -> int:
    """Bytes per unit as the program writes it: MBytes, MiBytes, GB, GiB …"""
    power = "kmgt".index(unit[0].lower()) + 1
    return 1 << 10 * power if unit[1] in "iI" else int(10 ** (3 * power))


IMPORTER = BabelStreamImporter
