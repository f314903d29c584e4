"""The OSU Micro-Benchmarks, all versions: for MPI and other libraries, in C and Python.

Source: ``osu_util.c`` and the benchmarks. A header names test and version, a line that begins with
``# Size`` names the columns with their units; rows follow. MB is 10^6 bytes.
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
from assay.importers.numbers import PERCENT, US, WHOLE, number
from assay.importers.settings import HeaderSettings

_HEADER = re.compile(
    r"(?:#\s*)?(OSU|OMB(?: Python)?|OMB-Py)\s+(.+?)\s+(?:Test|Benchmark)?\s*\(?(?:[vV]ersion |v)"
    r"\s*(\d[\w.]*)\)?\s*"
)
_COLUMN = re.compile(r"\S+(?: \S+)*")
_LIBRARIES = r"MPI(?:_\w+)?|OpenSHMEM|UPC|NCCL|RCCL|CUDA|Python"
_UNIT = re.compile(r"(.*?)\s*\(\s*(us|MB/s|%)\s*\)|(.*)")
_SETTING = re.compile(r"\[\s*([a-z][a-z ]{0,30}):\s*(\d{1,9})\s*\]")
_NOTE = re.compile(
    r"#\s*(Datatype|Window creation|Synchronization|Number of \w+ threads)\s*:\s*(.+?)\.?\s*"
)
_INIT = re.compile(
    rf"nprocs:\s*({WHOLE}),\s*min:\s*(\S+)\s*ms,\s*max:\s*(\S+)\s*ms,\s*avg:\s*(\S+)\s*ms"
)
_LIKE_ROW = re.compile(r"\s*[\d.]")
_MS = Decimal("1e-3")
_MB = Decimal(10) ** 6

_UNITS = {"us": ("s", US), "MB/s": ("B/s", _MB), "%": ("1", PERCENT)}
# Columns without a unit in parentheses, in lower case.
_COLUMNS = {
    "mb/s": ("bandwidth", "B/s", _MB),
    "messages/s": ("rate", "op/s", Decimal(1)),
    "iterations": ("iterations", "", Decimal(1)),
}
# Names of programs that don't follow from their titles.
_PROGRAMS = {
    "latency": "latency",
    "bandwidth": "bw",
    "bi-directional bandwidth": "bibw",
    "multiple bandwidth / message rate": "mbw_mr",
    "multi latency": "multi_lat",
    "multi-threaded latency": "latency_mt",
    "multi-process latency": "latency_mp",
    "broadcast latency": "bcast",
    "all-to-all personalized exchange latency": "alltoall",
    "all-to-all latency": "alltoall",
    "all-to-allv personalized exchange latency": "alltoallv",
    "all-to-allv latency": "alltoallv",
}
_ONE_SIDED = (
    ("get_accumulate", "get_acc"),
    ("accumulate", "acc"),
    ("fetch_and_op", "fop"),
    ("compare_and_swap", "cas"),
)
_WORDS = (
    (" latency", ""),
    (" personalized exchange", ""),
    ("non-blocking broadcast", "ibcast"),
    ("non-blocking all-to-all", "ialltoall"),
    ("non-blocking ", "i"),
    ("neighborhood ", "neighbor_"),
    ("all-to-all", "alltoall"),
    ("persistent ", "persistent_"),
)


class OsuImporter(TextImporter):
    """See the module."""

    # Some benchmarks and versions begin no line with "#"; the same is true of copies without
    # comments.
    SIGNATURE = (
        r"#\s*(?:OSU|OMB(?: Python)?|OMB-Py)\s+\S.*?(?:[vV]ersion |v)\s*\d"
        rf"|(?:OSU|OMB|OMB-Py) (?:{_LIBRARIES})\b.{{3,60}}?(?:[vV]ersion |v)\d[\w.]*\)?\s*$"
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._code = ""
        self._version: str | None = None
        self._settings = HeaderSettings()
        self._columns: list[tuple[str, str, Decimal]] = []
        self._sized = False
        self._bare = False  # whether the header, and so all comments, have lost the comment sign

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if header := _HEADER.fullmatch(text):
            self._begin(header, line.number)
            self._bare = not text.startswith("#")
        elif init := _INIT.fullmatch(text):
            self._init(init, line.number)
        elif text.startswith("#"):
            self._comment(text, line)
        elif self._code and not self._columns and not _LIKE_ROW.match(line.text):
            if self._bare:
                self._comment(f"#{text}", line)
            else:
                self._head(_COLUMN.findall(text), text, line.number)
        elif self._columns and _LIKE_ROW.match(line.text):
            self._row(text.split(), line.number)

    def _begin(self, header: re.Match[str], line: int) -> None:
        self._settings, self._columns = HeaderSettings(), []
        self._version = header[3]
        title = header[2]
        self._code = _program(title)
        library = re.match(r"(MPI|OpenSHMEM|UPC\+?\+?|NCCL|RCCL|CUDA)(?:-(\w+))?\b", title)
        if library and library[2]:
            self._settings.found["device"] = words(library[2], line)

    def _comment(self, text: str, line: Line) -> None:
        """Process the head of a table; any other comment before it is a setting."""
        if self._columns:
            return
        settings = _SETTING.findall(text)
        for name, printed in settings:
            self._settings.found[slug(name)] = FoundValue(int(printed), printed, line.number)
        if note := _NOTE.fullmatch(text):
            found = number(note[2], line.number)
            self._settings.found[slug(note[1])] = found or words(note[2], line.number)
            return
        # Two blanks separate columns; a single blank is part of a name.
        names: list[str] = _COLUMN.findall(text[1:].strip())
        # A line with " = " says how a column is computed: "Overall = Coll. Init + Compute".
        if not settings and not self._head(names, text, line.number) and " = " not in text:
            self._settings.take(text.lstrip("# "), line)

    def _head(self, names: list[str], text: str, line: int) -> bool:
        """Whether the line is the head of a table, whose columns are then known."""
        if " = " in text or not any("(" in n or n.lower() in _COLUMNS for n in names):
            return False
        sized = names[0] == "Size"
        columns = []
        for name in names[sized:]:
            column = _column(name)
            if column is None:
                # Other comments have parentheses too, such as the device of a buffer.
                if sized:
                    self.out.skip(line, f"The column '{name}' is unknown.")
                return sized
            columns.append(column)
        self._columns, self._sized = columns, sized
        return True

    def _row(self, fields: list[str], line: int) -> None:
        verified = None
        if fields[-1] in ("Pass", "Fail") and len(fields) >= len(self._columns) + self._sized:
            verified = fields.pop() == "Pass"
        columns = [c for c in self._columns if c[0] != "validation"]
        if len(fields) != len(columns) + self._sized:
            self.out.skip(line, "The number of fields in this row differs from the header's.")
            return
        parameters = dict(self._settings.found)
        if self._sized:
            size = number(fields.pop(0), line)
            if size is None or not isinstance(size.value, int) or size.value < 0:
                self.out.skip(line, "This row does not begin with a message size.")
                return
            parameters["bytes"] = size
        series = []
        for printed, (metric, unit, factor) in zip(fields, columns, strict=True):
            found = number(printed, line, factor)
            if found is None:
                self.out.skip(line, f"'{printed}' is not a number.")
                return
            series.append(Series(metric, unit, [found]))
        self._put(parameters, series, verified)

    def _init(self, init: re.Match[str], line: int) -> None:
        if self._code != "osu_init":
            return
        series = []
        for metric, printed in zip(
            ("time.min", "time.max", "time"), init.groups()[1:], strict=True
        ):
            found = number(printed, line, _MS)
            if found is None:
                self.out.skip(line, f"'{printed}' is not a number.")
                return
            series.append(Series(metric, "s", [found]))
        ranks = FoundValue(int(init[1]), init[1], line)
        self._put(self._settings.found | {"ranks": ranks}, series, None)

    def _put(
        self, parameters: dict[str, FoundValue], series: list[Series], verified: bool | None
    ) -> None:
        self.out.result(
            Result(
                code=self._code,
                tool="OSU Micro-Benchmarks",
                version=self._version,
                parameters=parameters,
                series=series,
                verified=verified,
                check="validation" if verified is not None else "",
            )
        )

    def leave(self) -> None:
        """Rows after another tool's output belong to no header."""
        self._columns = []


