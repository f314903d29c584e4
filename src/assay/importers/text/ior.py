"""IOR 2.10 to 4: the table of its iterations, as text or, since version 4, as CSV.

Source: ``ior-output.c``. A row is one iteration of an operation; the rows of an operation in one
test are samples of one result. Columns are identified by their headings; they differ between
versions. The CSV has neither version nor options; its rows state sizes and the number of ranks.

The summary of all tests (since version 3.0) repeats the results of the iterations. Its rows are
used only if the output has no iterations of the operation, for example if only the summary was
kept.
"""

from __future__ import annotations

import re
from decimal import Decimal

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
from assay.importers.numbers import KIB, MIB, number
from assay.importers.settings import command_options

_HEADER = re.compile(r"IOR-(\d\S*?): MPI Coordinated Test of Parallel I/O\s*")
_SETTING = re.compile(r"([A-Za-z][\w ()]{1,24}?)\s*[:=]\s+(\S.*?)\s*")
_HEAD = re.compile(r"access\s+bw\(MiB/s\)\s+.*")
_CSV_HEAD = re.compile(r"access,bw\(MiB/s\),\S*")
_SUMMARY_HEAD = re.compile(r"Operation\s+Max\(MiB\)\s+Min\(MiB\)\s+Mean\(MiB\)\s.*")
_SUMMARY_ROW = re.compile(r"(?:write|read)\s+[\d.].*")
_CSV_ROW = re.compile(r"(?:write|read),\S*")
_ROW = re.compile(r"(write|read|remove|stat|writeCheck|readCheck)\s+\S.*")
_SIZE = re.compile(r"([\d.]{1,20})\s*(bytes?|KiB|MiB|GiB|TiB)\b(?:\s*\((\d{1,18}) bytes\))?.*")
_WRONG = re.compile(r".*\b(?:incorrect data|data check error|data check failed)\b.*", re.I)
_SIZES = {"KiB": KIB, "MiB": MIB, "GiB": 1 << 30, "TiB": 1 << 40, "byte": 1, "bytes": 1}

_METRICS: dict[str, tuple[str, str, Decimal | int]] = {
    "bw(MiB/s)": ("bandwidth", "B/s", MIB),
    "IOPS": ("rate", "op/s", 1),
    "Latency(s)": ("time.latency", "s", 1),
    "Latency": ("time.latency", "s", 1),
    "open(s)": ("time.open", "s", 1),
    "wr/rd(s)": ("time.transfer", "s", 1),
    "close(s)": ("time.close", "s", 1),
    "total(s)": ("time", "s", 1),
}
# Columns of the summary. The first "StdDev" is in MiB/s, the second in operations per second.
_SUMMARY_METRICS: dict[str, tuple[str, str, Decimal | int]] = {
    "Max(MiB)": ("bandwidth.max", "B/s", MIB),
    "Min(MiB)": ("bandwidth.min", "B/s", MIB),
    "Mean(MiB)": ("bandwidth", "B/s", MIB),
    "StdDev": ("bandwidth.stddev", "B/s", MIB),
    "Max(OPs)": ("rate.max", "op/s", 1),
    "Min(OPs)": ("rate.min", "op/s", 1),
    "Mean(OPs)": ("rate", "op/s", 1),
    "StdDev(OPs)": ("rate.stddev", "op/s", 1),
    "Mean(s)": ("time", "s", 1),
}
_SUMMARY_COUNTS = {
    "#Tasks": "ranks",
    "tPN": "ranks_per_node",
    "reps": "iterations",
    "segcnt": "segments",
    "blksiz": "block_bytes",
    "xsize": "transfer_bytes",
}
_PASSED = ("access", "block(KiB)", "xfer(KiB)", "iter", "numTasks")
# The settings of a row of CSV.
_OF_ROW: dict[str, tuple[str, int]] = {
    "numTasks": ("ranks", 1),
    "xfer(KiB)": ("transfer_bytes", KIB),
    "block(KiB)": ("block_bytes", KIB),
}
# Settings that define the cell: texts, counts, sizes.
_WORDS = {
    "api": "api",
    "access": "access",
    "type": "type",
    "ordering in a file": "ordering",
    "ordering inter file": "ordering_between_files",
    "memorybuffer": "memory_buffer",
    "memoryBuffer": "memory_buffer",
    "dataAccess": "data_access",
    "GPUDirect": "gpu_direct",
    "stonewallingTime": "stonewalling_time",
    "stoneWallingWearOut": "stonewalling_wear_out",
}
_COUNTS = {
    "nodes": "nodes",
    "tasks": "ranks",
    "clients": "ranks",
    "clients per node": "ranks_per_node",
    "segments": "segments",
}
_BYTES = {
    "xfersize": "transfer_bytes",
    "blocksize": "block_bytes",
    "aggregate filesize": "file_bytes",
}


