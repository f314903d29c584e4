"""The Intel MPI Benchmarks, formerly the Pallas MPI Benchmarks.

Source: ``IMB_output.c``. Mbytes are 10^6 bytes from version 2018 on, 2^20 bytes up to 4.1. For
other versions (5, 2017, output without header) and for columns in MB the unit follows from the
table: bandwidth times time divided by bytes is 1, 2 or 4 in units of 10^6 bytes, and 4.6% less in
units of 2^20. If no row is printed precisely enough, or if rows disagree, bandwidths are left out.
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
_BENCHMARK = re.compile(r"(?:#\s*)?Benchmarking\s+(\S.*?)\s*")
_RANKS = re.compile(r"#\s*#processes\s*=\s*(\d{1,9})\b.*")
_WAITING = re.compile(r"#\s*\(\s*(\d{1,9}) additional processes waiting in MPI_Barrier\s*\).*")
_GROUPS = re.compile(r"#\s*\(\s*(\d{1,9}) groups of (\d{1,9}) processes.*")
_MODE = re.compile(r"#\s*MODE:\s*(\S.*?)\s*")
_COLUMNS = re.compile(r"#?(?:bytes|repetitions|processes)\s+#?(?:repetitions|bytes|t_|t\[|M).*")
# Lines of the header that apply to all of its tables.
_TYPE = re.compile(r"#\s*(MPI_Datatype|MPI_Datatype for reductions|MPI_Op)\s*:\s*(\S+)\s*")
_CALL = re.compile(r"#\s*(\S*IMB-\w+\s.*)")
# Options of a call that change what is measured; others choose benchmarks, sizes and repetitions.
_OPTION = re.compile(
    r"-(off_cache|root_shift|sync|imb_barrier|mem_alloc_type|warm_up|thread_level|window_size"
    r"|multi|map|data_type|red_data_type|contig_type|malloc_algo|barrier|aggregate_mode|zero_size"
    r"|memory_type|gpu_select)\s+(\S+)"
)
# Other lines above a table, except the number of additional waiting processes.
_ABOVE = re.compile(r"#\s*([A-Za-z][\w -]{1,30}?)\s*[=:]\s*(\S{1,40})\s*")
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
    "MB/sec": ("bandwidth", "B/s", None),
    "MB/s": ("bandwidth", "B/s", None),
    "Msg/sec": ("rate", "op/s", Decimal(1)),
    "defects": ("defects", "", Decimal(1)),
}
_MEGABYTES = (Decimal(10) ** 6, Decimal(MIB))
# Messages per time in a bandwidth, by benchmark: PingPong 1, PingPing 1, Sendrecv 2, Exchange 4.
_MESSAGES = (1, 2, 4)
# The units differ by 4.9%; printed numbers must determine the ratio to less than half of that.
_PRECISE = 0.02
# Maximum rows of a table that wait for the unit of their bandwidths.
_MOST_ROWS = 10_000


class ImbImporter(TextImporter):
    """See the module."""

    SIGNATURE = (
        r"#\s*(?:Intel\s?\(R\)|PALLAS) MPI Benchmark|#\s*Benchmarking\s+[A-Z]\S"
        r"|Benchmarking\s+[A-Z][A-Za-z_]+\s*$"
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._version: str | None = None
        self._code = ""
        self._common: dict[str, FoundValue] = {}  # of all tables below a header
        self._settings: dict[str, FoundValue] = {}
        self._columns: list[str] = []
        self._reported = False
        self._unit: Decimal | None = None
        self._waiting: list[tuple[list[str], int]] = []

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if header := _HEADER.fullmatch(text):
            self._end()
            self._version, self._code, self._common = header[1], "", {}
            self._reported, self._unit = False, None
        elif benchmark := _BENCHMARK.fullmatch(text):
            self._end()
            self._code, self._settings = f"imb.{slug(benchmark[1])}", dict(self._common)
        elif ranks := _RANKS.fullmatch(text):
            self._settings["ranks"] = FoundValue(int(ranks[1]), ranks[1], line.number)
        elif waiting := _WAITING.fullmatch(text):
            self._settings["waiting"] = FoundValue(int(waiting[1]), waiting[1], line.number)
        elif groups := _GROUPS.fullmatch(text):
            for place, name in ((1, "groups"), (2, "ranks")):
                self._settings[name] = FoundValue(int(groups[place]), groups[place], line.number)
        elif mode := _MODE.fullmatch(text):
            self._end()
            self._settings["mode"] = words(mode[1], line.number)
        elif _COLUMNS.fullmatch(text):
            self._head(text.split(), line.number)
        elif kind := _TYPE.fullmatch(text):
            self._common[slug(kind[1].removeprefix("MPI_"))] = words(kind[2], line.number)
        elif (call := _CALL.fullmatch(text)) and (options := _OPTION.findall(call[1])):
            given = " ".join(sorted(f"-{name} {value}" for name, value in options))
            self._common["options"] = FoundValue(given, "", line.number)
        elif self._code and not self._columns and (above := _ABOVE.fullmatch(text)):
            self._settings[slug(above[1])] = words(above[2], line.number)
        elif self._columns and _ROW.fullmatch(line.text):
            self._row(text.split(), line.number)

    def _head(self, columns: list[str], line: int) -> None:
        self._end()
        columns = [column.removeprefix("#") for column in columns]
        unknown = [c for c in columns if c not in _METRICS and c not in ("bytes", "repetitions")]
        if unknown or not self._code:
            what = f"The column '{unknown[0]}'" if unknown else "The benchmark of this table"
            self.out.skip(line, f"{what} is unknown.")
            return
        self._columns = columns

    def _row(self, fields: list[str], line: int) -> None:
        if len(fields) != len(self._columns):
            self.out.skip(line, "The number of fields in this row differs from the header's.")
            return
        if self._unit is None and _bandwidth(self._columns):
            self._unit = self._known_unit()
            if self._unit is None:
                self._waiting.append((fields, line))
                if len(self._waiting) == _MOST_ROWS:
                    self._settle()
                return
        self._result(fields, line)

    def _result(self, fields: list[str], line: int) -> None:
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
                factor = self._unit
                if factor is None:
                    self._report(line)
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

    def _known_unit(self) -> Decimal | None:
        """The unit of bandwidths by version; None if it is unknown."""
        if "Mbytes/sec" not in self._columns:
            return None
        year = re.match(r"(\d{1,4})", self._version or "")
        if year is not None and 2018 <= int(year[1]) < 2100:
            return Decimal(10) ** 6
        if year is not None and 1 <= int(year[1]) <= 4:
            return Decimal(MIB)
        return None

    def _report(self, line: int) -> None:
        if not self._reported:
            self.out.skip(
                line, "Bandwidths are left out: in this version Mbytes may be 10^6 or 2^20 bytes."
            )
            self._reported = True

    def _settle(self) -> None:
        """Process the rows that waited for the unit; they determine it if they agree."""
        rows, self._waiting = self._waiting, []
        units = {unit for fields, _ in rows if (unit := _unit_of_row(self._columns, fields))}
        # The unit of this output and of its further tables.
        self._unit = units.pop() if len(units) == 1 else None
        for fields, line in rows:
            self._result(fields, line)

    def _end(self) -> None:
        """Process the end of a table."""
        if self._waiting:
            self._settle()
        self._columns = []

    def leave(self) -> None:
        """Rows after another tool's output belong to no header."""
        self._end()
        self._unit = None