def _program(title: str) -> str:
    """The program by its title: ``osu_allreduce`` for "MPI Allreduce Latency"."""
    plain = re.sub(r"^(?:MPI|OpenSHMEM|UPC\+?\+?|NCCL|RCCL)(?:-\w+)?[ _]", "", title).lower()
    library = re.match(r"OpenSHMEM|UPC\+\+|UPC|NCCL|RCCL", title)
    name = _PROGRAMS.get(plain)
    if name is None:
        name = plain
        one_sided = re.match(r"MPI_\w+", title) is not None
        name = name.replace(" bandwidth", " bw").replace("bi-directional bw", "bibw")
        for long, short in _ONE_SIDED if one_sided else _WORDS:
            name = name.replace(long, short)
        name = slug(name)
    return "_".join(filter(None, ("osu", slug(library[0]) if library else "", name)))


def _column(name: str) -> tuple[str, str, Decimal] | None:
    """Metric, unit and factor of a column by its heading."""
    if name == "Validation":
        return "validation", "", Decimal(1)
    known = _COLUMNS.get(name.lower())
    if known is not None:
        return known
    match = _UNIT.fullmatch(name)
    if match is None or match[2] is None:
        return None
    unit, factor = _UNITS[match[2]]
    metric = slug(match[1])
    if metric in ("latency", "avg_latency"):
        metric = "time"
    elif metric in ("min_latency", "max_latency"):
        metric = f"time.{metric[:3]}"
    elif unit == "s":
        metric = f"time.{metric}"
    return metric, unit, factor


IMPORTER = OsuImporter
