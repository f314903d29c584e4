"""The Intel MPI Benchmarks, formerly the Pallas MPI Benchmarks.

Source: ``IMB_output.c``. Mbytes are 10^6 bytes from version 2018 on, 2^20 bytes up to 4.1; for
other versions the unit is unknown, so bandwidths are left out.
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
from assay.importers.numbers import MIB, PERCENT, US, number

_HEADER = re.compile(
    r"#\s*(?:Intel\s?\(R\)|PALLAS) MPI Benchmark(?:s| Suite)\s+V?(\S.*?),?\s+"
    r"(?:MPI-?\w+|RMA|P2P|MT|\w+) part.*"
)
_BENCHMARK = re.compile(r"#\s*Benchmarking\s+(\S.*?)\s*")
_RANKS = re.compile(r"#\s*#processes\s*=\s*(\d{1,9})\b.*")
_GROUPS = re.compile(r"#\s*\(\s*(\d{1,9}) groups of (\d{1,9}) processes.*")
_MODE = re.compile(r"#\s*MODE:\s*(\S.*?)\s*")
_COLUMNS = re.compile(r"#(?:bytes|repetitions|processes)\b.*")
_ROW = re.compile(r"\s*\d+\s+\S.*")
_METRICS: dict[str, tuple[str, str, Decimal | None]] = {
    "t[usec]": ("time", "s", US),
    "t_min[usec]": ("time.min", "s", US),
    "t_max[usec]": ("time.max", "s", US),
    "t_avg[usec]": ("time", "s", US),
    "t_ovrl[usec]": ("time.overall", "s", US),
    "t_pure[usec]": ("time.pure", "s", US),
    "t_CPU[usec]": ("time.cpu", "s", US),
    "overlap[%]": ("overlap", "1", PERCENT),
    "Mbytes/sec": ("bandwidth", "B/s", None),
    "Msg/sec": ("rate", "op/s", Decimal(1)),
    "defects": ("defects", "", Decimal(1)),
}


class ImbImporter(TextImporter):
    """See the module."""

    SIGNATURE = r"#\s*(?:Intel\s?\(R\)|PALLAS) MPI Benchmark|#\s*Benchmarking\s+[A-Z]\S"

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._version: str | None = None
        self._code = ""
        self._settings: dict[str, FoundValue] = {}
        self._columns: list[str] = []
        self._reported = False

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if header := _HEADER.fullmatch(text):
            self._version, self._code, self._columns = header[1], "", []
            self._reported = False
        elif benchmark := _BENCHMARK.fullmatch(text):
            self._code, self._settings, self._columns = f"imb.{slug(benchmark[1])}", {}, []
        elif ranks := _RANKS.fullmatch(text):
            self._settings["ranks"] = FoundValue(int(ranks[1]), ranks[1], line.number)
        elif groups := _GROUPS.fullmatch(text):
            for place, name in ((1, "groups"), (2, "ranks")):
                self._settings[name] = FoundValue(int(groups[place]), groups[place], line.number)
        elif mode := _MODE.fullmatch(text):
            self._settings["mode"] = words(mode[1], line.number)
            self._columns = []
        elif _COLUMNS.fullmatch(text):
            self._head(text[1:].split(), line.number)
        elif self._columns and _ROW.fullmatch(line.text):
            self._row(text.split(), line.number)

    def _head(self, columns: list[str], line: int) -> None:
        columns = [column.removeprefix("#") for column in columns]
        unknown = [c for c in columns if c not in _METRICS and c not in ("bytes", "repetitions")]
        if unknown or not self._code:
            what = f"The column '{unknown[0]}'" if unknown else "The benchmark of this table"
            self.out.skip(line, f"{what} is unknown.")
            self._columns = []
            return
        self._columns = columns

    def _row(self, fields: list[str], line: int) -> None:
        if len(fields) != len(self._columns):
            self.out.skip(line, "The number of fields in this row differs from the header's.")
            return
        parameters, series, verified = dict(self._settings), [], None
        for printed, column in zip(fields, self._columns, strict=True):
            if column in ("bytes", "repetitions"):
                found = number(printed, line)
                if found is None or not isinstance(found.value, int):
                    self.out.skip(line, f"'{printed}' is not an integer.")
                    return
                parameters[column] = found
                continue
            metric, unit, factor = _METRICS[column]
            if factor is None:
                factor = self._megabyte(line)
                if factor is None:
                    continue
            found = number(printed, line, factor)
            if found is None:
                self.out.skip(line, f"'{printed}' is not a number.")
                return
            if metric == "defects":
                verified = found.value == 0
            series.append(Series(metric, unit, [found]))
        # Repetitions are a result, not a parameter of the cell.
        repetitions = parameters.pop("repetitions", None)
        if repetitions is not None:
            series.append(Series("repetitions", "", [repetitions]))
        self.out.result(
            Result(
                code=self._code,
                tool="Intel MPI Benchmarks",
                version=self._version,
                parameters=parameters,
                series=series,
                verified=verified,
                check="defects" if verified is not None else "",
            )
        )

    def _megabyte(self, line: int) -> Decimal | None:
        year = re.match(r"(\d{1,4})", self._version or "")
        if year is not None and 2018 <= int(year[1]) < 2100:
            return Decimal(10) ** 6
        if year is not None and 1 <= int(year[1]) <= 4:
            return Decimal(MIB)
        if not self._reported:
            self.out.skip(
                line, "Bandwidths are left out: in this version Mbytes may be 10^6 or 2^20 bytes."
            )
            self._reported = True
        return None

    def leave(self) -> None:
        """Rows after another tool's output belong to no header."""
        self._columns = []


IMPORTER = ImbImporter
