"""The NAS Parallel Benchmarks: all versions and models of NASA's, and ports to C and C++.

Source: ``print_results`` of NASA's NPB 2.x and 3.x, of the C ports (RWCP's and SNU's), and of
NPB-CPP; ``BMResults.java`` of NASA's NPB 3.0 in Java. Every benchmark prints a header, which
identifies the code, and a block of results. A block is complete if it has its line "Verification".
In Java the block is a box of asterisks, and its first line is the header.
"""

from __future__ import annotations

import re
from decimal import Decimal

from assay.importers.model import FoundValue, Line, Output, Result, Series, TextImporter, words
from assay.importers.numbers import number

_NAME = r"[A-Z]{2}(?:-MZ|-IO)?"
_HEADER = re.compile(
    rf"\s*(?:NAS|NPB|Programming Baseline for NPB|SNU NAS) Parallel Benchmarks?\b(.*?)"
    rf"(?:-+\s*)?\b({_NAME})(?:\s+(?:MPI\+\w+|\w+))?\s+Benchmark\b.*"
)
_JAVA = re.compile(
    r"\s*\*{5} NAS Parallel Benchmarks Java version \(NPB(\d+)_(\d+)_JAV\)\s+([A-Z]{2})\s.*"
)
_JAVA_LINE = re.compile(r"\s*\*(.*?)\*?\s*")
_BLOCK = re.compile(rf"\s*({_NAME})(?:\s[\w+ ]{{0,20}})? Benchmark Completed\.?\s*")
_ITEM = re.compile(r"\s*([A-Za-z][\w/ ]{1,24}?)\s*=\s*(.*?)\s*")
_VERSION = re.compile(r"(?:NPB|\s)(\d+(?:\.\d+){1,2})")
# As in NASA's names ("NPB3.4-OMP"), and as words in the headers of ports.
_MODEL = re.compile(r"NPB[\d.]+-(?:MZ-)?(\w+)")
_PORT_MODEL = re.compile(r"\b(Serial|CUDA|OpenCL|OpenACC|SYCL|HIP|oneAPI)\b")
_MOPS = Decimal(10) ** 6
# Maximum lines of a block.
_LONGEST = 40

# Counts that define the cell, and metrics with unit and factor, by the text before the "=".
_CLASS = ("Class", "class_npb")
_COUNTS = {
    "Iterations": "iterations",
    "Total processes": "ranks",
    "Active processes": "active_ranks",
    "Active procs": "active_ranks",
    "Compiled procs": "compiled_ranks",
    "Total threads": "threads",
    "Threads requested": "threads",
    "Number of threads": "threads",
    "Avail threads": "available_threads",
}
# How the program was compiled: with other options it is another code.
_BUILD = {
    **dict.fromkeys(("FC", "F77", "MPIFC", "MPIF77", "CC", "MPICC", "UCC"), "compiler"),
    **dict.fromkeys(("FFLAGS", "CFLAGS"), "flags"),
    "RAND": "random",
}
_METRICS = {
    "Time in seconds": ("time", "s", Decimal(1)),
    "Mop/s total": ("rate", "op/s", _MOPS),
    "MOP/s total": ("rate", "op/s", _MOPS),
    "Mops total": ("rate", "op/s", _MOPS),
    "Mop/s/process": ("rate.per_process", "op/s", _MOPS),
    "Mop/s/thread": ("rate.per_thread", "op/s", _MOPS),
    "I/O timing in seconds": ("time.io", "s", Decimal(1)),
}
_TOOLS = {
    "nasa-npb": "NASA's NPB",
    "npb-java": "NASA's NPB in Java",
    "npb-c": "NPB port to C",
    "npb-cpp": "NPB port to C++",
    "npb-unknown": "NPB of unknown origin",
}
_VERDICTS = {
    "SUCCESSFUL": True,
    "UNSUCCESSFUL": False,
    "NOT PERFORMED": None,
    "NOT VERIFIED": None,
    # In Java.
    "FAILED": False,
}


class _Block:
    """The results of one benchmark so far."""

    def __init__(self, benchmark: str, line: int) -> None:
        self.benchmark = benchmark
        self.line = line
        self.parameters: dict[str, FoundValue] = {}
        self.series: list[Series] = []
        self.verdict: bool | None = None
        self.verified = False
        self.version: str | None = None
        self.damaged: str | None = None
        self.boxed = False


