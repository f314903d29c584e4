"""HPCG 2 and 3: result files as text (3.1) or YAML (earlier), and output of vendors' versions.

Source: ``ReportResults.cpp``. A rating that HPCG reports as invalid is stored as failed.
"""

from __future__ import annotations

import re
from decimal import Decimal

from assay.importers.model import FoundValue, Line, Output, Result, Series, TextImporter
from assay.importers.numbers import FIELD, WHOLE, number

# Intel's version has no line that contains only the name of the benchmark.
_NAMED_VERSION = re.compile(r"version=HPCG-Benchmark_(\d[\w.]*)")
_VERSION = re.compile(r"(?:version\s*=|HPCG version:|Mini-Application Version:)\s*(\d[\w.]*).*")
_RATING = re.compile(
    rf"(?:\S.*::)?HPCG result is (VALID|INVALID)(?: with a GFLOP/s rating of\s*[=:]\s*({FIELD}))?.*"
)
_ENTRY = re.compile(rf"(?:(.+)::)?\s*([^=:]{{1,60}}?)\s*[=:]\s*({FIELD})\s*")
_SECTION = re.compile(r"[_ ]*([A-Z][\w/ ().-]{2,60}?)[_ ]*[=:]\s*")
_GIGA = Decimal(10) ** 9
_COUNTS = {
    "Distributed Processes": "ranks",
    "Threads per processes": "threads",
    "Global nx": "nx",
    "Global ny": "ny",
    "Global nz": "nz",
    "npx": "npx",
    "npy": "npy",
    "npz": "npz",
}
_RATES = {"Raw DDOT": "ddot", "Raw WAXPBY": "waxpby", "Raw SpMV": "spmv", "Raw MG": "mg"}
_RATES |= {"Raw Total": "raw", "Total with convergence overhead": "with_overhead"}


class HpcgImporter(TextImporter):
    """See the module."""

    SIGNATURE = (
        r"HPCG-Benchmark|version=HPCG-Benchmark_|HPCG result is (?:IN)?VALID"
        r"|Mini-Application Name: +hpcg|Final Summary.{0,20}::HPCG result is"
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._reset()

    def _reset(self) -> None:
        self._version: str | None = None
        self._settings: dict[str, FoundValue] = {}
        self._series: list[Series] = []
        self._section = ""

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if text == "HPCG-Benchmark" or text.startswith("Mini-Application Name:"):
            self._reset()
        elif named := _NAMED_VERSION.fullmatch(text):
            self._reset()
            self._version = named[1]
        elif version := _VERSION.fullmatch(text):
            self._version = version[1]
        elif rating := _RATING.fullmatch(text):
            self._rate(rating, line.number)
        elif section := _SECTION.fullmatch(text):
            self._section = section[1].strip()
        elif entry := _ENTRY.fullmatch(text):
            self._entry(entry, line.number)

    def _entry(self, entry: re.Match[str], line: int) -> None:
        section, name, printed = entry[1] or self._section, entry[2].strip(), entry[3]
        if name in _COUNTS:
            if re.fullmatch(WHOLE, printed):
                self._settings[_COUNTS[name]] = FoundValue(int(printed), printed, line)
            else:
                self.out.skip(line, f"'{printed}' is not an integer.")
        elif "GFLOP/s Summary" in section and name in _RATES:
            found = number(printed, line, _GIGA)
            metric = f"rate.{_RATES[name]}"
            if found is None or any(series.metric == metric for series in self._series):
                self.out.skip(line, f"'{name}' is not a number or occurs twice.")
            else:
                self._series.append(Series(metric, "flop/s", [found]))

    def _rate(self, rating: re.Match[str], line: int) -> None:
        valid = rating[1] == "VALID"
        rate = number(rating[2], line, _GIGA) if rating[2] else None
        if rate is None and valid:
            self.out.skip(line, "HPCG's rating is not a number.")
            self._reset()
            return
        series = [Series("rate", "flop/s", [rate])] if rate is not None else []
        series += self._series
        if not series:
            self.out.skip(line, "HPCG reports an invalid result without a rating.")
        else:
            self.out.result(
                Result(
                    code="hpcg",
                    tool="HPCG",
                    version=self._version,
                    parameters=self._settings,
                    series=series,
                    verified=valid,
                    check="validity of the result",
                )
            )
        self._reset()

    def leave(self) -> None:
        """Process the end or the interruption of the output."""
        if self._series:
            line = self._series[0].found[0].line
            self.out.skip(line, "These results of HPCG end before the rating.")
        self._reset()


IMPORTER = HpcgImporter
