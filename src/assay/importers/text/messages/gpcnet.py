"""GPCNeT 1: network_test and network_load_test, each as it is built by default or verbose.

Source: ``utils.c``, ``network_test.c``, ``network_load_test.c``. A box names the section, a line
below it the columns; rows follow. ``Avg`` is the mean over the ranks of each test, and then over
the tests. ``99%`` and ``99.9%`` are the values that this share of all results is at least as good
as: for bandwidths the low tail. A bandwidth belongs to one rank. ``Congestion Impact Factor`` is
computed from the printed numbers, how many times as bad the loaded one is as the isolated one.
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
from assay.importers.numbers import FIELD, MIB, US, WHOLE, number

_HEADER = re.compile(r"(Network|NetworkLoad) Tests v(\d[\w.]*)")
_PROGRAMS = {"Network": "network_test", "NetworkLoad": "network_load_test"}
# Lines below the header, and the names of their numbers.
_COUNTS = (
    (re.compile(rf"Test with ({WHOLE}) MPI ranks \(({WHOLE}) nodes\)"), ("ranks", "nodes")),
    (re.compile(rf"({WHOLE}) nodes running Network Tests"), ("test_nodes",)),
    (
        re.compile(
            rf"({WHOLE}) nodes running Congestion Tests \(min {WHOLE} nodes per congestor\)"
        ),
        ("congestor_nodes",),
    ),
)
_BOX = re.compile(r"\|\s*([^|]*?)\s*\|")
_LOADED = "Network Tests running with Congestion Tests"
# A section's title; the verbose build names the test that runs beside the congestors.
_SECTION = re.compile(
    rf"(Isolated Network Tests|Isolated Congestion Tests|{_LOADED})"
    r"(?: \(\s*(\S[^()]*?) Network Test\)| - (Key Results))?"
)
_LOADS = {
    "Isolated Network Tests": "none",
    "Isolated Congestion Tests": "none",
    _LOADED: "congestors",
}
_NAME = re.compile(rf"([A-Z][\w+ -]{{2,30}}?) \(({WHOLE}) B\)")
_FACTOR = re.compile(rf"({FIELD})X")
# Endings of the metrics by the headings of the columns.
_ENDINGS = {
    "Min": ".min",
    "Max": ".max",
    "Avg": "",
    "Avg(Worst)": ".worst_rank",
    "99%": ".tail_99",
    "99.9%": ".tail_99_9",
}
_UNITS: dict[str, tuple[str, str, Decimal]] = {
    "usec": ("time", "s", US),
    "MiB/s/rank": ("bandwidth_per_rank", "B/s", Decimal(MIB)),
}
_KEY_COLUMNS = ["Avg", "99%"]


class GpcnetImporter(TextImporter):
    """See the module."""

    SIGNATURE = r"Network(?:Load)? Tests v\d"

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._version: str | None = None
        self._settings: dict[str, FoundValue] = {}
        self._section: dict[str, FoundValue] | None = None
        self._columns: list[str] = []
        self._key = False  # whether the section holds the impact factors

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if header := _HEADER.fullmatch(text):
            self.leave()
            self._version = header[2]
            self._settings = {
                "program": FoundValue(_PROGRAMS[header[1]], header[1], line.number),
            }
        elif text.startswith("|"):
            self._line_of_box(text, line.number)
        elif self._section is None:
            self._count(text, line.number)

    def _count(self, text: str, line: int) -> None:
        for pattern, names in _COUNTS:
            if counts := pattern.fullmatch(text):
                for name, printed in zip(names, counts.groups(), strict=True):
                    self._settings[name] = FoundValue(int(printed), printed, line)

    def _line_of_box(self, text: str, line: int) -> None:
        """Process a title, a head or a row of a table."""
        box = _BOX.fullmatch(text)
        if box is not None:
            section = _SECTION.fullmatch(box[1])
            self._section, self._columns = None, []
            if section is None:
                self.out.skip(line, f"The section '{box[1][:80]}' of GPCNeT is unknown.")
                return
            self._section = {"load": FoundValue(_LOADS[section[1]], section[1], line)}
            if section[2]:
                self._section["beside"] = words(section[2], line)
            self._key = section[3] is not None
            return
        fields = [field.strip() for field in text.strip("|").split("|")]
        if fields[0] == "Name":
            # The head of the factors is followed by a line with its two columns.
            self._columns = [] if self._key else fields[1:]
        elif self._key and fields == ["", *_KEY_COLUMNS]:
            self._columns = _KEY_COLUMNS
        else:
            self._row(fields, line)

    def _row(self, fields: list[str], line: int) -> None:
        if self._section is None or len(fields) != len(self._columns) + 1 or not self._columns:
            self.out.skip(line, "This row of GPCNeT belongs to no table with as many columns.")
            return
        name = _NAME.fullmatch(fields[0])
        if name is None:
            self.out.skip(line, f"'{fields[0][:80]}' is not a name of a test with its size.")
            return
        series = self._factors(fields[1:], line) if self._key else self._numbers(fields[1:], line)
        if series is None:
            return
        size = FoundValue(int(name[2]), name[2], line)
        self.out.result(
            Result(
                code=f"gpcnet.{slug(name[1])}",
                tool="GPCNeT",
                version=self._version,
                parameters={"bytes": size} | self._settings | self._section,
                series=series,
            )
        )

    def _numbers(self, fields: list[str], line: int) -> list[Series] | None:
        """The numbers of a test; None, with a report, if the row is damaged."""
        unit = _UNITS.get(fields[-1]) if self._columns[-1] == "Units" else None
        if unit is None or not set(self._columns[:-1]) <= _ENDINGS.keys():
            self.out.skip(line, f"The unit '{fields[-1][:40]}' or a column is unknown.")
            return None
        metric, si, factor = unit
        found = [
            self._number(printed, line, factor, f"{metric}{_ENDINGS[column]}", si)
            for printed, column in zip(fields[:-1], self._columns[:-1], strict=True)
        ]
        return None if None in found else [each for each in found if each is not None]

    def _factors(self, fields: list[str], line: int) -> list[Series] | None:
        """The impact factors of a test; None, with a report, if the row is damaged."""
        found = []
        for text, column in zip(fields, self._columns, strict=True):
            printed = _FACTOR.fullmatch(text)
            if printed is None:
                self.out.skip(line, f"'{text[:40]}' is not a factor.")
                return None
            metric = f"impact{_ENDINGS[column]}"
            found.append(self._number(printed[1], line, Decimal(1), metric, ""))
        return None if None in found else [each for each in found if each is not None]

    def _number(
        self, printed: str, line: int, factor: Decimal, metric: str, unit: str
    ) -> Series | None:
        # 0.0 is a time or bandwidth below the printed precision, and a factor without meaning.
        found = number(printed, line, factor)
        if found is None or not float(found.value) > 0.0:
            self.out.skip(line, f"'{printed[:40]}' is not a number above 0.")
            return None
        return Series(metric, unit, [found])

    def leave(self) -> None:
        """Rows after another tool's output belong to no table."""
        self._section, self._columns, self._key = None, [], False


IMPORTER = GpcnetImporter
