"""likwid-bench 3 to 5.

Source: ``bench/likwid-bench.c``. MByte are 10^6 bytes. A block ends with its line MByte/s; the
program prints no version.
"""

from __future__ import annotations

import re
from decimal import Decimal

from assay.importers.model import FoundValue, Line, Output, Result, Series, TextImporter, words
from assay.importers.numbers import WHOLE, number

_TEST = re.compile(r"Test:\s*(\S+)")
_COUNT = re.compile(rf"Using ({WHOLE}) (work groups|threads)")
_ENTRY = re.compile(r"([A-Z][\w/ ().]{1,30}?):\s+(\S+)(?: sec)?")
# Location of the streams' memory: "Allocate: Process running on hwthread 0 (Domain S0) - …".
_ALLOCATED = re.compile(r"Allocate: Process running on (?:core|hwthread) \d+ \(Domain (\w+)\).*")
_MEGA = Decimal(10) ** 6
_MOST_DOMAINS = 64
_METRICS: dict[str, tuple[str, str, Decimal | int]] = {
    "Time": ("time", "s", 1),
    "MFlops/s": ("flops", "flop/s", _MEGA),
    "MByte/s": ("bandwidth", "B/s", _MEGA),
}
_COUNTS = {"Size (Byte)": "bytes", "Size": "bytes"}


class LikwidBenchImporter(TextImporter):
    """See the module."""

    SIGNATURE = r"LIKWID MICRO BENCHMARK"

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._reset()

    def _reset(self) -> None:
        self._first = 0
        self._parameters: dict[str, FoundValue] = {}
        self._series: list[Series] = []
        self._damaged = False

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if text == "LIKWID MICRO BENCHMARK":
            self.leave()
            self._first = line.number
        elif not self._first:
            return
        elif test := _TEST.fullmatch(text):
            self._parameters["test"] = words(test[1], line.number)
        elif allocated := _ALLOCATED.fullmatch(text):
            self._allocate(allocated[1], line.number)
        elif count := _COUNT.fullmatch(text):
            name = "groups" if count[2] == "work groups" else "threads"
            self._parameters[name] = FoundValue(int(count[1]), count[1], line.number)
        elif entry := _ENTRY.fullmatch(text):
            self._entry(entry[1], entry[2], line.number)

    def _allocate(self, domain: str, line: int) -> None:
        before = self._parameters.get("domains")
        domains = [] if before is None else str(before.value).split(",")
        if domain not in domains and len(domains) < _MOST_DOMAINS:
            found = ",".join([*domains, domain])
            self._parameters["domains"] = FoundValue(found, "", before.line if before else line)

    def _entry(self, name: str, printed: str, line: int) -> None:
        if name in _COUNTS:
            found = number(printed, line)
            if found is not None and isinstance(found.value, int):
                self._parameters[_COUNTS[name]] = found
            else:
                self._damaged = True
        elif name in _METRICS:
            metric, unit, factor = _METRICS[name]
            found = number(printed, line, factor)
            if found is None or any(series.metric == metric for series in self._series):
                self._damaged = True
            else:
                self._series.append(Series(metric, unit, [found]))
            if name == "MByte/s":
                self._whole()

    def _whole(self) -> None:
        if self._damaged or "test" not in self._parameters:
            self.out.skip(self._first, "The results of likwid-bench that begin here are damaged.")
        else:
            self.out.result(
                Result(
                    code="likwid-bench",
                    tool="likwid-bench",
                    version=None,
                    parameters=self._parameters,
                    series=self._series,
                )
            )
        self._reset()

    def leave(self) -> None:
        """A block without its bandwidth is incomplete."""
        if self._series:
            self.out.skip(self._first, "These results of likwid-bench are incomplete.")
        self._reset()


IMPORTER = LikwidBenchImporter
