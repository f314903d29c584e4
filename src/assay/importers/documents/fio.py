"""fio's JSON (``--output-format=json`` or ``json+``), versions 2 and 3.

Source: ``stat.c`` and HOWTO. Version 3 gives bytes per second in ``bw_bytes`` and latencies in
nanoseconds; version 2 gives KiB per second in ``bw`` and latencies in microseconds. A direction
without I/O has no result.
"""

from __future__ import annotations

import re
from decimal import Decimal

from assay.importers.decoded import Text, Unusable
from assay.importers.model import FoundValue, Output, Result, Series
from assay.importers.numbers import KIB, NS, US, scaled

_DIRECTIONS = ("read", "write", "trim")
# Options of a job that don't affect what it measures; all others define its cell, as given.
_ASIDE = re.compile(
    r"name|description|(?:write_|log_|output|status|eta|read_iolog|per_job_logs).*|.*_log"
)
_MOST_OPTIONS = 60
_LATENCIES = {"slat": "time.submission", "clat": "time.completion", "lat": "time"}
_PARTS = {"mean": "", "min": ".min", "max": ".max", "stddev": ".stddev"}


class FioImporter:
    """See the module."""

    def takes(self, document: object) -> bool:
        """Whether it has fio's version, and jobs or client statistics."""
        return (
            isinstance(document, dict) and "fio version" in document and "jobs" in document
        ) or (
            isinstance(document, dict) and "fio version" in document and "client_stats" in document
        )

    def read(self, document: object, out: Output) -> None:
        """One result per job and direction."""
        assert isinstance(document, dict)
        version = str(document["fio version"]).removeprefix("fio-")
        jobs = document.get("jobs", document.get("client_stats"))
        common = document.get("global options")
        for job in jobs if isinstance(jobs, list) else []:
            if isinstance(job, dict) and isinstance(job.get("jobname"), Text):
                self._job(job, common if isinstance(common, dict) else {}, version, out)

    def _job(
        self, job: dict[str, object], common: dict[str, object], version: str, out: Output
    ) -> None:
        name = job["jobname"]
        assert isinstance(name, Text)
        if name == "All clients":  # the sum of the others
            return
        options = job.get("job options")
        options = common | (options if isinstance(options, dict) else {})
        parameters = {"job": FoundValue(str(name), str(name), name.line)}
        for option, value in list(options.items())[:_MOST_OPTIONS]:
            if isinstance(value, Text) and not _ASIDE.fullmatch(option):
                # An option without a value is enabled.
                parameters[option] = FoundValue(str(value) or "on", "", value.line)
        error = job.get("error")
        failed = isinstance(error, FoundValue) and error.value != 0
        old = re.match(r"[12]\.", version) is not None
        for direction in _DIRECTIONS:
            said = job.get(direction)
            if not isinstance(said, dict):
                continue
            moved = said.get("io_bytes")
            if not isinstance(moved, FoundValue) or moved.value == 0:
                continue
            series = self._series(said, old, out)
            if series:
                out.result(
                    Result(
                        code="fio",
                        tool="fio",
                        version=version,
                        parameters=parameters
                        | {"direction": FoundValue(direction, "", moved.line)},
                        series=series,
                        error=f"fio's job ended with error {error.value}."
                        if failed and isinstance(error, FoundValue)
                        else None,
                    )
                )

    def _series(self, said: dict[str, object], old: bool, out: Output) -> list[Series]:
        series: list[Series] = []

        def add(metric: str, unit: str, value: object, factor: Decimal | int = 1) -> None:
            if isinstance(value, Unusable):
                out.skip(value.line, f"'{value.printed}' is not a number.")
            elif isinstance(value, FoundValue):
                found = scaled(value, factor)
                if found is not None:
                    series.append(Series(metric, unit, [found]))

        if "bw_bytes" in said:
            add("bandwidth", "B/s", said["bw_bytes"])
        else:
            add("bandwidth", "B/s", said.get("bw"), KIB)
        add("rate", "op/s", said.get("iops"))
        for name, metric in _LATENCIES.items():
            latency, factor = (said.get(name), US) if old else (said.get(f"{name}_ns"), NS)
            if not isinstance(latency, dict):
                continue
            count = latency.get("N")
            if isinstance(count, FoundValue) and count.value == 0:
                continue
            if latency.get("max") is None or getattr(latency["max"], "value", 0) == 0:
                continue
            for part, ending in _PARTS.items():
                add(metric + ending, "s", latency.get(part), factor)
            percentiles = latency.get("percentile")
            for share, value in percentiles.items() if isinstance(percentiles, dict) else ():
                if re.fullmatch(r"\d{1,3}\.\d{6}", share):
                    add(f"{metric}.p{float(share):g}", "s", value, factor)
        return series


IMPORTER = FioImporter()