class IorImporter(TextImporter):
    """See the module."""

    SIGNATURE = (
        r"IOR-\d\S*: MPI Coordinated Test of Parallel I/O|access,bw\(MiB/s\),"
        r"|Operation\s+Max\(MiB\)\s+Min\(MiB\)\s+Mean\(MiB\)\s"
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._version: str | None = None
        self._settings: dict[str, FoundValue] = {}
        self._columns: list[str] = []
        self._rows: dict[str, dict[str, list[FoundValue]]] = {}
        self._places: dict[str, int] = {}
        self._wrong = False
        self._csv = False
        self._kept = 0  # rows of the test
        self._iterated: set[str] = set()  # operations with rows since the header
        self._summary: list[str] = []  # the columns of the summary

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if header := _HEADER.fullmatch(text):
            self._flush()
            self._version, self._settings, self._columns = header[1], {}, []
            self._csv, self._iterated, self._summary = False, set(), []
        elif _SUMMARY_HEAD.fullmatch(text):
            self._columns, self._csv, self._summary = [], False, _summary_columns(text)
        elif self._summary and _SUMMARY_ROW.fullmatch(text):
            self._summarised(text.split(), line.number)
        elif _HEAD.fullmatch(text):
            self._head(text.split(), line.number)
        elif _CSV_HEAD.fullmatch(text):
            self._version, self._settings = None, {}
            self._head(text.split(","), line.number)
            self._csv = True
        elif self._csv:
            if self._columns and _CSV_ROW.fullmatch(text):
                self._csv_row(text.split(","), line.number)
            elif _WRONG.fullmatch(text):
                self._wrong = True
        elif self._columns and _ROW.fullmatch(text):
            self._row(text.split(), line.number)
        elif _WRONG.fullmatch(text):
            self._wrong = True
        elif text.startswith(("Max Write:", "Max Read:", "Summary of all tests", "Finished")):
            if text.startswith("Summary"):
                self._columns = []
        elif said := _SETTING.fullmatch(text):
            self._setting(said[1], said[2], line.number)

    def _setting(self, name: str, said: str, line: int) -> None:
        if name in ("api", "test filename") and self._rows:
            self._flush()
            self._settings = {k: v for k, v in self._settings.items() if k == "options"}
        if found := setting(name, said, line):
            self._settings[found[0]] = found[1]

    def _head(self, columns: list[str], line: int) -> None:
        unknown = [c for c in columns if c not in _METRICS and c not in _PASSED]
        if unknown:
            self.out.skip(line, f"IOR's column '{unknown[0]}' is unknown.")
            columns = []
        if self._rows:
            self._flush()
        self._columns, self._csv = columns, False

    def _row(self, fields: list[str], line: int) -> None:
        if len(fields) != len(self._columns):
            self.out.skip(line, "The number of fields in this row differs from the header's.")
            return
        found: dict[str, FoundValue] = {}
        for printed, column in zip(fields, self._columns, strict=True):
            # One version prints dashes for missing numbers.
            if column in _PASSED or set(printed) == {"-"} or printed == "NA":
                continue
            metric, _, factor = _METRICS[column]
            value = number(printed, line, factor)
            if value is None:
                self.out.skip(line, f"'{printed}' is not a number.")
                return
            found[metric] = value
        if self._kept >= MOST_ROWS:
            self.out.skip(line, f"The test has more than {MOST_ROWS:,} rows.")
            return
        self._kept += 1
        self._iterated.add(fields[0])
        operation = self._rows.setdefault(fields[0], {})
        self._places.setdefault(fields[0], line)
        for metric, value in found.items():
            operation.setdefault(metric, []).append(value)

    def _summarised(self, fields: list[str], line: int) -> None:
        """A row of the summary, for an operation without iterations in this output."""
        if fields[0] in self._iterated:
            return
        if len(fields) != len(self._summary):
            self.out.skip(line, "The number of fields in this row differs from the header's.")
            return
        row = dict(zip(self._summary, fields, strict=True))
        parameters = {"op": words(fields[0], line)}
        for column, name in _SUMMARY_COUNTS.items():
            if column in row and re.fullmatch(r"\d{1,18}", row[column]):
                parameters[name] = FoundValue(int(row[column]), row[column], line)
        if "API" in row:
            parameters["api"] = words(row["API"], line)
        if row.get("fPP") in ("0", "1"):
            access = "file-per-process" if row["fPP"] == "1" else "single-shared-file"
            parameters["access"] = FoundValue(access, row["fPP"], line)
        series = []
        for column, (metric, unit, factor) in _SUMMARY_METRICS.items():
            if column in row:
                value = number(row[column], line, factor)
                if value is None:
                    self.out.skip(line, f"'{row[column]}' is not a number.")
                    return
                series.append(Series(metric, unit, [value]))
        self.out.result(
            Result(
                code="ior",
                tool="IOR",
                version=self._version,
                parameters=self._settings | parameters,
                series=series,
                verified=False if self._wrong else None,
                check="data check" if self._wrong else "",
            )
        )

    def _csv_row(self, fields: list[str], line: int) -> None:
        """A row with its settings; rows with other settings belong to another test."""
        settings: dict[str, FoundValue] = {}
        for printed, column in zip(fields, self._columns, strict=False):
            if column in _OF_ROW:
                name, factor = _OF_ROW[column]
                found = number(printed, line, factor)
                if found is None or not float(found.value).is_integer():
                    self.out.skip(line, f"'{printed}' is not a number of bytes or ranks.")
                    return
                settings[name] = FoundValue(int(found.value), printed, line)
        values = {name: found.value for name, found in settings.items()}
        if values != {name: found.value for name, found in self._settings.items()}:
            self._flush()
            self._settings = settings
        self._row(fields, line)

    def _flush(self) -> None:
        """Process the end of a test."""
        units = {metric: unit for metric, unit, _ in _METRICS.values()}
        for operation, metrics in self._rows.items():
            if not metrics:
                continue
            op = FoundValue(operation, operation, self._places[operation])
            self.out.result(
                Result(
                    code="ior",
                    tool="IOR",
                    version=self._version,
                    parameters={"op": op} | self._settings,
                    series=[Series(m, units[m], found) for m, found in metrics.items()],
                    verified=False if self._wrong else None,
                    check="data check" if self._wrong else "",
                )
            )
        self._rows, self._places, self._wrong, self._kept = {}, {}, False, 0

    def leave(self) -> None:
        """Process the end or the interruption of the output."""
        self._flush()
        self._columns, self._csv = [], False
        self._summary, self._iterated = [], set()


def _summary_columns(text: str) -> list[str]:
    """The columns of the summary, with the second "StdDev" renamed."""
    columns = text.split()
    seen = 0
    for place, column in enumerate(columns):
        if column == "StdDev":
            seen += 1
            columns[place] = "StdDev" if seen == 1 else "StdDev(OPs)"
    return columns


def setting(name: str, said: str, line: int) -> tuple[str, FoundValue] | None:
    """The parameter for an option of IOR, by its name in the output; None for other options."""
    if name.lower() in ("command line", "command line used"):
        # Sizes, counts and the file have separate lines.
        options = command_options(said, line, alone="HVhknrvw", valued="abdfiostT")
        return ("options", options) if options is not None else None
    if name in _WORDS:
        return _WORDS[name], words(said, line)
    if name in _BYTES and (size := _SIZE.fullmatch(said)):
        found = number(size[3], line) if size[3] else number(size[1], line, _SIZES[size[2]])
        return (_BYTES[name], found) if found is not None else None
    if name in _COUNTS and (count := re.match(r"(\d{1,9})\b(?!\.)", said)):
        return _COUNTS[name], FoundValue(int(count[1]), count[1], line)
    return None


IMPORTER = IorImporter
