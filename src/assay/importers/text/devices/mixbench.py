"""mixbench for CUDA, HIP, OpenCL, SYCL and processors.

Source: ``mix_kernels_*.cpp``. Each row has four columns per type of numbers: operations per byte,
milliseconds, 10^9 operations per second, and 10^9 bytes per second. The quotient of both rates is
the first column; a row whose numbers disagree is damaged.
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
    words,
)
from assay.importers.numbers import MS, bounds, number

_HEADER = re.compile(r"mixbench((?:-\w+)?(?:/[\w-]+)?)(?: \(([^()]{1,60})\))?\s*")
_SETTING = re.compile(r"([A-Z][\w ]{2,30}?):\s+(\S.{0,80}?)\s*")
_SETTINGS = {
    "Device": "gpu",
    "CUDA driver version": "driver",
    "Driver version": "driver",
    "Buffer size": "buffer",
    "Trade-off type": "pattern",
    "Workitem stride": "pattern",
    "Elements per thread": "elements_per_thread",
    "Elements per workitem": "elements_per_thread",
    "Thread fusion degree": "fusion",
    "Workitem fusion degree": "fusion",
    "Workgroup size": "workgroup",
}
_TYPES = {"single": "fp32", "double": "fp64", "half": "fp16", "integer": "int32"}
_TYPES["packed single"] = "packed fp32"
_TITLE = re.compile(
    r"((?:Packed )?(?:Single|Double|Half|Integer))\s+(?:[Pp]recision\s+)?(?:ops|operations|Flops)"
)
_COLUMNS = [r"(?:Flops|Iops)/byte", r"ex\.time", r"(?:GFLOPS|GIOPS)", r"GB/sec"]
_ROW = re.compile(r"\d{1,9}\s*,.*")
_GIGA = Decimal(10) ** 9
_SHIFT = Decimal("0.005")


class MixbenchImporter(TextImporter):
    """See the module."""

    SIGNATURE = (
        r"mixbench(?:-\w+)?(?:/[\w-]+)?(?: \([^()]{1,60}\))?\s*$"
        r"|Experiment ID, Single Precision ops,"
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._reset()

    def _reset(self) -> None:
        self._version: str | None = None
        self._settings: dict[str, FoundValue] = {}
        self._types: list[str] = []
        self._ready = False

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if header := _HEADER.fullmatch(text):
            self._reset()
            self._version = header[2]
            if header[1]:
                self._settings["implementation"] = words(header[1][1:], line.number)
        elif text.startswith("Experiment ID,"):
            self._types = [_TYPES.get(name.lower(), "") for name in _TITLE.findall(text)]
            self._ready = False
        elif text.startswith("Compute iters,"):
            self._head(text, line.number)
        elif self._ready and _ROW.fullmatch(text):
            self._row([field.strip() for field in text.split(",")], line.number)
        elif setting := _SETTING.fullmatch(text):
            name = _SETTINGS.get(setting[1])
            if name is not None and not self._ready:
                self._settings[name] = words(setting[2], line.number)

    def _head(self, text: str, line: int) -> None:
        columns = [column.strip() for column in text.split(",")][1:]
        wanted = _COLUMNS * len(self._types)
        known = len(set(self._types)) == len(self._types) and "" not in self._types
        self._ready = (
            known
            and len(columns) == len(wanted) > 0
            and all(
                re.fullmatch(pattern, column)
                for pattern, column in zip(wanted, columns, strict=True)
            )
        )
        if not self._ready:
            self.out.skip(line, "A column of mixbench is unknown; its rows are left out.")

    def _row(self, fields: list[str], line: int) -> None:
        if len(fields) != 1 + 4 * len(self._types):
            self.out.skip(line, "The number of fields in this row differs from the header's.")
            return
        iterations = number(fields[0], line)
        if iterations is None:
            self.out.skip(line, "This row of mixbench does not begin with a number of iterations.")
            return
        for place, kind in enumerate(self._types):
            self._quarter(kind, iterations, fields[1 + 4 * place : 5 + 4 * place], line)

    def _quarter(self, kind: str, iterations: FoundValue, fields: list[str], line: int) -> None:
        """The four columns of a type."""
        factors = (Decimal(1), MS, _GIGA, _GIGA)
        found = [
            value
            for printed, factor in zip(fields, factors, strict=True)
            if (value := number(printed, line, factor)) is not None and float(value.value) > 0
        ]
        if len(found) < len(fields):
            self.out.skip(line, f"mixbench's numbers of {kind} in this row are not all above 0.")
        elif not _agree(fields):
            self.out.skip(line, f"mixbench's rates of {kind} in this row disagree.")
        else:
            self._put(kind, iterations, found[0], found[1:], line)

    def _put(
        self,
        kind: str,
        iterations: FoundValue,
        intensity: FoundValue,
        found: list[FoundValue],
        line: int,
    ) -> None:
        rate_unit = "op/s" if kind.startswith("int") else "flop/s"
        names = (("rate", rate_unit, 1), ("bandwidth", "B/s", 2), ("time", "s", 0))
        self.out.result(
            Result(
                code="mixbench",
                tool="mixbench",
                version=self._version,
                parameters={
                    "type": FoundValue(kind, "", line),
                    "intensity": intensity,
                    "iterations": iterations,
                }
                | self._settings,
                series=[Series(name, unit, [found[place]]) for name, unit, place in names],
            )
        )

    def leave(self) -> None:
        """Rows after another tool's output belong to no table."""
        self._reset()


def _agree(fields: list[str]) -> bool:
    """Whether the rates' quotient is the number of operations per byte."""
    lower, upper = bounds(fields[0])
    rate, bandwidth = bounds(fields[2]), bounds(fields[3])
    if min(bandwidth[0], rate[0]) <= 0:
        return True
    return rate[1] / bandwidth[0] >= lower * (1 - _SHIFT) and rate[0] / bandwidth[1] <= upper * (
        1 + _SHIFT
    )


IMPORTER = MixbenchImporter
