"""SuperBench's ``results-summary.md``: statistics of metrics over nodes and ranks.

Source: ``superbench/analyzer/result_summary.py``. A table per category has the columns metric,
statistics, values. SuperBench's files hold no units; ``UNITS`` lists those of its documentation
(``docs/user-tutorial/benchmarks``). A metric that is not in the list has no unit.
"""

from __future__ import annotations

import re
from decimal import Decimal

from assay.importers.model import FoundValue, Line, Output, Result, Series, TextImporter, words
from assay.importers.numbers import MS, NS, US, number

_GIGA, _TERA, _MEGA = Decimal(10) ** 9, Decimal(10) ** 12, Decimal(10) ** 6
_MODEL = r"[\w.-]+/(?:fp\d+|bf16|tf32|int8)_(?:train|inference)"
# Benchmark, metric, and what the documentation says of them.
UNITS: tuple[tuple[re.Pattern[str], str, str, Decimal | int], ...] = tuple(
    (re.compile(pattern), metric, unit, factor)
    for pattern, metric, unit, factor in (
        (r"kernel-launch/(?:event|wall)_(?:time|overhead)", "time", "s", MS),
        (r"gemm-flops/\w+_flops", "rate", "flop/s", _GIGA),
        (r"gemm-flops/\w+_iops", "rate", "op/s", _GIGA),
        (r"(?:cublaslt|hipblaslt)-gemm/\w+_flops", "rate", "flop/s", _TERA),
        (r"(?:cublas|cudnn)-function/.*_time", "time", "s", US),
        (r"(?:tensorrt|ort)-inference/.*_time(?:_.*)?", "time", "s", MS),
        (r"pytorch-(?:sharding-)?matmul/\w+_time", "time", "s", MS),
        (r"pytorch-computation-communication-overlap/\w+_time", "time", "s", MS),
        (r"pytorch-dist-inference/step_times(?:_.*)?", "time", "s", MS),
        (r"gpu-burn/time", "time", "s", 1),
        (r"cpu-hpl/throughput", "rate", "flop/s", _GIGA),
        (r"cpu-hpl/time", "time", "s", 1),
        (r"cpu-stream/\w+_throughput", "bandwidth", "B/s", _MEGA),
        (r"cpu-stream/\w+_time_\w+", "time", "s", 1),
        (r"cpu-memory-bw-latency/.*_bw", "bandwidth", "B/s", _MEGA),
        (r"cpu-memory-bw-latency/.*_lat", "time", "s", NS),
        (r"mem-bw/\w+_bw", "bandwidth", "B/s", _GIGA),
        (r"gpu-(?:copy-bw|stream)/.*_bw", "bandwidth", "B/s", _GIGA),
        (r"(?:nccl|rccl)-bw/\w+_(?:algbw|busbw)", "bandwidth", "B/s", _GIGA),
        (r"(?:nccl|rccl)-bw/\w+_time", "time", "s", US),
        (r"ib-loopback/ib_(?:write|read|send)_bw_\d+", "bandwidth", "B/s", _GIGA),
        (r"nvbandwidth/.*_bw", "bandwidth", "B/s", _GIGA),
        (r"disk-benchmark/.*_iops", "rate", "op/s", 1),
        (r"disk-benchmark/.*_lat_ns_[\d.]+", "time", "s", NS),
        (rf"{_MODEL}_step_time(?:_.*)?", "time", "s", MS),
        (rf"{_MODEL}_throughput(?:_.*)?", "rate", "sample/s", 1),
    )
)  # fmt: skip
_ROW = re.compile(
    r"\|\s*([\w.:+/-]+)/([^/|:\s]+)(?::(\d{1,6}))?\s*\|\s*(\w[\w%]*)\s*\|\s*(\S+)\s*\|"
)
_STATISTICS = re.compile(r"count|max|mean|min|std|p\d{1,2}")


def unit_of_metric(benchmark: str, metric: str) -> tuple[str, str, Decimal | int]:
    """Kind of metric, SI unit and factor. An annotation of the benchmark (``nccl-bw:nvlink``) and a
    group (``model-benchmarks:gpt/pytorch-gpt2``) don't change them.
    """
    plain = benchmark.rpartition("/")[2].partition(":")[0]
    for pattern, kind, unit, factor in UNITS:
        if pattern.fullmatch(f"{plain}/{metric}"):
            return kind, unit, factor
    return "value", "", 1


class SuperbenchSummaryImporter(TextImporter):
    """See the module."""

    SIGNATURE = r"\|\s*metric\s*\|\s*statistics\s*\|\s*values?\s*\|"

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._table = False

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if re.fullmatch(self.SIGNATURE, text):
            self._table = True
        elif not text.startswith("|"):
            self._table = False
        elif self._table and (row := _ROW.fullmatch(text)):
            self._row(row, line.number)
        elif self._table and not re.fullmatch(r"[|\s:-]+", text):
            self.out.skip(line.number, "This row of SuperBench's summary is damaged.")

    def _row(self, row: re.Match[str], line: int) -> None:
        if not _STATISTICS.fullmatch(row[4]):
            self.out.skip(line, f"'{row[4]}' is not a statistic of SuperBench.")
            return
        kind, unit, factor = unit_of_metric(row[1], row[2])
        if row[4] == "count":
            kind, unit, factor = "value", "", 1
        found = number(row[5], line, factor)
        if found is None:
            self.out.skip(line, f"'{row[5][:40]}' is not a number.")
            return
        parameters = {"name": words(row[2], line), "statistic": words(row[4], line)}
        if row[3] is not None:
            parameters["rank"] = FoundValue(row[3], row[3], line)
        plain, _, group = row[1].rpartition("/")[2].partition(":")
        if before := row[1].rpartition("/")[0] or group:
            parameters["group"] = words(before, line)
        self.out.result(
            Result(
                code=f"superbench.{plain}",
                tool="SuperBench",
                version=None,
                parameters=parameters,
                series=[Series(kind, unit, [found])],
            )
        )

    def leave(self) -> None:
        """Rows after another tool's output belong to no table."""
        self._table = False


IMPORTER = SuperbenchSummaryImporter
