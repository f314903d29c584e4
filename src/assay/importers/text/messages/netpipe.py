"""NetPIPE 2 to 5: the lines that it prints while it measures; and ``np.out`` of versions 3 and 5.

Source: ``netpipe.c``. Mbps are 2^20 bits per second where lines have "bytes" (versions 2 and 3),
and 10^6 where they have "B", "KB" or "MB" (later versions); in the latter, rows with inconsistent
size, rate and time are left out, and sizes of 10^6 and more are rounded to three decimals. The
time is one-way. No version is printed. ``np.out`` has rows without any heading, and a row counts
only if its numbers agree: in version 3 bytes, Mbps (2^20 bits) and seconds; in version 5 bytes,
10^9 bits per second (mean, least, most) and microseconds. Version 5 adds up the rates of several
pairs: such rows do not agree, and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from assay.importers.model import (
    FoundValue,
    Line,
    Output,
    Result,
    Series,
    TextImporter,
    words,
)
from assay.importers.numbers import FIELD, WHOLE, number, unit_of

_OLD = re.compile(
    rf"\d{{1,4}}:\s+({WHOLE}) bytes\s+({WHOLE}) times -->\s*({FIELD}) Mbps"
    rf" in\s+({FIELD}) (usec|sec)"
)
_NEW = re.compile(
    rf"\d{{1,4}}:\s+(\d{{1,4}}(?:\.\d{{3}})?)\s+(B|KB|MB|GB|TB)\s+({WHOLE}) times -->"
    rf"\s*({FIELD})\s+([KMGT]?bps)\s+in\s+({FIELD})\s+(nsecs|usecs|msecs|secs)"
)
# Rows as printed by "%8d %lf %12.8lf".
_FILE_ROW = re.compile(r"(\d{1,12}) (\d{1,9}\.\d{6})\s+(\d{1,6}\.\d{8})")
# Rows as printed by "%9d %9.3lf %9.3lf %9.3lf %7.2lf"; the work done in the meantime may follow.
_GIGA_ROW = re.compile(
    r"(\d{1,12})((?: {1,9}\d{1,9}\.\d{3}){3}) {1,7}(\d{1,9}\.\d{2})"
    r"(?: {1,10}\d{1,6}\.\d{2} (?:GFlops|GB/sec))?"
)
# Lines before the rows that report options which change what is measured.
_MODES = (
    r"Passing data in both directions|Streaming in one direction|Performance measured without cache"
    r"|Preposting (?:asynchronous )?receives|Using synchronous sends|Using (?:the )?MPI_\w+"
    r"|Bi-?directional|Invalidat\w+ cache"
)
_MODE = re.compile(rf"(?:{_MODES}).{{0,80}}", re.ASCII)
_BUFFERS = re.compile(r"Send and receive buffers are (\d{1,15}) and (\d{1,15}) bytes.*")
_LIKE_ROW = re.compile(r"\d{1,4}:\s+\d[\d.]* .*(?:-->|times)")
_OLD_MEGABIT = Decimal(1 << 20) / 8
_NEW_UNITS = {
    unit: Decimal(1000) ** power / 8
    for power, unit in enumerate(("bps", "Kbps", "Mbps", "Gbps", "Tbps"))
}
# Relative tolerance; 2^20 instead of 10^6 is a deviation of 0.049.
_ROUNDING = 0.02
_LAST_DIGIT = 5e-9  # s; rounding of the times in np.out
_SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
# Rounding in version 5's np.out, B/s and s.
_GIGA_DIGITS = 0.0005e9 / 8, 0.005e-6


class NetpipeImporter(TextImporter):
    """See the module."""

    SIGNATURE = (
        rf"{_MODES}|Send and receive buffers are \d+ and \d+ bytes|Now starting (?:the )?main loop"
        r"|\d{1,4}:\s+\d+(?:\.\d{3})?\s+(?:bytes|B|KB|MB|GB|TB)\s+\d+ times -->"
        r"|\d{1,12} \d{1,9}\.\d{6}\s{1,12}\d{1,6}\.\d{8}\s*$"
        r"|\d{1,12}(?: {1,9}\d{1,9}\.\d{3}){3} {1,7}\d{1,9}\.\d{2}(?:\s|$)"
    )
    UNLABELLED = r"\s*\d{1,4}:\s+\d+(?:\.\d{3})?\s+(?:bytes|B|KB|MB|GB|TB)\s+\d+ times"

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._settings: dict[str, FoundValue] = {}
        self._rows = False

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if _MODE.fullmatch(text):
            self._begin()
            number_ = len([name for name in self._settings if name.startswith("mode")]) + 1
            self._settings["mode" if number_ == 1 else f"mode_{number_}"] = words(text, line.number)
        elif buffers := _BUFFERS.fullmatch(text):
            self._begin()
            for place, name in ((1, "send_buffer_bytes"), (2, "receive_buffer_bytes")):
                found = FoundValue(int(buffers[place]), buffers[place], line.number)
                self._settings[name] = found
        elif old := _OLD.fullmatch(text):
            size = FoundValue(int(old[1]), old[1], line.number)
            time = number(old[4], line.number, _factor(old[5]))
            self._put(size, number(old[3], line.number, _OLD_MEGABIT), time, old[2])
        elif new := _NEW.fullmatch(text):
            size = FoundValue(int(Decimal(new[1]) * _SIZES[new[2]]), new[1], line.number)
            rate = number(new[4], line.number, _NEW_UNITS[new[5]])
            time = number(new[6], line.number, _factor(new[7]))
            if rate is not None and time is not None and not _fit(size, rate, time):
                self.out.skip(line.number, "Size, rate and time of this row are inconsistent.")
                return
            self._put(size, rate, time, new[3])
        elif row := _FILE_ROW.fullmatch(text):
            size = FoundValue(int(row[1]), row[1], line.number)
            rate = number(row[2], line.number, _OLD_MEGABIT)
            time = number(row[3], line.number)
            if rate is None or time is None or not _fit(size, rate, time, _LAST_DIGIT):
                self.out.skip(line.number, "Size, rate and time of this row are inconsistent.")
                return
            self._put(size, rate, time)
        elif giga := _GIGA_ROW.fullmatch(text):
            self._of_file(giga[1], giga[2].split(), giga[3], line.number)
        elif _LIKE_ROW.match(text):
            self.out.skip(line.number, "This row of NetPIPE is damaged.")

    def _begin(self) -> None:
        """A line before the rows; lines after the last rows belong to another run."""
        if self._rows:
            self._settings, self._rows = {}, False

    def leave(self) -> None:
        """Process another tool's output; lines after it belong to another run."""
        self._settings, self._rows = {}, False

    def _of_file(self, whole: str, rates: list[str], usec: str, line: int) -> None:
        """A row of version 5's np.out. A rate that is printed as 0 is left out."""
        size = FoundValue(int(whole), whole, line)
        time = number(usec, line, _factor("usec"))
        found = [number(rate, line, _NEW_UNITS["Gbps"]) for rate in rates]
        mean, least, most = (None if rate is None else float(rate.value) for rate in found)
        if mean is None or least is None or most is None or time is None:
            self.out.skip(line, "Rate and time of this row of NetPIPE are not both numbers.")
            return
        digits = _GIGA_DIGITS[0] * float(time.value) + mean * _GIGA_DIGITS[1]
        exact = abs(mean * float(time.value) - float(size.value)) <= digits
        if not (exact and least <= mean <= most and float(time.value) > 0):
            self.out.skip(line, "Size, rate and time of this row are inconsistent.")
            return
        names = ("bandwidth", "bandwidth.min", "bandwidth.max")
        series = [
            Series(name, "B/s", [rate])
            for name, rate in zip(names, found, strict=True)
            if rate is not None and float(rate.value) > 0
        ]
        self._result(size, [*series, Series("time", "s", [time])])

    def _put(
        self,
        size: FoundValue,
        rate: FoundValue | None,
        time: FoundValue | None,
        times: str | None = None,
    ) -> None:
        if rate is None or time is None:
            self.out.skip(size.line, "Rate and time of this row of NetPIPE are not both numbers.")
            return
        series = [Series("bandwidth", "B/s", [rate]), Series("time", "s", [time])]
        if times is not None:
            repeated = FoundValue(int(times), times, size.line)
            series.append(Series("repetitions", "", [repeated]))
        self._result(size, series)

    def _result(self, size: FoundValue, series: Sequence[Series]) -> None:
        self._rows = True
        self.out.result(
            Result(
                code="netpipe",
                tool="NetPIPE",
                version=None,
                parameters={"bytes": size} | self._settings,
                series=series,
            )
        )


def _fit(size: FoundValue, rate: FoundValue, time: FoundValue, digit: float = 0.0) -> bool:
    """Whether the rate is size over time, up to rounding; else its unit differs.

    ``digit``: half a unit of the time's last decimal, s.
    """
    per_second, whole = float(rate.value), float(size.value)
    return abs(per_second * float(time.value) - whole) <= _ROUNDING * whole + per_second * digit


def _factor(unit: str) -> Decimal:
    found = unit_of(unit.removesuffix("s") if unit != "secs" else "s")
    assert found is not None
    return found[1]


IMPORTER = NetpipeImporter
