"""HPCG 2 and 3: result files as text (3.1) or YAML (earlier), and output of vendors' versions.

Source: ``ReportResults.cpp``; outputs of Intel's version and of AMD's rocHPCG. A rating that HPCG
reports as invalid is stored as failed.
"""

from __future__ import annotations

import re
from decimal import Decimal

from assay.importers.model import FoundValue, Line, Output, Result, Series, TextImporter
from assay.importers.numbers import FIELD, WHOLE, number

# Not "hpcg", which is assay's own code for the same problem.
CODE = "hpcg-benchmark"
AMD_CODE = "rochpcg"
# Intel's version has no line that contains only the name of the benchmark.
_NAMED_VERSION = re.compile(r"version=HPCG-Benchmark_(\d[\w.]*)")
_VERSION = re.compile(r"(?:version\s*=|HPCG version:|Mini-Application Version:)\s*(\d[\w.]*).*")
# YAML of HPCG 3.0; Intel's version has its grid, ranks and threads in place of the name.
_YAML_VERSION = re.compile(r"\S+ version:\s*V?(\d[\w.]*)")
# Intel's version prints the rating before the result file, too.
_PLAIN_RATING = re.compile(rf"HPCG result is VALID with a GFLOP/s rating of\s+({FIELD})")
_RATING = re.compile(
    rf"(?:\S.*::)?HPCG result is (VALID|INVALID)(?: with a GFLOP/s rating of\s*[=:]\s*({FIELD}))?.*"
)
_ENTRY = re.compile(rf"(?:(.+)::)?\s*([^=:]{{1,60}}?)\s*[=:]\s*({FIELD})\s*")
_AMD_RATE = re.compile(rf"(DDOT|WAXPBY|SpMV|MG|Total|Final)\s*=\s*({FIELD}) GFlop/s \(.*")
_AMD_EXTENTS = re.compile(r"(Global|Process) domain:\s*(\d+) x (\d+) x (\d+)")
_AMD_RATES = {"Total": "raw", "Final": ""} | {
    name: name.lower() for name in ("DDOT", "WAXPBY", "SpMV", "MG")
}
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
        r"|Local domain: +\d+ x \d+ x \d+"
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._reset()

    def _reset(self) -> None:
        self._version: str | None = None
        self._settings: dict[str, FoundValue] = {}
        self._series: list[Series] = []
        self._section = ""
        self._valid: bool | None = None
        self._plain: FoundValue | None = None

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
        elif version := _YAML_VERSION.fullmatch(text):
            self._plain = None
            self._version = version[1]
        elif plain := _PLAIN_RATING.fullmatch(text):
            self.leave()
            self._plain = number(plain[1], line.number, _GIGA)
        elif amd := _AMD_RATE.fullmatch(text):
            self._amd_rate(amd, line.number)
        elif extents := _AMD_EXTENTS.fullmatch(text):
            self._extents(extents, line.number)
        elif re.search(r"INVALID RUN|NOT A VALID RUN", text):
            self._valid = False
        elif rating := _RATING.fullmatch(text):
            self._rate(rating, line.number)
        elif section := _SECTION.fullmatch(text):
            self._section = section[1].strip()
        elif entry := _ENTRY.fullmatch(text):
            self._entry(entry, line.number)

    def _amd_rate(self, rate: re.Match[str], line: int) -> None:
        found = number(rate[2], line, _GIGA)
        if found is None:
            self.out.skip(line, f"'{rate[1]}' is not a number.")
            self._reset()
            return
        kind = _AMD_RATES[rate[1]]
        self._series.append(Series(f"rate.{kind}".rstrip("."), "flop/s", [found]))
        if rate[1] == "Final":
            self._result(self._series, AMD_CODE, "rocHPCG", self._valid)

    def _extents(self, extents: re.Match[str], line: int) -> None:
        names = "n{}" if extents[1] == "Global" else "np{}"
        for axis, count in zip("xyz", extents.groups()[1:], strict=True):
            self._settings[names.format(axis)] = FoundValue(int(count), count, line)

    def _result(self, series: list[Series], code: str, tool: str, valid: bool | None) -> None:
        self.out.result(
            Result(
                code=code,
                tool=tool,
                version=self._version,
                parameters=self._settings,
                series=series,
                verified=valid,
                check="validity of the result",
            )
        )
        self._reset()

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
            self._reset()
        else:
            self._result(series, CODE, "HPCG", valid)

    def leave(self) -> None:
        """Process the end or the interruption of the output."""
        if self._plain is not None:
            self._result([Series("rate", "flop/s", [self._plain])], CODE, "HPCG", True)
        if self._series:
            line = self._series[0].found[0].line
            self.out.skip(line, "These results of HPCG end before the rating.")
        self._reset()


IMPORTER = HpcgImporter
