"""nccl-tests and rccl-tests, all versions since NCCL 1.

Source: ``src/common.cu`` and ``src/util.cu`` of both. A line ``nThread …`` begins a test, a line
that begins with ``size count type`` (``bytes N type`` for NCCL 1) names the columns, and rows
follow. Times are microseconds (NCCL 1: milliseconds), bandwidths 10^9 bytes per second. A bandwidth
printed as 0 is below the printed precision, or has no meaning (``busbw`` of one rank). ``#wrong``
counts wrong elements; older versions print an error instead, which their footer judges for all rows
together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from assay.importers.collectives import GB, OPERATIONS, PROGRAM, agree, deduced
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
from assay.importers.numbers import MS, PERCENT, US, WHOLE, is_number, number

_AMD = re.compile(r"AMD|Radeon|Instinct", re.I)

_VERSION = re.compile(
    rf"#?\s*nccl-tests version (\S+) nccl-headers={WHOLE} nccl-library=({WHOLE})\s*"
)
_RCCL = re.compile(r"#?\s*rccl-tests: Version (\S+)\s*")
_STARTING = re.compile(r"#?\s*Collective test starting: .*")
_LIBRARY = re.compile(r"(NCCL|RCCL) version\s*:?\s*(\d[\w.+:-]*).*")
_BEGIN = re.compile(
    rf"#?\s*nThread ({WHOLE}) nGpus ({WHOLE}) minBytes ({WHOLE}) maxBytes ({WHOLE})\s+step: (\S+?)"
    r"\s*\((\w+)\)(.*)"
)
# Further numbers of that line: parameter, and the value at which nothing is different.
_OPTIONS = {
    "agg iters": ("aggregated", 1),
    "graph": ("graph", 0),
    "unalign": ("unaligned", 0),
    "iters": ("iterations", None),
}
_OPTION = re.compile(rf"(warmup iters|agg iters|iters|graph|unalign):\s*({WHOLE})")
_BLOCKING = re.compile(r"#?\s*(Blocking Enabled: \S.*?)\s*")
_DEVICE = re.compile(
    rf"#?\s*Rank\s+({WHOLE})\s+(?:(?:Group\s+\d+\s+)?Pid\s+\d+ on\s+(\S+)|uses) device\s+({WHOLE})"
    r"\s*\[\S*\](?:\s+(\S.*?))?\s*"
)
_PLACES = re.compile(r"#?\s*((?:(?:out-of-place|in-place)(?: \(\+ per-iteration\))?\s*){1,2})")
_HEAD = re.compile(r"#?\s*((?:size\s+count|bytes\s+N)\s+type\s.*)")
_UNITS = re.compile(r"#?\s*\(B\)\s+\(elements\)\s.*")
_WRONG = re.compile(rf"#?\s*Out of bounds values\s*:\s*({WHOLE})\s+(OK|FAILED)\s*")
_AVERAGE = re.compile(r"#?\s*Avg bus bandwidth\s*:\s*(\S+)(?:\s.*)?")
_ROW = re.compile(r"\d+\s+\d+\s+[a-z]\w*\s.*")
_PREFIX = {"size": "bytes", "bytes": "bytes", "count": "", "N": "", "type": "type"}
_PREFIX |= {"redop": "redop", "op": "redop", "root": "root"}
_METRICS: dict[str, tuple[str, str, Decimal]] = {
    "time": ("time", "s", US),
    "cputime": ("time.cpu", "s", US),
    "algbw": ("bandwidth.algorithm", "B/s", GB),
    "busbw": ("bandwidth", "B/s", GB),
    "i_min": ("time.min", "s", US),
    "i_max": ("time.max", "s", US),
    "i_p99": ("time.p99", "s", US),
    "i_cv%": ("variation", "1", PERCENT),
}
# Columns after the results: numbers of fields, which are not read.
_AFTER = {"timestamp": 2, "#iters": 1}
_VERDICTS = ("#wrong", "error", "res")
_UNNAMED = (
    "The output does not say which operation of nccl-tests it is. Put the name of the program "
    "(such as all_gather_perf) into the line before it."
)


@dataclass(frozen=True)
class ColumnPlace:
    """The columns of the in-place or the out-of-place test within a row."""

    name: str | None
    columns: tuple[str, ...]


@dataclass
class _Row:
    parameters: dict[str, FoundValue]
    series: list[Series]
    wrong: FoundValue | None
    verified: bool | None
    #: Whether an error was computed that the footer judges.
    judged_below: bool = False


class NcclTestsImporter(TextImporter):
    """See the module."""

    SIGNATURE = (
        r"#?\s*nThread \d+ nGpus \d+ minBytes|#?\s*nccl-tests version \S+ nccl-headers"
        r"|#?\s*Collective test starting: |rccl-tests: Version |#?\s*size\s+count\s+type\s"
        r"|#?\s*bytes\s+N\s+type\s+(?:op\s+)?time\s"
        rf"|(?:\S{{0,80}}[$#%>] ?)?(?:\S{{0,200}}/)?(?:{OPERATIONS})_(?:perf|test)(?:[_-]\w+)?"
        r"(?:\s|$)"
        rf"|(?:\S{{0,80}}[$#%>] ?)?(?:mpirun|mpiexec|srun|torchrun)\s[^|]{{0,2000}}?/?"
        rf"(?:{OPERATIONS})_(?:perf|test)(?:[_-]\w+)?\b"
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._operation = ""
        self._named = False  # whether it is the operation of the test that begins next
        self._reset()

    def _reset(self) -> None:
        self._tool: tuple[str, str | None] = "nccl-tests", None
        self._settings: dict[str, FoundValue] = {}
        self._sizes: dict[str, FoundValue] = {}
        self._devices: list[tuple[int, str, FoundValue, str, int]] = []
        self._prefix: list[str] = []
        self._places: list[ColumnPlace] = []
        self._names: list[str] = []
        self._units = True
        self._more = 0
        self._rows: list[_Row] = []
        self._footer: tuple[FoundValue, bool] | None = None

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if self._prefix and _ROW.match(text):
            self._row(text.split(), line.number)
        elif begin := _BEGIN.fullmatch(text):
            self._begin(begin, line.number)
        elif device := _DEVICE.fullmatch(text):
            name = FoundValue(int(device[3]), device[3], line.number)
            if len(self._devices) < MOST_ROWS:
                self._devices.append(
                    (int(device[1]), device[2] or "", name, device[4] or "", line.number)
                )
        elif places := _PLACES.fullmatch(text):
            self._names = re.findall(r"out-of-place|in-place", places[1])
        elif head := _HEAD.fullmatch(text):
            self._head(head[1].split(), line.number)
        elif _UNITS.fullmatch(text):
            self._units = set(re.findall(r"\(([a-zA-Z/]+)\)", text)) <= {
                "B",
                "elements",
                "us",
                "GB/s",
            }
        elif wrong := _WRONG.fullmatch(text):
            self._footer = FoundValue(int(wrong[1]), wrong[1], line.number), wrong[2] == "OK"
        elif average := _AVERAGE.fullmatch(text):
            self._average(average[1], line.number)
        else:
            self._setting(text, line.number)

    def _setting(self, text: str, line: int) -> None:
        if version := _VERSION.fullmatch(text):
            self._new()
            self._tool = "nccl-tests", version[1]
            self._settings["library"] = FoundValue(f"NCCL {version[2]}", version[2], line)
        elif rccl := _RCCL.fullmatch(text):
            self._tool = "rccl-tests", rccl[1]
        elif library := _LIBRARY.fullmatch(text):
            name = FoundValue(f"{library[1]} {library[2]}", library[2], line)
            self._settings["library"] = name
            if library[1] == "RCCL":
                self._tool = "rccl-tests", self._tool[1]
        elif blocking := _BLOCKING.fullmatch(text):
            self._settings["blocking"] = words(blocking[1][:200], line)
        elif program := PROGRAM.search(text):
            if not _STARTING.fullmatch(text) or self._rows:
                self._new()
            self._operation, self._named = program[1], True

    def _new(self) -> None:
        """A test begins, unless only its first lines were read."""
        if self._rows or self._prefix:
            self.leave()

    def _begin(self, begin: re.Match[str], line: int) -> None:
        if self._rows or self._prefix:
            tool, named = self._tool, self._named
            self.leave()
            self._tool = tool if named else self._tool
        if not self._named:
            self._operation = ""
        self._named = False
        for name, place in (("threads", 1), ("gpus_per_thread", 2)):
            self._settings[name] = FoundValue(int(begin[place]), begin[place], line)
        for name, place in (("min_bytes", 3), ("max_bytes", 4)):
            self._sizes[name] = FoundValue(int(begin[place]), begin[place], line)
        self._sizes["step"] = FoundValue(f"{begin[5]} {begin[6]}", begin[5], line)
        for name, printed in _OPTION.findall(begin[7]):
            parameter, plain = _OPTIONS.get(name, ("", 0))
            if parameter and int(printed) != plain:
                self._settings[parameter] = FoundValue(int(printed), printed, line)

    def _head(self, columns: list[str], line: int) -> None:
        if self._rows:  # the same test, repeated in cycles, prints no second head
            self._flush()
        self._prefix, self._places, self._units = [], [], True
        while columns and columns[0] in _PREFIX:
            self._prefix.append(columns.pop(0))
        self._more = 0  # fields after the results
        while columns and columns[-1] in _AFTER:
            self._more += _AFTER[columns.pop()]
        half = len(columns) // 2
        groups = [columns]
        if half and columns[:half] == columns[half:]:
            groups = [columns[:half], columns[half:]]
        unknown = [c for c in groups[0] if c not in _METRICS and c not in _VERDICTS]
        if unknown or "algbw" not in groups[0]:
            what = f"The column '{unknown[0]}'" if unknown else "A column"
            self.out.skip(
                line, f"{what} of nccl-tests is unknown or missing; its rows are left out."
            )
            self._prefix = []
            return
        names: list[str | None] = list(self._names)
        if len(names) != len(groups):
            names = ["out-of-place", "in-place"] if len(groups) == 2 else [None]
        self._places = [ColumnPlace(n, tuple(g)) for n, g in zip(names, groups, strict=True)]
        self._names = []

    def _row(self, fields: list[str], line: int) -> None:
        prefix = list(self._prefix)
        values = sum(len(place.columns) for place in self._places)
        fields = fields[: max(len(fields) - self._more, 0)]
        if len(fields) == len(prefix) + values - 1 and "redop" in prefix:
            prefix.remove("redop")  # left blank by operations without a reduction
        if len(fields) != len(prefix) + values or not self._units:
            what = "number of fields in this row" if self._units else "unit of a column"
            self.out.skip(line, f"The {what} differs from nccl-tests'.")
            return
        parameters = self._named_fields(prefix, fields, line)
        if parameters is None:
            return
        place, rows = len(prefix), []
        for group in self._places:
            printed = dict(zip(group.columns, fields[place:], strict=False))
            place += len(group.columns)
            row = self._group(group, parameters, printed, line)
            if row is None:
                return
            rows.append(row)
        if len(self._rows) + len(rows) > MOST_ROWS:
            self.out.skip(line, f"This test of nccl-tests has more than {MOST_ROWS:,} results.")
            return
        self._rows += rows

    def _named_fields(
        self, prefix: list[str], fields: list[str], line: int
    ) -> dict[str, FoundValue] | None:
        """The parameters of a row; None, with a report, if they are damaged."""
        parameters: dict[str, FoundValue] = {}
        for column, printed in zip(prefix, fields, strict=False):
            name = _PREFIX[column]
            if name in ("bytes", "root") or not name:
                found = number(printed, line)
                if found is None or not isinstance(found.value, int):
                    self.out.skip(line, f"'{printed[:40]}' is not an integer.")
                    return None
                if name and found.value >= 0:
                    parameters[name] = found
            elif is_number(printed):
                self.out.skip(line, f"'{printed[:40]}' is not a name.")
                return None
            elif printed != "none":
                parameters[name] = words(printed, line)
        return parameters

    def _group(
        self,
        group: ColumnPlace,
        parameters: dict[str, FoundValue],
        printed: Mapping[str, str],
        line: int,
    ) -> _Row | None:
        """The in-place or out-of-place result of a row; None, with a report, if it is damaged."""
        old = self._prefix[0] == "bytes"  # NCCL 1
        series = []
        for column in group.columns:
            if column in _VERDICTS:
                continue
            metric, unit, factor = _METRICS[column]
            if old and unit == "s":
                factor = MS
            found = number(printed[column], line, factor)
            if found is None or float(found.value) < 0:
                self.out.skip(line, f"'{printed[column][:40]}' is not a number.")
                return None
            if float(found.value) > 0 or unit == "1":
                series.append(Series(metric, unit, [found]))
        size = Decimal(parameters["bytes"].printed)
        disagree = not agree(size, printed.get("time"), printed["algbw"], MS if old else US)
        if disagree and self._operation != "hypercube":
            self.out.skip(line, "Size, time and algbw of this row disagree.")
            return None
        wrong, verified = self._verdict(printed, line)
        if (wrong is None and verified is False) or not series:
            self.out.skip(line, "This row of nccl-tests is damaged.")
            return None
        named = dict(parameters)
        if group.name:
            named["place"] = FoundValue(group.name, "", line)
        below = any(is_number(printed.get(name, "")) for name in ("error", "res"))
        return _Row(named, series, wrong, verified, below)

    def _verdict(
        self, printed: Mapping[str, str], line: int
    ) -> tuple[FoundValue | None, bool | None]:
        """The number of wrong elements and whether it is 0; (None, False) for a damaged one."""
        if "#wrong" not in printed:
            return None, None
        text = printed["#wrong"].rstrip("*")
        if text == "N/A":
            return None, None
        found = number(text, line)
        return (None, False) if found is None else (found, not found.value)

    def _average(self, printed: str, line: int) -> None:
        found = number(printed, line, GB)
        if found is not None and float(found.value) > 0 and self._rows and self._sizes:
            checked = any(row.verified is not None or row.judged_below for row in self._rows)
            mean = [Series("bandwidth.mean", "B/s", [found])]
            self._rows.append(_Row(dict(self._sizes), mean, None, None, checked))
        self._flush()

    def _flush(self) -> None:
        """A test's results; the footer's verdict holds for results without their own."""
        operation = self._operation or self._deduced()
        if self._rows and not operation:
            line = self._rows[0].series[0].found[0].line
            self.out.skip(line, _UNNAMED)
            self._rows = []
        wrong, fine = self._footer or (None, None)
        judged = any(row.verified is False for row in self._rows)
        named = dict(self._common())
        tool, version = self._tool
        if tool == "nccl-tests" and _AMD.search(str(named["gpu"].value) if "gpu" in named else ""):
            tool = "rccl-tests"
        for row in self._rows:
            verified, checked = row.verified, row.wrong
            if fine is False and (not judged or row.judged_below):
                verified, checked = False, wrong
            elif fine and row.judged_below:
                verified, checked = True, wrong
            self.out.result(
                Result(
                    code=f"{tool}.{operation}",
                    tool=tool,
                    version=version,
                    parameters=row.parameters | named,
                    series=row.series,
                    verified=verified,
                    check="wrong elements" if verified is not None else "",
                    checked=checked if verified is not None else None,
                )
            )
        self._rows, self._footer = [], None

    def _deduced(self) -> str:
        """The operation by its numbers, "" if several operations fit."""
        best = max(self._rows, key=_speed, default=None)
        if best is None or _speed(best) <= 0.0:
            return ""
        named = {s.metric: float(s.found[0].value) for s in best.series}
        return deduced(
            named["bandwidth"] / named["bandwidth.algorithm"],
            ranks=len(self._devices),
            reduces="redop" in best.parameters,
            rooted="root" in best.parameters,
        )

    def _common(self) -> Iterator[tuple[str, FoundValue]]:
        """What is known about all results of the test."""
        yield from self._settings.items()
        ranks = [rank for rank, *_ in self._devices]
        if not ranks:
            return
        line = self._devices[0][4]
        hosts = list(dict.fromkeys(host for _, host, *_ in self._devices))
        models = list(dict.fromkeys(model for *_, model, _ in self._devices))
        if len(models) == 1 and models[0]:
            yield "gpu", words(models[0], line)
        if sorted(ranks) == list(range(len(ranks))):
            yield "ranks", FoundValue(len(ranks), "", line)
            if hosts[0]:
                yield "nodes", FoundValue(len(hosts), "", line)
            if len(hosts) == 1 and hosts[0]:
                yield "node", words(hosts[0], line)
            if len(ranks) == 1:
                yield "device", self._devices[0][2]

    def leave(self) -> None:
        """The end of a test, with or without its footer."""
        self._flush()
        self._reset()


def _speed(row: _Row) -> float:
    """The smaller bandwidth of a row, which limits the precision of their quotient."""
    found = {s.metric: float(s.found[0].value) for s in row.series}
    return min(found.get("bandwidth", 0.0), found.get("bandwidth.algorithm", 0.0))


IMPORTER = NcclTestsImporter
