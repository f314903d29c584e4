"""clpeak 1 and 2 as text.

Source: ``clpeak.cpp`` and the tests' files of version 1, ``logger_text.cpp`` of version 2. A test
has a title with its unit, such as ``Global memory bandwidth (GBPS)``, and a row per variant. GBPS
are 10^9 bytes per second. Results that follow no line ``Device: NAME`` are left out, since their
device is unknown.
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
    words,
)
from assay.importers.numbers import MS, NS, NUMBER, US, number

# Metric, unit and factor by the printed unit, in upper case.
UNITS: dict[str, tuple[str, str, Decimal]] = {
    "GBPS": ("bandwidth", "B/s", Decimal(10) ** 9),
    "GB/S": ("bandwidth", "B/s", Decimal(10) ** 9),
    "GFLOPS": ("rate", "flop/s", Decimal(10) ** 9),
    "TFLOPS": ("rate", "flop/s", Decimal(10) ** 12),
    "GIOPS": ("rate", "op/s", Decimal(10) ** 9),
    "TIOPS": ("rate", "op/s", Decimal(10) ** 12),
    "GOPS": ("rate", "op/s", Decimal(10) ** 9),
    "TOPS": ("rate", "op/s", Decimal(10) ** 12),
    "MS": ("time", "s", MS),
    "US": ("time", "s", US),
    "NS": ("time", "s", NS),
}
_UNIT = "|".join(sorted(UNITS, key=len, reverse=True))
_PLACE = re.compile(r"(Backend|Platform|Device)(?: \d+)?: (\S.{0,160}?)\s*")
_DRIVER = re.compile(r"Driver version\s+: (\S.{0,80}?)\s*")
_TITLE = re.compile(rf"([A-Za-z][^\n]{{2,90}}?) \(({_UNIT})\)")
_ROW = re.compile(rf"([A-Za-z][\w ()/.,+-]{{0,60}}?)\s*: ({NUMBER})(?:\s+[\[(].*)?")
_WITHOUT_VALUE = re.compile(r"[^:]{1,80}:\s*(?:\[.*)?")
_LATENCY = re.compile(rf"(Kernel launch latency) : ({NUMBER}) us")
_NAMES = {"Backend": "backend", "Platform": "platform", "Device": "gpu"}


class ClpeakImporter(TextImporter):
    """See the module."""

    SIGNATURE = (
        r"(?:Backend|Platform(?: \d+)?): \S"
        rf"|[A-Z][^\n:|]{{2,90}}? \((?:{_UNIT})\)\s*$|Kernel launch latency : \d[\d.]* us\s*$"
    )
    WEAK = r"(?:Backend|Platform(?: \d+)?): \S"

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._settings: dict[str, FoundValue] = {}
        self._title: tuple[str, str] | None = None
        self._seen: set[tuple[str, str]] = set()

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if place := _PLACE.fullmatch(text):
            self._place(_NAMES[place[1]], place[2], line.number)
        elif driver := _DRIVER.fullmatch(text):
            self._settings["driver"] = words(driver[1], line.number)
        elif title := _TITLE.fullmatch(text):
            self._title = title[1], title[2]
        elif latency := _LATENCY.fullmatch(text):
            self._put((latency[1], "US"), None, latency[2], line.number)
        elif self._title is not None and (row := _ROW.fullmatch(text)):
            self._put(self._title, words(row[1], line.number), row[2], line.number)
        elif text and not _WITHOUT_VALUE.fullmatch(text):
            self._title = None  # the title of a test with an unknown unit, or a remark

    def _place(self, name: str, value: str, line: int) -> None:
        order = list(_NAMES.values())
        for lower in [*order[order.index(name) :], "driver"]:
            self._settings.pop(lower, None)
        self._settings[name] = words(value, line)
        self._title, self._seen = None, set()

    def _put(self, title: tuple[str, str], row: FoundValue | None, printed: str, line: int) -> None:
        metric, unit, factor = UNITS[title[1]]
        found = number(printed, line, factor)
        if "gpu" not in self._settings:
            self.out.skip(line, "The device of this result of clpeak is not named before it.")
            return
        key = title[0], "" if row is None else str(row.value)
        if found is None or not float(found.value) > 0 or key in self._seen:
            why = "occurs twice" if key in self._seen else "is not a number above 0"
            self.out.skip(line, f"'{printed[:40]}' of clpeak {why}.")
            return
        self._seen.add(key)
        self.out.result(
            Result(
                code=f"clpeak.{slug(title[0])}",
                tool="clpeak",
                version=None,
                parameters=({} if row is None else {"variant": row}) | self._settings,
                series=[Series(metric, unit, [found])],
            )
        )

    def leave(self) -> None:
        """Results after another tool's output belong to no device."""
        self._settings, self._title, self._seen = {}, None, set()


IMPORTER = ClpeakImporter