class NpbImporter(TextImporter):
    """See the module."""

    SIGNATURE = (
        r"(?:NAS|NPB|SNU NAS|Programming Baseline for NPB) Parallel Benchmark"
        r"|\*{5} NAS Parallel Benchmarks Java version"
        rf"|{_NAME}(?:\s[\w+ ]{{0,20}})? Benchmark Completed"
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._header: tuple[str, str, int] | None = None
        self._block: _Block | None = None

    def feed(self, line: Line) -> None:
        """Process a line."""
        if java := _JAVA.fullmatch(line.text):
            self.leave()
            self._header = java[3], "Java version", line.number
            self._block = _Block(java[3], line.number)
            self._block.version, self._block.boxed = f"{java[1]}.{java[2]}", True
        elif header := _HEADER.fullmatch(line.text):
            self.leave()
            self._header = header[2], header[1], line.number
        elif completed := _BLOCK.fullmatch(line.text):
            header_before = self._header
            self.leave()
            self._header = header_before
            self._block = _Block(completed[1], line.number)
        elif self._block is not None:
            if line.number - self._block.line > _LONGEST:
                self.leave()
            elif self._block.boxed:
                self._boxed(self._block, line)
            else:
                self._line(self._block, line.text, line.number)

    def _boxed(self, block: _Block, line: Line) -> None:
        """A line of a box of asterisks, or the line after it."""
        inside = _JAVA_LINE.fullmatch(line.text)
        if inside is None or not inside[1].strip("* "):
            # An empty line of the box precedes the address for errors.
            self.leave()
        else:
            self._line(block, inside[1], line.number)

    def _line(self, block: _Block, text: str, line: int) -> None:
        if item := _ITEM.fullmatch(text):
            self._item(block, item[1], item[2], line)
        elif "=" in text and not block.verified:
            block.damaged = text.partition("=")[0].strip()

    def _item(self, block: _Block, key: str, printed: str, line: int) -> None:
        key = " ".join(key.split())
        if key in _CLASS:
            if re.fullmatch(r"[A-Z]", printed):
                block.parameters["class"] = words(printed, line)
            else:
                block.damaged = key
        elif key == "Size":
            size = re.sub(r"\s+", "", printed).lower()
            if re.fullmatch(r"\d{1,18}(?:x\d{1,9}){0,2}\.?", size):
                block.parameters["size"] = FoundValue(size.rstrip("."), printed, line)
            else:
                block.damaged = key
        elif key in _COUNTS:
            found = number(printed, line)
            if found is not None and isinstance(found.value, int):
                block.parameters[_COUNTS[key]] = found
            elif "unknown" not in printed.lower():
                block.damaged = key
        elif key in _METRICS:
            metric, unit, factor = _METRICS[key]
            found = number(printed, line, factor)
            if found is None:
                block.damaged = key
            else:
                block.series.append(Series(metric, unit, [found]))
        elif key == "Verification":
            verdict = printed.upper() if block.boxed else printed
            if verdict in _VERDICTS:
                block.verdict, block.verified = _VERDICTS[verdict], True
            else:
                block.damaged = key
        elif key in _BUILD and printed and _BUILD[key] not in block.parameters:
            block.parameters[_BUILD[key]] = words(printed, line)
        elif key == "Version" and re.fullmatch(r"\d[\w.]{0,15}", printed):
            block.version = printed

    def leave(self) -> None:
        """Process the end of a block."""
        block, header = self._block, self._header
        self._block = self._header = None
        if block is None:
            return
        names = [series.metric for series in block.series]
        if block.damaged is not None or len(set(names)) < len(names):
            why = "a number occurs twice"
            if block.damaged:
                why = f"'{block.damaged}' has no valid value"
            self.out.skip(block.line, f"The results of {block.benchmark} are damaged: {why}.")
        elif not block.verified or "class" not in block.parameters or not names:
            self.out.skip(block.line, f"The results of {block.benchmark} are incomplete.")
        else:
            self._whole(block, header)

    def _whole(self, block: _Block, header: tuple[str, str, int] | None) -> None:
        matches = header is not None and header[0][:2] == block.benchmark[:2]
        about = header[1] if header is not None and matches else ""
        code = _code(about) if matches else "npb-unknown"
        model = _MODEL.search(about) or _PORT_MODEL.search(about)
        parameters = dict(block.parameters)
        if model is not None and header is not None:
            name = "SER" if model[1] == "Serial" else model[1]
            parameters["model"] = FoundValue(name, model[1], header[2])
        version = _VERSION.search(about)
        self.out.result(
            Result(
                code=f"{code}.{block.benchmark.lower()}",
                tool=_TOOLS[code],
                version=block.version or (version[1] if version else None),
                parameters=parameters,
                series=block.series,
                verified=block.verdict,
                check="verification" if block.verdict is not None else "",
            )
        )


def _code(about: str) -> str:
    """The code, as identified by its header."""
    if "Java" in about:
        return "npb-java"
    if re.search(r"C\+\+|CPP", about):
        return "npb-cpp"
    if re.search(r"\bC version|-C\)|OMP-C|OCL|CUDA|OpenCL", about):
        return "npb-c"
    return "nasa-npb"


IMPORTER = NpbImporter