def _bandwidth(columns: list[str]) -> str:
    """The column whose unit depends on the version; "" if there is none."""
    return next((c for c in columns if c in _METRICS and _METRICS[c][2] is None), "")


def _unit_of_row(columns: list[str], fields: list[str]) -> Decimal | None:
    """The bytes of a megabyte in this row; None if it does not determine them."""
    printed = dict(zip(columns, fields, strict=True))
    bandwidth = _bandwidth(columns)
    times = [c for c in ("t_max[usec]", "t[usec]") if c in printed]
    size, rate = _with_error(printed.get("bytes", "")), _with_error(printed.get(bandwidth, ""))
    time = _with_error(printed[times[0]]) if times else None
    if size is None or rate is None or time is None:
        return None
    error = rate[1] + time[1]
    if error > _PRECISE:
        return None
    ratio = rate[0] * time[0] / size[0]
    fits = [
        unit
        for unit in _MEGABYTES
        for messages in _MESSAGES
        if abs(ratio * float(unit) / 1e6 / messages - 1) <= error + 1e-6
    ]
    return fits[0] if len(fits) == 1 else None


def _with_error(printed: str) -> tuple[float, float] | None:
    """A printed positive number, and half a unit of its last digit relative to it."""
    found = number(printed, 0)
    if found is None or not float(found.value) > 0:
        return None
    decimals = len(printed.partition(".")[2])
    return float(found.value), 0.5 * 10.0**-decimals / float(found.value)


IMPORTER = ImbImporter
